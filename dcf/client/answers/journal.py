"""What a client's methods return about the journal of a run: frozen records, as in `records.py`."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dcf.client.records import BlockingIssue, RunStatusName
from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedEntry:
    """An entry that stands in the journal. A milestone says until when it renewed the lease."""

    workflow_id: str
    entry: str
    kind: str
    at: str
    blocks: bool
    blocked_by: tuple[BlockingIssue, ...] = ()
    leased_until: str | None = None
    entries_left: int | None = None
    repeated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueResolution:
    """How an issue was resolved, by whom, and when."""

    how: str
    by: str
    at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadEntry:
    """An entry of the journal. `by` is the key of who wrote it; `details` are the fields of its kind.

    Of an issue: whether it `blocks` the run, is still `open`, and how it was `resolved`.
    """

    entry: str
    kind: str
    at: str
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
class ResolvedIssue:
    """An issue that was resolved, what still blocks the run, and how many states' agents were told."""

    workflow_id: str
    issue: str
    resolved_by: str
    run_status: RunStatusName
    blocked_by: tuple[BlockingIssue, ...] = ()
    announced: int = 0
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentContext:
    """Where an agent is and what is next, the most important first; `left_out` says what did not fit, and where it is.

    `runs`, `held`, `ready` and the others are what the tool shows.
    """

    agent_id: str | None = None
    runs: tuple[Mapping[str, Json], ...] = ()
    held: tuple[Mapping[str, Json], ...] = ()
    issues: tuple[Mapping[str, Json], ...] = ()
    handoffs: tuple[Mapping[str, Json], ...] = ()
    decisions: tuple[Mapping[str, Json], ...] = ()
    ready: tuple[Mapping[str, Json], ...] = ()
    milestones: tuple[Mapping[str, Json], ...] = ()
    inputs: tuple[Mapping[str, Json], ...] = ()
    left_out: tuple[Mapping[str, Json], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchedOne:
    """One result: what it is, its id where it lives, and a score of at most 1. `workflow_id`, `state`: where it is."""

    type: str
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
    """Results, best first. `covered` says which runs' journals, artifacts and outputs were looked through."""

    results: tuple[SearchedOne, ...] = ()
    covered: Mapping[str, Json] = field(default_factory=dict)
