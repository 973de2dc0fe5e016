"""Connections to a Redis Cluster, with what `Connections` offers: one packet may be of the slots of several nodes.

Each command goes to the node of its keys, in the order that `stages` keeps. A redirected command is sent again:
to another node after MOVED, asked for by name after ASK. Atomic units are not sent again: commands from MULTI to EXEC,
reads together with a WATCH, and a script that builds keys, of which Redis knows only some before it runs. These come
back as errors after which the whole attempt starts again. A transaction must not follow ASK. While a slot moves, one
node has some documents of a run and the other the rest. A document that is written at the new node as if it were new
would collide with the moved one.

Nodes fail over one by one. An index entry that is lost with its node, after the run that it lists was committed on
another, would never be missed. So with `DCF_WAIT_REPLICAS` each packet of writes to a node ends with a WAIT: replicas
have these writes before another node gets writes that rely on them. WAIT only counts writes of its own connection, and
a repeated write may have no effect. So a small write goes before it.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, cast

import redis
import redis.asyncio
from redis.exceptions import AskError, MovedError, TryAgainError

from dcf.errors import StoreUnavailable
from dcf.jitter import JITTER
from dcf.store.cluster.keys import barrier_for, builds_keys, cluster_key, on_cluster, plain_key, slot_of
from dcf.store.cluster.nodes import ClusterNodes
from dcf.store.cluster.reads import joined, parts
from dcf.store.cluster.stages import Node, Stage, has_written, in_transaction, may_write, owners, stages
from dcf.store.connection import faults
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import (
    CONNECTION_ERRORS,
    Connection,
    Connections,
    exchange,
    is_to_unwatch,
    packed,
    unwatch_later,
)
from dcf.store.connection.routes import RoutedConnection
from dcf.store.forms.form import DocumentForm
from dcf.store.forms.record import form_of

SHARDS: Final = 16
"""Parts of the lists that would otherwise be one key, and so one node's, for all runs or all agents."""

_REDIRECTS: Final = 8
"""Times that a command is sent again within one packet. Then the caller's attempt starts again."""


_CONFIRM_MS: Final = 1000
"""Milliseconds in which replicas must have what was written."""

_BARRIER_LIFE_S: Final = 60


class ClusterConnections(Connections):
    """Connections to the nodes of one cluster. `wait_replicas` replicas must confirm each write to a node."""

    shards = SHARDS

    def __init__(self, nodes: ClusterNodes, *, wait_replicas: int = 0) -> None:
        self._nodes = nodes
        self._wait_replicas = wait_replicas
        self._form = None

    @property
    def form(self) -> DocumentForm:
        """How documents are kept there. A node has the record, so it is asked again after a connection error."""
        if self._form is None:
            self._form = self._repeated(
                lambda: form_of(lambda commands: self.ask(*commands), self.wanted, shards=self.shards)
            )
        return self._form

    def take(self) -> Connection:
        """Return what sends to every node, with connections of its own."""
        return cast("Connection", RoutedConnection(_Packets(self._nodes, wait_replicas=self._wait_replicas)))

    def give_back(self, connection: Connection, *, is_broken: bool) -> None:
        """Keep the connections for the next caller; close them if one of them broke."""
        routed = cast("RoutedConnection", connection)
        routed.route.leave(is_broken=is_broken)

    def recover(self) -> None:
        """After a connection error: close the idle connections, and ask again which node serves which slot."""
        self._form = None
        self._nodes.drop_idle()
        self._nodes.learn()

    def unavailable(self, error: Exception) -> StoreUnavailable:
        """Return the error to raise for a connection error, without redis-py's text."""
        return faults.connection_error(error, self._nodes.place)

    def servers(self) -> Sequence[Connections]:
        """Return the connections to each primary, which send commands there unchanged, whatever their keys are.

        The list of primaries is read again.
        """
        self._nodes.learn()
        try:
            return [_NodeConnections(self._nodes, node, self) for node in self._nodes.primaries()]
        except CONNECTION_ERRORS as error:
            raise self.unavailable(error) from None

    def named(self, key: bytes) -> str:
        """Return a key in a reply to SCAN, as dcf writes it."""
        return plain_key(key.decode())

    def open_waiting(self, key: str) -> redis.asyncio.Redis:
        """Open an asynchronous client of the node that has a key, for waiting only. The map of slots is read again."""
        self._nodes.learn()
        return self._nodes.open_waiting(self._nodes.serving(slot_of(cluster_key(key))))

    def nodes_of(self, keys: Iterable[str]) -> Mapping[Node, set[str]]:
        """Return which of these keys or channels each node has. The map of slots is read again."""
        self._nodes.learn()
        nodes: defaultdict[Node, set[str]] = defaultdict(set)
        for key in keys:
            nodes[self._nodes.serving(slot_of(cluster_key(key)))].add(key)
        return nodes

    def open_listening(self, node: Node) -> redis.asyncio.Redis:
        """Open an asynchronous client of a node, for channels only."""
        return self._nodes.open_listening(node)

    def close(self) -> None:
        """Close every connection."""
        self._nodes.close()


