"""What a client's methods return about findings and definitions: frozen records, as in `records.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

SeverityName: TypeAlias = Literal["info", "low", "medium", "high", "critical"]
FindingStatusName: TypeAlias = Literal["active", "deprecated", "superseded"]
DefinitionKindName: TypeAlias = Literal["workflow", "job", "persona", "rule", "contract", "template", "schema", "skill"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingEdit:
    """A change of a finding: when, by whom, of which fields, and why."""

    at: str
    by: str
    fields: tuple[str, ...]
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingDetails:
    """A finding. One of a search has a `score`, and the beginning of its text unless it `is_whole`."""

    finding_id: str
    severity: SeverityName
    category: str
    title: str
    text: str
    status: FindingStatusName
    scope: Literal["project", "global"]
    author: str
    created_at: str
    updated_at: str
    tags: tuple[str, ...] = ()
    project: str | None = None
    run: str | None = None
    state: str | None = None
    issue: str | None = None
    superseded_by: str | None = None
    location: Mapping[str, Json] | None = None
    metadata: Mapping[str, Json] | None = None
    redacted: Mapping[str, int] = field(default_factory=dict)
    changes: tuple[FindingEdit, ...] = ()
    score: int = 0
    is_whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFinding:
    """A finding that is there now; `existed`: before this call; `changed`: by it."""

    finding: FindingDetails
    existed: bool | None = None
    changed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedFinding:
    """A finding that is gone; `existed` is False if it was gone before."""

    finding_id: str
    existed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DefinitionDetails:
    """A definition of the catalogue, as far as it was asked for; one of a search has a `score`."""

    sha256: str
    version: str
    kind: DefinitionKindName | None = None
    name: str = ""
    scope: Literal["global", "project", "session"] = "global"
    project: str | None = None
    session: str | None = None
    description: str = ""
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    always_apply: bool = False
    complexity: str | None = None
    attributes: Mapping[str, Json] = field(default_factory=dict)
    source: str | None = None
    size: int = 0
    created_at: str | None = None
    updated_at: str | None = None
    expires_at: str | None = None
    versions: tuple[str, ...] = ()
    content: Json = None
    score: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownDefinition:
    """A definition. `changed`: this call made a version of it; `not_modified`: it is the one that the caller has."""

    definition: DefinitionDetails
    changed: bool | None = None
    not_modified: bool | None = None
    redacted: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedDefinition:
    """A definition that is gone; `existed` is False if it was gone before."""

    kind: DefinitionKindName
    name: str
    existed: bool
