"""The outcome of a transaction on a cluster when something happens between its WATCH and its EXEC.

In each trial another client then changes what is watched. A transaction that is carried out all the same overwrites a
change that it has not seen.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, Final

import redis

from dcf.store.cluster.keys import cluster_key, slot_of
from dcf.store.connection.connections import CONNECTION_ERRORS, Connections, all_checked, exchange
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.attempts import Overtaken, Unsure, commit

LOST: Final = "**carried out**: the other change is lost"
_ONE_PACKET: Final = "cannot be: both are one packet"
_OURS: Final = b"ours"

_NUMBERS: Final = count()
_OF_LAST: Final = 11_000
"""A slot of the last of three nodes, and all after it."""

Happening = Callable[[], None]


class Place:
    """A run of two keys, the last node, which has it, and the first, to which its slot may move.

    It is always a slot that has not moved yet, and always this way: about others, nodes may disagree for a while.
    """

    def __init__(self, nodes: Sequence[Any], run: RunKeys) -> None:
        self.keys = [cluster_key(key) for key in (run.barrier, run.secret)]
        self.slot = slot_of(self.keys[0])
        self._nodes = nodes
        self.node, self.other = nodes[-1], nodes[0]
        self._is_moving = False

    def break_connections(self) -> None:
        """Have the node close the connections of all other clients."""
        self.node.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")

    def move_watched(self) -> None:
        """Begin to move the slot, with the first key: what is watched and changed."""
        self._begin_to_move(self.keys[0])

    def move_second(self) -> None:
        """Begin to move the slot, with the second key."""
        self._begin_to_move(self.keys[1])

    def move_all(self) -> None:
        """Move the slot."""
        self._begin_to_move(*self.keys)
        self.end_move()

    def end_move(self) -> None:
        """Move the rest of the slot, if it is moving."""
        if self._is_moving:
            self._migrate(*self.keys)
            for node in (self.other, *self._nodes):
                node.execute_command("CLUSTER", "SETSLOT", self.slot, "NODE", _id(self.other))
            self._is_moving, self.node = False, self.other

    def kept(self) -> bytes:
        """Return what the node has of what is watched."""
        result: bytes = self.node.get(self.keys[0])
        return result

    def _begin_to_move(self, *keys: str) -> None:
        self.other.execute_command("CLUSTER", "SETSLOT", self.slot, "IMPORTING", _id(self.node))
        self.node.execute_command("CLUSTER", "SETSLOT", self.slot, "MIGRATING", _id(self.other))
        self._is_moving = True
        self._migrate(*keys)

    def _migrate(self, *keys: str) -> None:
        port = self.other.connection_pool.connection_kwargs["port"]
        self.node.execute_command("MIGRATE", "127.0.0.1", port, "", 0, 5000, "KEYS", *keys)


BEFORE_READS: Final[dict[str, Callable[[Place], None]]] = {
    "the slot moves before the reads": Place.move_all,
    "a watched key moves before it is read": Place.move_watched,
    "the connection breaks before the reads": Place.break_connections,
}
BEFORE_EXEC: Final[dict[str, Callable[[Place], None]]] = {
    "the slot moves before `EXEC`": Place.move_all,
    "another key moves before `EXEC`": Place.move_second,
    "the connection breaks before `EXEC`": Place.break_connections,
}


def trials(client: Any, connections: Connections, urls: Sequence[str]) -> Iterator[str]:
    """Yield the table of the outcome of each trial, with redis-py's cluster client and with dcf."""
    nodes = [redis.Redis.from_url(url) for url in urls]
    yield "| what happens, before another client changes what is watched | redis-py | dcf |"
    yield "|---|---|---|"
    for name, happens in (*BEFORE_READS.items(), *BEFORE_EXEC.items()):
        is_early = name in BEFORE_READS
        theirs = _tried(partial(_of_redis_py, client, is_early=is_early), connections, nodes, happens)
        ours = _ONE_PACKET if is_early else _tried(partial(_of_dcf, connections), connections, nodes, happens)
        yield f"| {name} | {theirs} | {ours} |"
    for node in nodes:
        node.close()


def _tried(
    transaction: Callable[[Place, Happening, Happening], None],
    connections: Connections,
    nodes: Sequence[Any],
    happens: Callable[[Place], None],
) -> str:
    runs = (RunKeys(f"tried-{number}") for number in _NUMBERS)
    run = next(run for run in runs if slot_of(cluster_key(run.barrier)) > _OF_LAST)
    connections.send(("SET", run.barrier, "before"), ("SET", run.secret, "before"))
    place = Place(nodes, run)

    def change() -> None:
        connections.send(("SET", run.barrier, "theirs"))

    try:
        transaction(place, partial(happens, place), change)
        text = "carried out"
    except (Overtaken, Unsure, redis.RedisError, *CONNECTION_ERRORS) as error:
        text = f"refused (`{type(error).__name__}`)"
    place.end_move()
    return LOST if place.kept() == _OURS else text


def _of_redis_py(client: Any, place: Place, happens: Happening, change: Happening, *, is_early: bool) -> None:
    with client.pipeline(transaction=True) as pipe:
        pipe.watch(*place.keys)
        if is_early:
            happens()
        for key in place.keys:
            pipe.get(key)
        if not is_early:
            happens()
        change()
        pipe.multi()
        for key in place.keys:
            pipe.set(key, _OURS)
        pipe.execute()


def _of_dcf(connections: Connections, place: Place, happens: Happening, change: Happening) -> None:
    with connections.one() as connection:
        all_checked(exchange(connection, [("WATCH", *place.keys), *(("GET", key) for key in place.keys)]))
        happens()
        change()
        commit(connection, [("SET", key, _OURS) for key in place.keys])


def _id(node: Any) -> str:
    reply: bytes = node.execute_command("CLUSTER", "MYID")
    return reply.decode()
