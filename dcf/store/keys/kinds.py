"""The kinds of keys that a run has; `keys` makes them. Keys of these kinds are deleted with their run. Pure."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from dcf.values.records import record

Per: TypeAlias = Literal["run", "state", "scope", "branch"]
"""The unit for which a kind of key exists once: run, state, scope (opened Parallel or Map), or branch.

Kinds whose keys expire soon are not listed.
"""

Shape: TypeAlias = Literal["text", "members", "elements"]
"""How a document is kept where Redis has no RedisJSON: its text in a string, or a hash with a field for each member or
element. The latter are read or written in part."""


@record(frozen=True, slots=True)
class KeyKind:
    """One kind of key of a run: the text before and after its name, what it exists once for, and its shape.

    Only a document has a shape.
    """

    prefix: Literal["cp", "dp"]
    per: tuple[Per, ...]
    shape: Shape | None = None
    suffix: str = ""


KEY_KINDS: Final[Mapping[str, KeyKind]] = {
    "meta": KeyKind("cp", ("run",), "members"),
    "definition": KeyKind("cp", ("run",), "text"),
    "events": KeyKind("cp", ("run",)),
    "outbox": KeyKind("cp", ("run",)),
    "told": KeyKind("cp", ("run",)),
    "timers": KeyKind("cp", ("run",)),
    "scopes": KeyKind("cp", ("run",)),
    "claims": KeyKind("cp", ("run",)),
    "evaluating": KeyKind("cp", ("run",)),
    "receipts": KeyKind("cp", ("run",)),
    "barrier": KeyKind("cp", ("run",)),
    "secret": KeyKind("cp", ("run",)),
    "usage": KeyKind("cp", ("run",)),
    "usageparts": KeyKind("cp", ("run",)),
    "spent": KeyKind("cp", ("run",)),
    "gates": KeyKind("dp", ("run",)),
    "taking": KeyKind("cp", ()),
    "audit": KeyKind("dp", ("run",), "text", suffix=":finalize"),
    "signals": KeyKind("dp", ("run",), "text"),
    "talk": KeyKind("dp", ("run",), "text"),
    "journal": KeyKind("dp", ("run",)),
    "journalorder": KeyKind("dp", ("run",)),
    "growth": KeyKind("cp", ("run",), "text"),
    "units": KeyKind("cp", ("run",)),
    "artifacts": KeyKind("dp", ("run",)),
    "shelf": KeyKind("dp", ("run",)),
    "uploads": KeyKind("dp", ("run",)),
    "content": KeyKind("dp", ("run",)),
    "state": KeyKind("cp", ("state",), "text"),
    "input": KeyKind("dp", ("state",), "text"),
    "entry": KeyKind("dp", ("state",), "text"),
    "output": KeyKind("dp", ("state", "branch"), "text"),
    "items": KeyKind("dp", ("scope",), "elements"),
    "results": KeyKind("dp", ("scope",), "text"),
    "join": KeyKind("cp", ("scope",)),
}
"""All kinds of keys of a run."""
