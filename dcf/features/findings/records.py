"""The answers of verbs on findings. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

SeverityName: TypeAlias = Literal["info", "low", "medium", "high", "critical"]
FindingStatusName: TypeAlias = Literal["active", "deprecated", "superseded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FindingEdit:
    """A change of a finding: when, by whom, of which fields, and why."""

    at: datetime
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
    created_at: datetime
    updated_at: datetime
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
    """The finding. `existed`: it was there before. `changed`: this call changed it. `redacted` counts secrets in it."""

    finding: FindingDetails
    existed: bool | None = None
    changed: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotedIssue(ShownFinding):
    """The finding that an issue of the run became. `existed`: it was there before; `changed`: this call changed it."""

    workflow_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundFindings:
    """Findings with their scores; `text` is cut unless `is_whole`. `total` is a lower bound, or `total_is_exact`."""

    findings: tuple[FindingDetails, ...] = ()
    total: int = 0
    total_is_exact: bool = True
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedFinding:
    """The finding is gone; `existed` is false if it was gone before."""

    finding_id: str
    existed: bool
