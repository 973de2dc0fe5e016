"""The answer of the search. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

SearchedType: TypeAlias = Literal[
    "definition", "finding", "journal", "artifact", "output", "unit", "document", "blueprint", "code"
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedOne:
    """One result: what it is, its id where it lives, and a score of at most 1. `workflow_id`, `state`: where it is."""

    type: SearchedType
    id: str
    title: str
    snippet: str
    score: float
    workflow_id: str | None = None
    state: str | None = None
    kind: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedAll:
    """Results, best first. `covered` says which runs' journals, artifacts and outputs were looked through.

    Those are the newest runs; of a journal the newest entries.
    """

    results: tuple[SearchedOne, ...] = ()
    covered: Mapping[str, Json] = field(default_factory=dict)
    provenance: Mapping[str, Json] | None = None
