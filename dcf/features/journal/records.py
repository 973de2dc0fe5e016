"""The answers of the verbs of a run's journal. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName

EntryKindName: TypeAlias = Literal["log", "decision", "milestone", "issue", "note", "handoff"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockingIssue:
    """An open issue that blocks its run: its id in the journal, the beginning of its text, and since when."""

    issue: str
    text: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedEntry:
    """An entry of the journal, and how many more the journal takes.

    A milestone says until when it renewed the lease.
    """

    workflow_id: str
    entry: str
    kind: str
    at: datetime
    blocks: bool
    blocked_by: tuple[BlockingIssue, ...] = ()
    leased_until: datetime | None = None
    entries_left: int | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueResolution:
    """How an issue was resolved, by whom, and when."""

    how: str
    by: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEntry:
    """An entry of the journal. `by` is the key of who wrote it; `details` are the fields of its kind.

    Of an issue: whether it `blocks` the run, is still `open`, and how it was `resolved`.
    """

    entry: str
    kind: str
    at: datetime
    agent: str
    text: str
    state: str | None = None
    attempt: int | None = None
    details: Mapping[str, Json] = field(default_factory=dict)
    key: str | None = None
    by: str | None = None
    blocks: bool = False
    open: bool = False
    resolved: IssueResolution | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJournal:
    """A page; it may be short or empty with more to come. `matching`: the entries of one filter; None for several."""

    workflow_id: str
    entries: tuple[ReadEntry, ...] = ()
    matching: int | None = None
    has_more: bool = False
    next_cursor: str | None = None
    provenance: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedIssue:
    """An issue that was resolved, by whom, what still blocks the run, and how many states' agents were notified."""

    workflow_id: str
    issue: str
    resolved_by: str
    run_status: RunStatusName
    blocked_by: tuple[BlockingIssue, ...] = ()
    announced: int = 0
    repeated: bool = False
    hint: str | None = None
