"""The tools that tell why a run does not move and what happened in it. They parse arguments, call, and show."""

import time
from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.provenance import marked
from dcf.core.listing.events import EventQuery, check_cursor, check_moment
from dcf.verbs.answers.paging import Cursor, Limit, Room
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import STATE_PATTERN, Answer, Arguments, JsonArray, WorkflowId, printable, read_names, tool


class ExplainRun(Arguments):
    """Explain why a run does not move: call this when it takes longer than expected.

    Each finding has a cause, a sentence, the facts behind it, since when, and what helps: a command and a tool call.
    With no finding nothing holds it up. With state it explains that state, also one that waits for others.
    """

    workflow_id: WorkflowId
    state: str | None = Field(
        default=None, pattern=STATE_PATTERN, min_length=1, max_length=400, description="Only this state; default: all."
    )


class RunExplained(Answer):
    """What holds the run up, what is stuck first; `stuck` is true where somebody has to do something."""

    workflow_id: str | None = None
    run_status: str | None = None
    stuck: bool | None = None
    at: str | None = None
    findings: list[dict[str, Any]] = Field(default_factory=list)
    unread_states: int | None = None
    provenance: dict[str, Any] | None = None


@tool(
    toolset="operations",
    scope=Scope.READ,
    profiles=("planner", "member", "operator"),
    arguments=ExplainRun,
    answer=RunExplained,
    read_only=True,
)
def explain_run(app: Application, args: ExplainRun) -> RunExplained:
    """Explain a run."""
    found = app.diagnosis.explain(args.workflow_id, args.state)
    first = found.findings[0].sentence if found.findings else "Nothing holds it up."
    return RunExplained(
        status=printable(f"Run '{args.workflow_id}' is {found.as_json()['run_status']}. {first}"),
        provenance=marked("the agents of this run"),
        **found.as_json(),
    )


class ReadRunEvents(Arguments):
    """Read what happened in a run, in order: who took which state when, what failed, who was told.

    Filter by state, type and time. Where next_cursor is set there may be more events: call again with it as cursor.
    """

    workflow_id: WorkflowId
    states_json: JsonArray | None = Field(
        default=None, description='Only these states, by path, or by name wherever they are: ["A", "Each/17/B"].'
    )
    types_json: JsonArray | None = Field(
        default=None, description='Only these types: ["LeaseAcquired", "StateFailed"].'
    )
    since: str | None = Field(default=None, max_length=40, description="Only from then on: 2h, or ISO 8601 with zone.")
    until: str | None = Field(default=None, max_length=40, description="Only up to this time.")
    newest_first: bool = Field(default=False, description="Begin with the latest event.")
    cursor: Cursor = None
    limit: Limit = 100


class RunEventsRead(Answer):
    """Events in the order asked for; `next_cursor` is set where there may be more."""

    workflow_id: str | None = None
    events: list[dict[str, Any]] = Field(default_factory=list)
    next_cursor: str | None = None
    provenance: dict[str, Any] | None = None


@tool(
    toolset="operations",
    scope=Scope.READ,
    profiles=("planner", "operator"),
    arguments=ReadRunEvents,
    answer=RunEventsRead,
    read_only=True,
)
def read_run_events(app: Application, args: ReadRunEvents) -> RunEventsRead:
    """Read a page of a run's history."""
    now = time.time_ns() // 1000
    query = EventQuery(
        states=frozenset(() if args.states_json is None else read_names(args.states_json, name="states_json")),
        types=frozenset(() if args.types_json is None else read_names(args.types_json, name="types_json")),
        since=check_moment("since", args.since, now),
        until=check_moment("until", args.until, now),
        newest_first=args.newest_first,
    )
    room, cursor = Room(app.settings.max_result_bytes), check_cursor(args.cursor)
    page = app.histories.page(
        args.workflow_id, query, cursor=cursor, limit=args.limit, fits=lambda one: room.takes(one.as_json())
    )
    more = "; there may be more" if page.next_cursor is not None else ""
    return RunEventsRead(
        status=f"{len(page.events)} events of run '{args.workflow_id}'{more}.",
        workflow_id=args.workflow_id,
        provenance=marked("the agents of this run"),
        **page.as_json(),
    )


class ExportRun(Arguments):
    """Export a run for reading elsewhere: workflow, documents and history, in pages; `dcf export` makes a file of it.

    The first page has the run as a whole (head), the pages after it states, ended ones inside Map and Parallel too,
    events, journal, artifacts. Call again with next_cursor as cursor until there is none. Lease tokens are hidden.
    """

    workflow_id: WorkflowId
    cursor: Cursor = None
    limit: Limit = 1000


class RunExported(Answer):
    """A page of an export. The pages together are what `dcf export` writes."""

    workflow_id: str | None = None
    head: dict[str, Any] | None = None
    states: dict[str, dict[str, Any]] = Field(default_factory=dict)
    events: list[dict[str, Any]] = Field(default_factory=list)
    journal: list[dict[str, Any]] = Field(default_factory=list)
    artifacts: list[dict[str, Any]] = Field(default_factory=list)
    next_cursor: str | None = None
    provenance: dict[str, Any] | None = None


@tool(
    toolset="operations",
    scope=Scope.READ,
    profiles=("operator",),
    arguments=ExportRun,
    answer=RunExported,
    read_only=True,
)
def export_run(app: Application, args: ExportRun) -> RunExported:
    """Export a page of a run; the first one is noted in the audit trail."""
    page = app.exports.page(args.workflow_id, args.cursor, args.limit, Room(app.settings.max_result_bytes).takes)
    if args.cursor is None:
        app.refusals.exported(current_caller().name, "export_run", args.workflow_id)
    more = "; there is more" if page.next_cursor is not None else ""
    return RunExported(
        status=f"{len(page.states)} states and {len(page.events)} events of run '{args.workflow_id}'{more}.",
        workflow_id=args.workflow_id,
        provenance=marked("the agents of this run"),
        **page.as_json(),
    )
