"""Tools of the journal of a run: add an entry, read it, resolve an issue. They parse arguments, call, and show."""

import secrets
import time
from typing import Any, Final, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.provenance import marked
from dcf.core.documents.operations import LONGEST_REASON
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.journal.model import LONGEST_ENTRY_TEXT, LONGEST_HOW, LONGEST_KEY, EntryKind
from dcf.features.journal.query import LONGEST_PAGE, JournalPage, JournalQuery, check_cursor, kind_of
from dcf.features.journal.writing import AddEntry, ResolveIssue, shown_added
from dcf.values.json_text import Json, parse
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from dcf.values.spans import check_time
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import bound_to, current_caller, scope_hint
from dcf.verbs.registry import STATE_PATTERN, AgentId, Answer, Arguments, JsonObject, WorkflowId, refused, tool
from dcf.verbs.run_requests import RequestId
from dcf.verbs.unlisted import UNLISTED

Kind = Literal["log", "decision", "milestone", "issue", "note", "handoff"]
_RESOLVERS: Final = frozenset({Scope.WORK, Scope.PLAN, Scope.ANSWER, Scope.OPERATE})


class AddJournalEntry(Arguments):
    """Write into the run's journal what must not get lost: decisions, how far you are, what is wrong.

    A milestone renews your lease.
    """

    workflow_id: WorkflowId
    agent_id: AgentId
    kind: Kind = Field(description="What it is.", examples=["note"])
    text: str = Field(max_length=LONGEST_ENTRY_TEXT, description="What to write.", examples=["Prices in EUR."])
    details_json: JsonObject | None = Field(
        default=None,
        description="decision: question, options [], chosen, reasoning; milestone: progress 0-100; issue: type; "
        "handoff: next_steps [].",
    )
    state: str | None = Field(
        default=None, pattern=STATE_PATTERN, min_length=1, max_length=400, description="The state it is about."
    )
    blocks: bool = Field(default=False, description="An issue: stop the run until it is resolved.")
    key: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_KEY,
        description="Your id of it: the same call again adds none.",
    )
    lease_token: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="A milestone: of the lease to renew, if agent_id does not hold it.",
        json_schema_extra=UNLISTED,
    )


class JournalEntryAdded(Answer):
    """The entry's id, and how many more the journal takes; of a milestone until when the lease is renewed."""

    workflow_id: str | None = None
    entry: str | None = None
    kind: str | None = None
    at: str | None = None
    blocks: bool | None = None
    blocked_by: list[dict[str, Any]] = Field(default_factory=list)
    leased_until: str | None = None
    entries_left: int | None = None
    repeated: bool | None = None


@tool(
    toolset="journal",
    scope=Scope.WORK,
    profiles=("member",),
    arguments=AddJournalEntry,
    answer=JournalEntryAdded,
)
def add_journal_entry(app: Application, args: AddJournalEntry) -> JournalEntryAdded:
    """Add the entry."""
    wish = AddEntry(
        kind=EntryKind(args.kind),
        text=args.text,
        agent=args.agent_id,
        key=args.key or f"auto:{secrets.token_hex(16)}",
        state=args.state,
        token=args.lease_token,
        details=read_details(args.details_json),
        blocks=args.blocks,
        is_operator=Scope.OPERATE in current_caller().scopes,
    )
    added = app.journal.add_journal_entry(args.workflow_id, wish)
    if isinstance(added, Refusal):
        return refused(JournalEntryAdded, added, workflow_id=args.workflow_id)
    stopped = f" The run is blocked by {len(added.blocked_by)} issue(s)." if added.blocked_by else ""
    return JournalEntryAdded(
        status=f"The {args.kind} is in the journal.{stopped}",
        workflow_id=args.workflow_id,
        blocked_by=[one.as_json() for one in added.blocked_by],
        repeated=added.repeated,
        **shown_added(added),
    )


def read_details(value: JsonObject | None) -> dict[str, Json]:
    """Read the details of an entry: an object, or its JSON text."""
    found = {} if value is None else parse(value, name="details_json")
    if not isinstance(found, dict):
        raise InvalidArgument("details_json is not an object.", 'Send details_json as {"progress": 50}.')
    return found


class ReadJournal(Arguments):
    """Read the journal of a run, newest first. While has_more is true, call again with next_cursor."""

    workflow_id: WorkflowId
    kind: Kind | None = Field(default=None, description="Only of this kind.")
    agent: str | None = Field(
        default=None, min_length=1, max_length=64, description="Only by this agent.", json_schema_extra=UNLISTED
    )
    state: str | None = Field(
        default=None,
        pattern=STATE_PATTERN,
        min_length=1,
        max_length=400,
        description="Only about this state.",
        json_schema_extra=UNLISTED,
    )
    open: bool = Field(default=False, description="Only issues that nobody has resolved.")
    since: str | None = Field(default=None, max_length=40, description="Written since: 2h, or ISO 8601 with zone.")
    until: str | None = Field(default=None, max_length=40, description="Written before.", json_schema_extra=UNLISTED)
    oldest_first: bool = Field(default=False, description="Begin with the first.", json_schema_extra=UNLISTED)
    limit: int = Field(
        default=50, ge=1, le=LONGEST_PAGE, description="Entries of one page.", json_schema_extra=UNLISTED
    )
    cursor: str | None = Field(default=None, min_length=1, max_length=100, description="next_cursor, to go on.")


