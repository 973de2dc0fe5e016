"""Keys that go with another key, and are in its slot on a Redis Cluster. `keys` has them in its table. Pure."""

import re
from typing import Final

from dcf.store.keys import table as keys

_TAG: Final = re.compile(r"\{([^}]+)\}")


def edit(key: str, request: str) -> str:
    """Return the key of the receipt of a manual change, in the cluster slot of the changed key."""
    return f"cp:idx:edit:{_same_slot(key)}:{request}"


def barrier(key: str) -> str:
    """Return the key of the small write that waits for replicas after a write to this key, in its cluster slot."""
    return f"cp:idx:barrier:{_same_slot(key)}"


def register(key: str, shards: int) -> str:
    """Return the key of the register that says who owns a document: one for all, or on a cluster one in its slot."""
    return keys.DOCUMENTS if shards == 1 else f"{keys.DOCUMENTS}:{_same_slot(key)}"


def _same_slot(key: str) -> str:
    tag = _TAG.search(key)
    return f"{{{key if tag is None else tag[1]}}}"