class _NodeConnections(ClusterConnections):
    """Connections to one primary; those of the cluster, which closes them."""

    node: Node

    def __init__(self, nodes: ClusterNodes, node: Node, whole: ClusterConnections) -> None:
        super().__init__(nodes)
        self.node = node
        self._whole = whole

    @property
    def form(self) -> DocumentForm:
        return self._whole.form

    def take(self) -> Connection:
        return cast("Connection", RoutedConnection(_Packets(self._nodes, self.node)))

    def unavailable(self, error: Exception) -> StoreUnavailable:
        return faults.connection_error(error, self.node)

    def own_key(self, key: str) -> str:
        try:
            return self._nodes.key_like(key, self.node)
        except CONNECTION_ERRORS as error:
            raise self.unavailable(error) from None

    def close(self) -> None:
        pass


class _Packets:
    """The route of one caller's packets: to the nodes of their keys, or all to one node.

    It keeps its connections until `leave`, since a WATCH belongs to one. The EXEC that relies on it goes there too,
    even if the slot has moved by then: the new node would carry it out whatever others changed meanwhile.
    """

    def __init__(self, nodes: ClusterNodes, node: Node | None = None, *, wait_replicas: int = 0) -> None:
        self._nodes = nodes
        self._only = node
        self._wait_replicas = wait_replicas
        self._open: dict[Node, Connection] = {}
        self._watching: dict[int, Node] = {}

    def exchange(self, commands: Sequence[Command], *, must_unwatch: bool) -> list[Reply]:
        """Send a packet and return all replies, error replies among them."""
        if must_unwatch:
            self._unwatch_later()
        if self._only is not None:
            return self._learned_from(exchange(self._connection(self._only), commands))
        replies = self._exchanged([part for command in commands for part in parts(command)])
        return [*joined(commands, iter(self._learned_from(replies)))]

    def _exchanged(self, commands: Sequence[Command]) -> list[Reply]:
        placed = [on_cluster(command) for command in commands]
        named = [command for command, _ in placed]
        building = {at for at, command in enumerate(commands) if builds_keys(command)}
        packet = _Exchanged(named, owners(named, [slot for _, slot in placed]), building)
        serving = {slot: self._watching_or_serving(slot) for slot in set(packet.slots)}
        for stage in stages(named, [serving[slot] for slot in packet.slots]):
            self._carry_out(packet, stage)
            if any(isinstance(packet.replies[at], AskError | TryAgainError) for at in chain(*stage.values())):
                firm = packet.firm()
                self._follow(packet, [at for at in chain(*stage.values()) if at not in firm])
        return packet.replies

    def _learned_from(self, replies: list[Reply]) -> list[Reply]:
        """Return the replies, and note moved slots in them for the next attempt."""
        for reply in replies:
            if isinstance(reply, MovedError):
                self._nodes.moved(reply)
        return replies

    def leave(self, *, is_broken: bool) -> None:
        """Give the connections to the next caller, who must not inherit a WATCH; close them if one of them broke."""
        if not is_broken:
            self._unwatch_later()
        end = self._nodes.discard if is_broken else self._nodes.give_back
        for node, connection in self._open.items():
            end(node, connection)
        self._open.clear()

    def _node(self, slot: int | None) -> Node:
        return self._nodes.primaries()[0] if slot is None else self._nodes.serving(slot)

    def _watching_or_serving(self, slot: int | None) -> Node:
        watching = None if slot is None else self._watching.get(slot)
        return self._node(slot) if watching is None else watching

    def _connection(self, node: Node) -> Connection:
        connection = self._open.get(node)
        if connection is None:
            connection = self._open[node] = self._nodes.take(node)
        return connection

    def _carry_out(self, packet: "_Exchanged", stage: Stage) -> None:
        """Send the commands for each node, then read the replies of each."""
        sent: list[tuple[Connection, list[Command], int]] = []
        commands_by_node = {node: [packet.commands[at] for at in places] for node, places in stage.items()}
        *others, last = commands_by_node
        for node in others:
            commands = self._to_confirm(node, commands_by_node[node])
            sent.append((self._connection(node), commands, self._post(node, commands)))
        packet.note(stage[last], self._answered(last, commands_by_node[last]))
        for node, (connection, commands, more) in zip(others, sent, strict=True):
            replies = [_read(connection) for _ in range(more + len(commands))][more:]
            packet.note(stage[node], self._confirmed(node, commands_by_node[node], replies))

    def _answered(self, node: Node, commands: Sequence[Command]) -> list[Reply]:
        """Send a node commands; return the replies to them."""
        self._note_watches(node, commands)
        replies = exchange(self._connection(node), self._to_confirm(node, commands))
        return self._confirmed(node, commands, replies)

    def _asked(self, node: Node, commands: Sequence[Command]) -> list[Reply]:
        """Send a node commands for keys whose slot is just moving there; return the replies to them.

        It may be its first slot. So the small write before WAIT is in this slot too. It is gone at once: a key that
        both nodes have would end the move.
        """
        sent: list[Command] = [("ASKING",), *commands]
        if self._must_confirm(commands):
            barrier: Command = ("SET", barrier_for(commands[0]), "1", "PX", 1)
            sent += [("ASKING",), barrier, ("WAIT", self._wait_replicas, _CONFIRM_MS)]
        _, *replies = exchange(self._connection(node), sent)
        del replies[len(commands) : len(commands) + 1]  # that to the second ASKING
        return self._confirmed(node, commands, replies)

    def _must_confirm(self, commands: Sequence[Command]) -> bool:
        """Return whether replicas must confirm the commands: they may write, and do not wait themselves."""
        return self._wait_replicas > 0 and may_write(commands)

    def _to_confirm(self, node: Node, commands: Sequence[Command]) -> list[Command]:
        """Return the commands, with a small write and a WAIT after them if replicas must have what they write."""
        if not self._must_confirm(commands):
            return [*commands]
        barrier: Command = ("SET", self._nodes.barrier(node), "1", "EX", _BARRIER_LIFE_S)
        return [*commands, barrier, ("WAIT", self._wait_replicas, _CONFIRM_MS)]

    def _confirmed(self, node: Node, commands: Sequence[Command], replies: list[Reply]) -> list[Reply]:
        """Return the replies to the commands. Raise PassingError if too few replicas have what they wrote."""
        if len(replies) == len(commands):
            return replies
        *replies_before, written, acknowledged = replies
        is_sure = not isinstance(written, Exception) and not isinstance(acknowledged, Exception)
        if is_sure and acknowledged >= self._wait_replicas:
            return replies_before
        self._nodes.change_tag(node)
        if any(map(has_written, commands, replies_before)):
            raise faults.PassingError("NOREPLICAS")
        return replies_before

    def _post(self, node: Node, commands: Sequence[Command]) -> int:
        """Send commands without waiting. Return how many replies come before theirs."""
        self._note_watches(node, commands)
        connection = self._connection(node)
        before: list[Command] = [("UNWATCH",)] if is_to_unwatch(connection) else []
        connection.send_packed_command(packed([*before, *commands]), check_health=False)
        return len(before)

    def _follow(self, packet: "_Exchanged", places: Sequence[int]) -> None:
        """Send again what other nodes must answer."""
        for attempt in range(_REDIRECTS):
            redirected = [at for at in places if packet.is_to_be_sent_again(at)]
            if not redirected:
                return
            for at in redirected:
                again = packet.with_its_wait(at)
                packet.note(again, self._sent_again(packet, again, packet.replies[at]))
            time.sleep(JITTER.uniform(0, min(0.001 * 2**attempt, 0.05)))

    def _sent_again(self, packet: "_Exchanged", places: Sequence[int], error: AskError | TryAgainError) -> list[Reply]:
        commands, slot = [packet.commands[at] for at in places], packet.slots[places[0]]
        if isinstance(error, AskError) and not isinstance(error, MovedError):
            return self._asked(f"{error.host}:{error.port}", commands)
        if isinstance(error, MovedError):
            self._nodes.moved(error)
        return self._answered(self._node(slot), commands)

    def _note_watches(self, node: Node, commands: Sequence[Command]) -> None:
        for name, *words in commands:
            if name == "WATCH":
                self._watching[slot_of(str(words[0]))] = node
            elif name in {"EXEC", "UNWATCH"}:
                self._watching = {slot: watching for slot, watching in self._watching.items() if watching != node}

    def _unwatch_later(self) -> None:
        for node in self._watching.values():
            unwatch_later(self._open[node])
        self._watching.clear()


