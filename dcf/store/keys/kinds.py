"""The kinds of keys that a run has; `keys` makes them. What is of one of these kinds lives and goes with its run."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from dcf.values.records import record

Per: TypeAlias = Literal["run", "state", "scope", "branch"]
"""What a kind of key exists once for: the run, each state, each scope (opened Parallel or Map), or each branch.

One that is soon gone by itself is not listed for any of them.
"""


@record(frozen=True, slots=True)
class KeyKind:
    """One kind of key of a run: the text before and after its name, and what it exists once for."""

    prefix: Literal["cp", "dp"]
    per: tuple[Per, ...]
    is_document: bool = False
    suffix: str = ""


KEY_KINDS: Final[Mapping[str, KeyKind]] = {
    "meta": KeyKind("cp", ("run",), is_document=True),
    "definition": KeyKind("cp", ("run",), is_document=True),
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
    "audit": KeyKind("dp", ("run",), is_document=True, suffix=":finalize"),
    "signals": KeyKind("dp", ("run",), is_document=True),
    "talk": KeyKind("dp", ("run",), is_document=True),
    "journal": KeyKind("dp", ("run",)),
    "journalorder": KeyKind("dp", ("run",)),
    "growth": KeyKind("cp", ("run",), is_document=True),
    "units": KeyKind("cp", ("run",)),
    "artifacts": KeyKind("dp", ("run",)),
    "shelf": KeyKind("dp", ("run",)),
    "uploads": KeyKind("dp", ("run",)),
    "content": KeyKind("dp", ("run",)),
    "state": KeyKind("cp", ("state",), is_document=True),
    "input": KeyKind("dp", ("state",), is_document=True),
    "entry": KeyKind("dp", ("state",), is_document=True),
    "output": KeyKind("dp", ("state", "branch"), is_document=True),
    "items": KeyKind("dp", ("scope",), is_document=True),
    "results": KeyKind("dp", ("scope",), is_document=True),
    "join": KeyKind("cp", ("scope",)),
}
"""All kinds of keys of a run."""
