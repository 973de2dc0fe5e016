"""Divides a packet of commands among the nodes of a cluster, in stages that keep its order where order matters. Pure.

On one server a packet is carried out in order: an index entry is there before what it points at, a small write before
the WAIT for replicas. Nodes do not wait for each other. So a command that may depend on an earlier one of another node
goes in a later stage, which is sent when the stage before was answered. Independent commands go at once: reads,
entries of lists, and the same script for several lists.
"""

from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from dcf.store.connection.commands import Command, Reply

Node: TypeAlias = str
"""Address of a node, as HOST:PORT."""

Stage: TypeAlias = dict[Node, list[int]]
"""The commands that are sent at once: for each node their places in the packet, in order."""

_READS: Final = frozenset(
    {
        *("GET", "MGET", "EXISTS", "TYPE", "TIME", "TTL", "PTTL", "STRLEN", "JSON.GET", "JSON.MGET", "JSON.TYPE"),
        *("HGET", "HMGET", "HGETALL", "HVALS", "HLEN", "HKEYS", "XRANGE", "XREVRANGE", "XLEN", "XPENDING", "XINFO"),
        *("ZRANGE", "ZCARD", "ZCOUNT", "ZSCORE", "ZMSCORE", "ZRANK", "ZINTERCARD"),
        *("MEMORY", "JSON.DEBUG", "EVAL_RO", "SCAN"),
    }
)
_SILENT: Final = _READS | {"MULTI", "WATCH", "UNWATCH", "ASKING", "WAIT", "PING", "INFO", "XREAD"}
"""Commands that do not write."""

_ENTRIES: Final = frozenset({"ZADD", "ZREM"})
_INDEPENDENT: Final = "independent"


def owners(commands: Sequence[Command], slots: Sequence[int | None]) -> list[int | None]:
    """Return the slot that each command goes with; a command without keys goes with its neighbour.

    WAIT, EXEC and what follows them without a key go with the command before, any other with the next that has keys.
    None: the whole packet has no keys.
    """
    owners, last = list(slots), next((slot for slot in reversed(slots) if slot is not None), None)
    for at in reversed(range(len(owners))):
        if owners[at] is None and commands[at][0] not in {"WAIT", "EXEC"}:
            owners[at] = last
        elif owners[at] is not None:
            last = owners[at]
    before = next((slot for slot in owners if slot is not None), None)
    for at, slot in enumerate(owners):
        owners[at] = before = before if slot is None else slot
    return owners


def stages(commands: Sequence[Command], nodes: Sequence[Node]) -> Iterator[Stage]:
    """Yield the stages of a packet whose commands go to these nodes."""
    if len(set(nodes)) == 1:  # one node keeps the order
        yield {nodes[0]: list(range(len(commands)))}
        return
    stage: Stage = {}
    kind: object = None
    for unit in _units(commands):
        node, own = nodes[unit[0]], _kind(commands, unit)
        is_alone = stage.keys() <= {node}
        if not is_alone and (own is None or own != kind):
            yield stage
            stage, is_alone = {}, True
        if is_alone:
            kind = own if not stage or kind == own else None
        stage.setdefault(node, []).extend(unit)
    if stage:
        yield stage


def in_transaction(commands: Sequence[Command]) -> set[int]:
    """Return the places of the commands from MULTI to EXEC."""
    return {place for unit in _units(commands) if len(unit) > 1 for place in unit}


def may_write(commands: Sequence[Command]) -> bool:
    """Return whether commands may write, and do not end with waiting for replicas."""
    return commands[-1][0] != "WAIT" and any(command[0] not in _SILENT for command in commands)


def has_written(command: Command, reply: Reply) -> bool:
    """Return whether a command may have written, by its reply. EXEC writes for the commands after MULTI."""
    if command[0] in _SILENT or isinstance(reply, Exception) or reply == b"QUEUED":
        return False
    return command[0] != "EXEC" or reply is not None


def _units(commands: Sequence[Command]) -> Iterator[range]:
    """Yield what cannot be divided: MULTI to EXEC, or one command."""
    at = 0
    while at < len(commands):
        end = at + 1
        if commands[at][0] == "MULTI":
            while commands[end - 1][0] != "EXEC":
                end += 1
        yield range(at, end)
        at = end


def _kind(commands: Sequence[Command], unit: range) -> object:
    """Return what a unit is alike with: units of other nodes that are alike are independent of it. None: of none."""
    command = commands[unit[0]]
    if len(unit) > 1:
        return None
    if command[0] in _READS or command[0] in _ENTRIES:
        return _INDEPENDENT
    return command[1] if command[0] == "EVAL" else None