class JournalRead(Answer):
    """A page; it may be short, even empty, and go on. `matching` counts what one filter leaves, null for several."""

    workflow_id: str | None = None
    entries: list[dict[str, Any]] = Field(default_factory=list)
    matching: int | None = None
    has_more: bool = False
    next_cursor: str | None = None
    provenance: dict[str, Any] | None = None


@tool(
    toolset="journal",
    scope=Scope.READ,
    profiles=("member", "operator"),
    arguments=ReadJournal,
    answer=JournalRead,
    read_only=True,
)
def read_journal(app: Application, args: ReadJournal) -> JournalRead:
    """Read a page of the journal."""
    now = time.time_ns() // 1000
    query = JournalQuery(
        limit=args.limit,
        kind=kind_of(args.kind),
        agent=args.agent,
        state=args.state,
        open=args.open,
        since=check_time("since", args.since, now),
        until=check_time("until", args.until, now),
        oldest_first=args.oldest_first,
        cursor=check_cursor(args.cursor),
    )
    page = fitting(app.journal.read_journal(args.workflow_id, query), app.settings.max_result_bytes)
    of = "" if page.matching is None else f" of {page.matching}"
    return JournalRead(
        status=f"{len(page.entries)}{of} entries of run '{args.workflow_id}'.",
        workflow_id=args.workflow_id,
        provenance=marked("the agents of this run"),
        **page.as_json(),
    )


def fitting(page: JournalPage, max_bytes: int) -> JournalPage:
    """Return the page with as many entries as an answer has room for."""
    room = Room(max_bytes)
    for number, entry in enumerate(page.entries):
        if not room.takes(entry.as_json()):
            return replace(page, entries=page.entries[:number], next_cursor=page.entries[number - 1].place)
    return page


class ResolveIssueArguments(Arguments):
    """Resolve an issue of the journal, as a person, planner or operator; of one that does not block, also as author."""

    workflow_id: WorkflowId
    issue: str = Field(min_length=1, max_length=64, description="The entry's id.", examples=["j0123456789abcdef"])
    how: str = Field(max_length=LONGEST_HOW, description="What was done or decided.", examples=["It is EUR."])
    agent_id: AgentId | None = Field(default=None, description="Who resolves it.")
    reason: str | None = Field(
        default=None, max_length=LONGEST_REASON, description="Why, for the run's history.", json_schema_extra=UNLISTED
    )
    request_id: RequestId = None


class IssueResolved(Answer):
    """Who resolved it, what still blocks the run, and how many states' agents are told that they can go on."""

    workflow_id: str | None = None
    issue: str | None = None
    resolved_by: str | None = None
    run_status: str | None = None
    blocked_by: list[dict[str, Any]] = Field(default_factory=list)
    announced: int | None = None
    repeated: bool | None = None


@tool(
    toolset="journal",
    scope=Scope.READ,
    profiles=("member", "operator"),
    arguments=ResolveIssueArguments,
    answer=IssueResolved,
)
def resolve_issue(app: Application, args: ResolveIssueArguments) -> IssueResolved:
    """Resolve the issue, as a person (scope answer), the planner (plan), an operator, or its author (work)."""
    caller = current_caller()
    if not caller.scopes & _RESOLVERS:
        raise Forbidden("resolve_issue needs the scope 'answer', 'plan' or 'work'.", scope_hint(Scope.ANSWER))
    wish = ResolveIssue(
        issue=args.issue,
        how=args.how,
        by=args.agent_id or caller.agent_id or caller.name,
        may_any=_is_in_charge(app, args.workflow_id),
    )
    answer = app.journal.resolve_issue(args.workflow_id, wish, reason=args.reason, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(IssueResolved, answer, workflow_id=args.workflow_id, issue=args.issue)
    told = dict(answer.answer)
    left = len(told["blocked_by"])
    blocked = f"{left} more block the run" if left else "no issue blocks the run"
    return IssueResolved(
        status=f"Issue '{args.issue}' is resolved; {blocked}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **told,
    )


def _is_in_charge(app: Application, workflow_id: str) -> bool:
    """Return True if the caller may resolve any issue of the run: a person, its planner, or an operator."""
    caller, agent_id = current_caller(), bound_to()
    if caller.scopes & {Scope.OPERATE, Scope.ANSWER}:
        return True
    plans = agent_id is None or app.runs.read(workflow_id).planner_agent_id == agent_id
    return Scope.PLAN in caller.scopes and plans
