"""How a run's journal is kept: a hash of its entries, and one sorted set that has them in order.

The sorted set has each entry once for every list with it: all entries, those of its kind, its agent, its state, and the
open issues. A member is `<list>:<time>:<entry>`, and all have the same score. So a page of any list, from any time on,
is one range by name, however long the journal is. Agents and states make no further keys. Writers watch the set.
"""

from typing import TYPE_CHECKING, Final

from dcf.features.journal.model import TAIL, JournalEntry, JournalSeen, read_entry, write_entry
from dcf.store.connection.commands import Command
from dcf.store.keys.parts import encode_state
from dcf.store.keys.table import RunKeys
from dcf.values.json_text import dump_bytes, load

if TYPE_CHECKING:
    from collections.abc import Callable

    from dcf.store.transaction.first_packet import Asked, Replies

BYTES: Final = "#bytes"
"""Field of the hash that counts the bytes of all entries."""

ALL: Final = "*:"
OPEN: Final = "open:"
AFTER_ALL: Final = "~"
"""Sorts after the time of any entry."""


def of_kind(kind: str) -> str:
    """Return what the members of the list of a kind begin with."""
    return f"kind:{kind}:"


def of_agent(agent_id: str) -> str:
    """Return what the members of the list of an agent begin with."""
    return f"agent:{encode_state(agent_id)}:"


def of_state(path: str) -> str:
    """Return what the members of the list of a state begin with."""
    return f"state:{encode_state(path)}:"


def entry_commands(run: RunKeys, entry: JournalEntry) -> list[Command]:
    """Return the commands that write an entry: a new entry, or an issue that was resolved."""
    text, order = dump_bytes(write_entry(entry)), run.journalorder
    command: Command = ("HSET", run.journal, entry.entry_id, text)
    if entry.resolution is not None:
        return [command, ("ZREM", order, OPEN + entry.place)]
    lists = [ALL, of_kind(entry.kind), of_agent(entry.agent)]
    lists += [] if entry.state is None else [of_state(entry.state)]
    lists += [OPEN] if entry.is_open else []
    members = [part for name in lists for part in (0, name + entry.place)]
    return [command, ("HINCRBY", run.journal, BYTES, len(text)), ("ZADD", order, *members)]


def ask_journal(request: "Asked", run: RunKeys, expected: tuple[str, ...]) -> "Callable[[Replies], JournalSeen]":
    """Ask for these entries, how full the journal is, and its last entry. The journal is watched."""
    order, names = run.journalorder, [name for name in expected if name != TAIL]
    entries: Command = ("HMGET", run.journal, BYTES, *names)
    count: Command = ("ZLEXCOUNT", order, f"[{ALL}", f"({ALL}{AFTER_ALL}")
    last: Command = ("ZRANGE", order, f"({ALL}{AFTER_ALL}", f"[{ALL}", "BYLEX", "REV", "LIMIT", 0, 1)
    for command in (entries, count, last):
        request.add(command)
    request.watched.append(order)

    def understand(replies: "Replies") -> JournalSeen:
        size, *texts = replies.of[entries]
        read = {name: read_entry(name, load(text)) for name, text in zip(names, texts, strict=True) if text is not None}
        return JournalSeen(
            entries={name: entry for name, entry in read.items() if entry is not None},
            count=replies.of[count],
            size=int(size or 0),
            last_at=time_in(replies.of[last][0]) if replies.of[last] else 0,
        )

    return understand


def time_in(member: bytes) -> int:
    """Return the time of the entry that a member of the sorted set names."""
    return int(member.decode().rsplit(":", 2)[1])
