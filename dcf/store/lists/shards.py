"""Where lists of runs, agents and API keys are: whole on one server, in shards on a cluster, so that no node has all.

The entries of a run, an agent or a key are all in the shard of its id. All lists of a shard are in one slot, by the
hash tag of their keys, so that a script can intersect them. With one shard a list has its plain key. A reader of a
whole list asks every shard in one packet, and merges the replies. Pure.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final
from zlib import crc32

from dcf.store.connection.commands import Command, Reply

_BEGINNING: Final = "cp:idx:"
_IN_SHARD: Final = re.compile(rf"^{_BEGINNING}\{{s[0-9]+\}}:")


@lru_cache(maxsize=4096)
def shard_of(listed_id: str, shards: int) -> str:
    """Return the shard of the entries of a run, agent or API key: what follows `cp:idx:` in the keys of its lists.

    It is empty if there is one. An entry never changes its shard, so a Redis must not change its number of shards.
    """
    return _name(crc32(listed_id.encode()) % shards, shards)


@lru_cache(maxsize=64)
def every_shard(shards: int) -> tuple[str, ...]:
    """Return all shards of a Redis that has this number of them."""
    return tuple(_name(number, shards) for number in range(shards))


def _name(number: int, shards: int) -> str:
    return "" if shards == 1 else f"{{s{number}}}:"


@lru_cache(maxsize=4096)
def in_shard(index: str, shard: str) -> str:
    """Return the key that a list, given by its plain key, has in a shard."""
    return f"{_BEGINNING}{shard}{index.removeprefix(_BEGINNING)}"


def in_every_shard(index: str, shards: int) -> list[str]:
    """Return the keys of all shards of a list, given by its plain key."""
    return [in_shard(index, shard) for shard in every_shard(shards)]


def place_of(index: str, listed_id: str, shards: int) -> str:
    """Return the key of the list that has the entry of a run, agent or API key; the list is given by its plain key."""
    return in_shard(index, shard_of(listed_id, shards))


def plain_list(key: str) -> str:
    """Return the plain key of a list, by the key that it has in a shard; any other key as it is."""
    return _IN_SHARD.sub(_BEGINNING, key)


def oldest_commands(index: str, shards: int, most: int | None = None) -> list[Command]:
    """Return the commands that ask every shard for its first entries, so many at most. Read them with `oldest`."""
    last = -1 if most is None else most - 1
    return [("ZRANGE", key, 0, last, "WITHSCORES") for key in in_every_shard(index, shards)]


def newest_commands(index: str, shards: int, most: int) -> list[Command]:
    """Return the commands that ask every shard for its last entries, so many at most. Read them with `newest`."""
    return [("ZRANGE", key, 0, most - 1, "REV", "WITHSCORES") for key in in_every_shard(index, shards)]


def oldest(replies: Sequence[Reply], most: int | None = None) -> list[str]:
    """Return the ids of the first entries of all shards together, by score and id."""
    return [name for _, name in sorted(_entries(replies))[:most]]


def newest(replies: Sequence[Reply], most: int) -> list[str]:
    """Return the ids of the last entries of all shards together, the last one first."""
    return [name for _, name in sorted(_entries(replies), reverse=True)[:most]]


def _entries(replies: Sequence[Reply]) -> Iterable[tuple[float, str]]:
    for reply in replies:
        yield from ((float(score), name.decode()) for name, score in zip(reply[::2], reply[1::2], strict=True))


def by_shard(workflow_ids: Iterable[str], shards: int) -> dict[str, list[str]]:
    """Return these runs by their shards."""
    by_shard: dict[str, list[str]] = {}
    for workflow_id in workflow_ids:
        by_shard.setdefault(shard_of(workflow_id, shards), []).append(workflow_id)
    return by_shard
