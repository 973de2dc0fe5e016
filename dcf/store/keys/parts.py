"""Text as part of a key: the paths of states and other names, without the characters that divide a key."""

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias
from zlib import crc32

from dcf.asl.state_paths import components, path_of

_UNSAFE = re.compile(r"[:/%{}*?\[\]\x00-\x1f\x7f]")
_ENCODED = re.compile(r"%([0-9A-F]{2})")


AGENT_SHARDS: Final = 256
"""Parts of the inboxes of all agents on a Redis Cluster, a slot each. Fixed: an inbox never changes its slot."""

Counted: TypeAlias = Literal["docs", "sizes", "runs", "live", "inbox", "part", "receipts", "artifacts"]
"""The counts of an owner besides the bytes."""


class KeyText(str):
    """The beginning of keys that a script builds. On a Redis Cluster it gets a hash tag, as a key does."""

    __slots__ = ()


@lru_cache(maxsize=4096)
def agent_shard(agent_id: str) -> int:
    """Return in which of the `AGENT_SHARDS` the keys of an agent are on a Redis Cluster."""
    return crc32(agent_id.encode()) % AGENT_SHARDS


@lru_cache(maxsize=4096)
def encode_state(path: str) -> str:
    """Return a state's path as part of a key, with special characters percent-encoded."""
    return "/".join(_UNSAFE.sub(_percent, name) for name in components(path))


def _percent(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"


@lru_cache(maxsize=4096)
def decode_state(part: str) -> str:
    """Return the path that `encode_state` made this part from."""
    return path_of([_ENCODED.sub(lambda match: chr(int(match[1], 16)), name) for name in part.split("/")])


def receipt_field(path: str, request: str) -> str:
    """Return the field of a request's receipt in the hash of receipts; the path is empty for one about the run."""
    return f"{encode_state(path)}:{request}"


def member(workflow_id: str, path: str) -> str:
    """Return the entry of a state of a run in a list across runs."""
    return f"{workflow_id}/{encode_state(path)}"


def read_member(entry: str) -> tuple[str, str]:
    """Return the run and the path of the state that an entry names; what follows a `?` is of its list."""
    workflow_id, _, part = entry.partition("/")
    return workflow_id, decode_state(part.partition("?")[0])