class _Exchanged:
    """The commands of one packet, their slots, and the replies as far as they have come.

    `building` are the places of scripts that build keys. These do not follow ASK.
    """

    def __init__(self, commands: Sequence[Command], slots: Sequence[int | None], building: set[int]) -> None:
        self.commands = commands
        self.slots = slots
        self._building = building
        self.replies: list[Reply] = [None] * len(commands)

    def is_to_be_sent_again(self, at: int) -> bool:
        """Return whether another node must answer this command, or the same one once more."""
        error = self.replies[at]
        if at in self._building:
            return isinstance(error, MovedError | TryAgainError)
        return isinstance(error, AskError | TryAgainError)

    def with_its_wait(self, at: int) -> list[int]:
        """Return the place of a command, and of the WAIT for replicas right after it: it is for the same node."""
        is_waited_for = at + 1 < len(self.commands) and self.commands[at + 1][0] == "WAIT"
        return [at, at + 1] if is_waited_for else [at]

    def firm(self) -> set[int]:
        """Return the places of commands that are not sent again alone: in a transaction, or together with a WATCH."""
        watched = {slot for slot, command in zip(self.slots, self.commands, strict=True) if command[0] == "WATCH"}
        return in_transaction(self.commands) | {at for at, slot in enumerate(self.slots) if slot in watched}

    def note(self, places: Sequence[int], replies: Sequence[Reply]) -> None:
        """Note the replies to the commands at these places."""
        for at, reply in zip(places, replies, strict=True):
            self.replies[at] = reply


def _read(connection: Connection) -> Any:
    try:
        return connection.read_response()
    except redis.ResponseError as error:
        return error
