"""Where keys are in a Redis Cluster: the hash tag that each gets, and the slot of a command. Pure.

A cluster has 16,384 slots, and a command or script may only name keys of one slot. The part of a key between the first
`{` and the next `}`, its hash tag, decides the slot. dcf makes the same keys for every Redis. For a cluster, a tag is
written into them just before they are sent. A single server gets the keys without tags.

| key | on a cluster | what shares a slot |
|---|---|---|
| `cp:wf:<run>:…`, `dp:wf:<run>:…` | `cp:wf:{<run>}:…` | a run |
| `cp:idx:asked:run:<run>`, others in `_OF_RUN` | `cp:idx:{<run>}:asked:run:<run>` | the same run |
| `cp:idx:inbox:<agent>…`, others of an agent | `cp:idx:{a<number>}:inbox:<agent>…` | agents, by their checksum |
| `cp:idx:keys:<owner>`, `rate:`, `quota…` | `cp:idx:{<owner>}:quota:<owner>` | what is counted for an API key |
| `cp:idx:usage:agent:<id>…`, `project:` | `cp:idx:{agent:<id>}:usage:agent:<id>…` | a book and its days |
| `cp:idx:schedule…`, others in `_TOGETHER` | `cp:idx:{schedules}:schedule:<name>` | what is written together |
| `cp:idx:edit:{<key>}…`, others in `_BESIDE` | `cp:idx:edit:{<tag>}{<key>}…` | a document and what goes with it |
| any other | as it is | nothing |
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final, TypeAlias

from redis.crc import key_slot

from dcf.store.connection.commands import Command
from dcf.store.connection.reserve_scripts import COMMIT, allowed
from dcf.store.keys.parts import KeyText, agent_shard
from dcf.store.transaction.guards import GUARDED

Word: TypeAlias = str | bytes | int | float

_INDEX: Final = "cp:idx:"
_BESIDE: Final = tuple(f"{_INDEX}{family}:{{" for family in ("edit", "barrier", "docs"))
"""How the keys begin that are in the slot of another key, which follows in braces."""

_RUNS: Final = ("cp:wf:", "dp:wf:")
_IN_SHARDS: Final = re.compile(rf"{_INDEX}\{{s[0-9]+\}}:")
"""How the keys of lists of runs begin: they have their tag already, since their readers name each shard."""

_GUARDED_FROM_RESERVE: Final = allowed(GUARDED)

_TAG: Final = re.compile(r"[^{]*\{([^}]+)\}")
"""How a key begins that has a hash tag: as Redis finds it."""

_OF_AGENT: Final = (
    *("inbox:", "sent:", "turn:", "handed:", "gone:", "agent:", "skills:", "assigned:"),
    *("webhook:rest:", "webhook:"),
)
_OF_OWNER: Final = (
    *("keys:", "rate:"),
    *(f"quota:{of}:" for of in ("docs", "sizes", "runs", "live", "inbox", "artifacts", "arriving", "receipts", "part")),
    "quota:",
)
_OF_RUN: Final = ("workers:", "traced:", "asked:run:", "areas:run:")
_OF_BOOK: Final = ("usage:agent:", "usage:project:")
_TOGETHER: Final[Mapping[str, str]] = {
    "schedule": "schedules",
    "project": "projects",
    "def": "definitions",
    "audit": "audit",
    "limits": "limits",
    "held:": "limits",
}
"""Tags by how the keys of a family begin."""


@lru_cache(maxsize=65536)
def cluster_key(key: str) -> str:
    """Return a key as it is on a cluster, with its hash tag. A key that has its tag already is returned as it is."""
    if key.startswith(_RUNS):
        return key if key.startswith("{", 6) else f"{key[:6]}{{{_first(key[6:])}}}{key[6 + len(_first(key[6:])) :]}"
    if key.startswith(_BESIDE):
        return _companion_on_cluster(key)
    tag = _tag_of(key.removeprefix(_INDEX)) if key.startswith(_INDEX) else ""
    return f"{_INDEX}{{{tag}}}:{key.removeprefix(_INDEX)}" if tag else key


def plain_key(key: str) -> str:
    """Return a key without the tag that `cluster_key` wrote into it. SCAN on a cluster replies with tagged keys."""
    if key.startswith(_RUNS) and key.startswith("{", 6):
        tag, _, rest = key[7:].partition("}")
        return f"{key[:6]}{tag}{rest}"
    if key.startswith(_BESIDE):
        before, divider, rest = key.partition("}{")
        return f"{before.partition('{')[0]}{{{rest}" if divider and "}" not in before else key
    if key.startswith(f"{_INDEX}{{") and not _IN_SHARDS.match(key):
        return f"{_INDEX}{key.partition('}:')[2]}"
    return key


def _first(text: str) -> str:
    return text.partition(":")[0]


def _tag_of(name: str) -> str:
    """Return the tag of an index key by the part after `cp:idx:`; empty for a key without a tag."""
    for beginning in _OF_AGENT:
        if name.startswith(beginning):
            return f"a{agent_shard(_first(name.removeprefix(beginning)))}"
    for beginning in (*_OF_OWNER, *_OF_RUN):
        if name.startswith(beginning):
            return _first(name.removeprefix(beginning))
    for beginning in _OF_BOOK:
        if name.startswith(beginning):
            return f"{beginning.split(':')[1]}:{_first(name.removeprefix(beginning))}"
    return next((tag for beginning, tag in _TOGETHER.items() if name.startswith(beginning)), "")


def _companion_on_cluster(key: str) -> str:
    family, _, rest = key.partition("{")
    named = rest.partition("}")[0]
    placed = cluster_key(named)
    return key if placed == named else f"{family}{{{placed.partition('{')[2].partition('}')[0]}}}{{{rest}"


@lru_cache(maxsize=65536)
def slot_of(key: str) -> int:
    """Return the slot of a key as it is on a cluster."""
    return key_slot(key.encode("utf-8", "surrogateescape"))


_ONE: Final = (1,)
_NONE: Final[Sequence[int]] = ()


def _after_streams(command: Command) -> Sequence[int]:
    first = next(at for at, word in enumerate(command) if word == "STREAMS") + 1
    return range(first, first + (len(command) - first) // 2)


def _counted(at: int) -> Callable[[Command], Sequence[int]]:
    """Return what finds the keys of a command that says at this place how many follow."""
    return lambda command: range(at + 1, at + 1 + int(command[at]))


_PLACES: Final[Mapping[str, Callable[[Command], Sequence[int]]]] = {
    **dict.fromkeys(("DEL", "EXISTS", "MGET", "UNLINK", "WATCH"), lambda command: range(1, len(command))),
    "MSET": lambda command: range(1, len(command), 2),
    "JSON.MGET": lambda command: range(1, len(command) - 1),
    "JSON.MSET": lambda command: range(1, len(command), 3),
    "XREAD": _after_streams,
    "XREADGROUP": _after_streams,
    "XGROUP": lambda _: (2,),
    "XINFO": lambda _: (2,),
    "MEMORY": lambda _: (2,),
    "ZINTERCARD": _counted(1),
    "ZINTER": _counted(1),
    "EVAL": _counted(2),
}
_WITH_ONE_KEY: Final = frozenset(
    (
        *("EXPIRE", "PERSIST", "PEXPIRE", "PTTL", "TTL", "TYPE"),
        *("GET", "SET", "INCRBY", "STRLEN"),
        *(
            "HDEL",
            "HEXISTS",
            "HGET",
            "HGETALL",
            "HINCRBY",
            "HKEYS",
            "HLEN",
            "HMGET",
            "HSCAN",
            "HSET",
            "HSETNX",
            "HVALS",
        ),
        *("ZADD", "ZCARD", "ZCOUNT", "ZINCRBY", "ZLEXCOUNT", "ZMSCORE", "ZRANGE", "ZRANK", "ZREM", "ZREMRANGEBYSCORE"),
        *("ZREVRANGE", "ZSCAN", "ZSCORE"),
        *("XACK", "XADD", "XAUTOCLAIM", "XCLAIM", "XDEL", "XLEN", "XPENDING", "XRANGE", "XREVRANGE", "XTRIM"),
        *(
            "JSON.ARRAPPEND",
            "JSON.ARRLEN",
            "JSON.DEL",
            "JSON.GET",
            "JSON.OBJLEN",
            "JSON.SET",
            "JSON.STRLEN",
            "JSON.TYPE",
        ),
    )
)
_WITHOUT_KEYS: Final = frozenset(
    (
        *("TIME", "WAIT", "MULTI", "EXEC", "DISCARD", "UNWATCH", "INFO", "CONFIG", "SCAN", "PING", "CLIENT", "ROLE"),
        *("ACL", "COMMAND", "DBSIZE", "LATENCY", "MODULE", "READONLY", "SCRIPT", "SLOWLOG"),
    )
)


def key_places(command: Command) -> Sequence[int]:
    """Return the positions of the keys in a command. Raise AssertionError for a command that dcf does not send."""
    name = str(command[0])
    if name in _WITH_ONE_KEY:
        return _ONE
    if name in _WITHOUT_KEYS:
        return _NONE
    places = _PLACES.get(name)
    if places is None:
        raise AssertionError(f"It is not known where {name} has its keys; enter it in cluster_keys.py.")
    return places(command)


def on_cluster(command: Command) -> tuple[Command, int | None]:
    """Return a command as it is sent to a cluster, and the slot of its keys; None if it has none.

    Raise AssertionError if its keys are in several slots: no cluster would carry it out.
    """
    if command[0] in _WITH_ONE_KEY:
        key = cluster_key(_text(command[1]))
        return (command[0], key, *command[2:]), slot_of(key)
    places = key_places(command)
    if not places:
        return command, None
    words = list(command)
    for at in places:
        words[at] = cluster_key(_text(words[at]))
    slots = {slot_of(_text(words[at])) for at in places}
    if command[0] == "EVAL":
        slots |= _arguments_on_cluster(words, 3 + int(command[2]))
    if len(slots) > 1:
        raise AssertionError(f"{command[0]!s} has keys in {len(slots)} slots: {[words[at] for at in places]}")
    return tuple(words), slots.pop() if slots else None


def barrier_for(command: Command) -> str:
    """Return a key in the slot of the first key of a command, as it is sent, for the small write before WAIT.

    There is none for a key without a hash tag that has a `}`, as a document may be called.
    """
    key = _text(command[key_places(command)[0]])
    tag = _TAG.match(key)
    return f"{_INDEX}barrier:{{{tag[1] if tag else key}}}"


def builds_keys(command: Command) -> bool:
    """Return whether a command is a script that builds keys from its arguments."""
    return command[0] == "EVAL" and any(isinstance(word, KeyText) for word in command)


def _arguments_on_cluster(words: list[Word], first: int) -> set[int]:
    """Write the tags into the arguments of a script that are parts of keys, in place. Return the slots of these."""
    if words[1] in {GUARDED, _GUARDED_FROM_RESERVE}:
        return _commands_on_cluster(words, first + 3, int(words[first + 2]))
    if words[1] == COMMIT:
        return _commands_on_cluster(words, first + 1 + int(words[first]))
    texts = [at for at in range(first, len(words)) if isinstance(words[at], KeyText)]
    for at in texts:
        words[at] = cluster_key(_text(words[at]))
    return {slot_of(_text(words[at])) for at in texts}


def _commands_on_cluster(words: list[Word], at: int, reads: int = 0) -> set[int]:
    """Do the same for the whole commands that the scripts of `guards` and `reserve` are given; `reads` have replies."""
    slots: set[int | None] = set()
    while at < len(words):
        length = int(words[at])
        words[at + 1 : at + 1 + length], slot = on_cluster(tuple(words[at + 1 : at + 1 + length]))
        slots.add(slot)
        at += 1 + length
        if reads:
            reads, at = reads - 1, at + 1 + int(words[at])
    return {slot for slot in slots if slot is not None}


def _text(word: Word) -> str:
    return word.decode("utf-8", "surrogateescape") if isinstance(word, bytes) else str(word)
