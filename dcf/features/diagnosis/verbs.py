"""The verbs that tell why a run does not move, what happened in it, and all of it."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

from dcf.core.access.provenance import marked
from dcf.core.listing.events import EventQuery, check_cursor, check_moment
from dcf.features.diagnosis.records import ExplainedRun, RunEvents, RunExport
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import STATE, Cursor, Limit, RunId
from dcf.verbs.registry import printable

if TYPE_CHECKING:
    from dcf.application.application import Application

_WRITERS: Final = "the agents of this run"

Page = Annotated[Limit, Argument(means="Items of one page; fewer come if they are large.", plain=True)]
GoOn = Annotated[Cursor, Argument(means="The next_cursor of the answer before.", plain=True, pattern=STATE)]
Moment = Annotated[str | None, Argument(means="", max_length=40, form="moment")]


@verb(
    toolset="operations",
    scope="read",
    lists=("planner", "member", "operator"),
    effect="reads",
    says=lambda answer: f"Run '{answer['workflow_id']}' is {answer['run_status']}.",
    codes=("unknown_run", "unknown_state"),
    command=Command(name="why", function="dcf.cli.reading.why:why"),
    method="why",
    in_refusals={"findings": []},
)
def explain_run(
    on: "Application",
    workflow_id: RunId,
    state: Annotated[
        str | None, Argument(means="Only this state; default: all.", pattern=STATE, min_length=1, max_length=400)
    ] = None,
) -> Answered[ExplainedRun]:
    """Explain why a run does not move: call this when it takes longer than expected.

    Each finding has a cause, a sentence, the facts behind it, since when, and what helps, as a command and as a call.
    With no finding nothing holds it up. With `state` it explains that state, also if it waits for others.
    """
    explanation = on.diagnosis.explain(workflow_id, state)
    first = explanation.findings[0].sentence if explanation.findings else "Nothing holds it up."
    members = explanation.as_json()
    return Answered(
        ExplainedRun,
        {**members, "provenance": marked(_WRITERS)},
        printable(f"Run '{workflow_id}' is {members['run_status']}. {first}"),
    )


@verb(
    toolset="operations",
    scope="read",
    lists=("planner", "operator"),
    effect="reads",
    says=lambda answer: (
        f"{len(answer['events'])} events of run '{answer['workflow_id']}'"
        f"{'' if answer['next_cursor'] is None else '; there may be more'}."
    ),
    codes=("unknown_run",),
    command=Command(name="runs events", function="dcf.cli.reading.events:events"),
    method="events",
    pages="events",
    steps="dcf.client.steps.diagnosis:events",
    in_refusals={"events": []},
)
def read_run_events(
    on: "Application",
    workflow_id: RunId,
    *,
    states: Annotated[
        Sequence[str],
        Argument(
            means='Only these states, by path, or by name wherever they are: ["A", "Each/17/B"].',
            form="names",
            tool="states_json",
        ),
    ] = (),
    types: Annotated[
        Sequence[str],
        Argument(means='Only these types: ["LeaseAcquired", "StateFailed"].', form="names", tool="types_json"),
    ] = (),
    since: Annotated[Moment, Argument(means="Only from then on: 2h, or ISO 8601 with zone.")] = None,
    until: Annotated[Moment, Argument(means="Only up to this time.", listed=False)] = None,
    newest_first: Annotated[bool, Argument(means="Begin with the latest event.")] = False,
    cursor: GoOn = None,
    limit: Page = 100,
) -> Answered[RunEvents]:
    """Read the events of a run, in order: leases, failures, notifications.

    Where next_cursor is set there may be more events: call again with it as cursor.
    """
    now = time.time_ns() // 1000
    query = EventQuery(
        states=frozenset(states),
        types=frozenset(types),
        since=check_moment("since", since, now),
        until=check_moment("until", until, now),
        newest_first=newest_first,
    )
    room, last = Room(on.settings.max_result_bytes), check_cursor(cursor)
    page = on.histories.page(
        workflow_id, query, cursor=last, limit=limit, fits=lambda event: room.takes(event.as_json())
    )
    return Answered(RunEvents, {"workflow_id": workflow_id, "provenance": marked(_WRITERS), **page.as_json()})


@verb(
    toolset="operations",
    scope="read",
    for_programs=True,
    effect="reads",
    says=lambda answer: (
        f"{len(answer['states'])} states and {len(answer['events'])} events of run '{answer['workflow_id']}'"
        f"{'' if answer['next_cursor'] is None else '; there is more'}."
    ),
    codes=("unknown_run",),
    method="export",
    steps="dcf.client.steps.diagnosis:export",
    in_refusals={"states": {}, "events": [], "journal": [], "artifacts": []},
    command_by_hand="runs export",
)
def export_run(
    on: "Application", workflow_id: RunId, *, cursor: GoOn = None, limit: Page = 1000
) -> Answered[RunExport]:
    """Export a run for reading elsewhere: workflow, documents and history, in pages; `dcf runs export` makes a file.

    The first page has the run as a whole (head), the pages after it states, ended ones inside Map and Parallel too,
    events, journal, artifacts. Call again with next_cursor as cursor until there is none. Lease tokens are hidden.
    """
    page = on.exports.page(workflow_id, cursor, limit, Room(on.settings.max_result_bytes).takes)
    if cursor is None:
        on.refusals.exported(current_caller().name, "export_run", workflow_id)
    return Answered(RunExport, {"workflow_id": workflow_id, "provenance": marked(_WRITERS), **page.as_json()})


add_tools(__name__)
