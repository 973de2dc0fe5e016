"""The verb that finds work across runs, and claims the next piece. It calls and describes."""

from collections import Counter
from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Any

from dcf.core.access.model import Scope
from dcf.core.documents.codec import write_lease
from dcf.core.leasing import lease
from dcf.errors import InvalidArgument
from dcf.features.work.askers import Asker
from dcf.features.work.listing import LONGEST_PAGE, WorkQuery, WorkStatus, read_work_place
from dcf.features.work.records import FoundWork, WorkStatusName
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import wait_again
from dcf.verbs.answers.paging import Room
from dcf.verbs.answers.work import steps_of, work_shown
from dcf.verbs.callers import calling_key, current_caller, require
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, RefusedWith, verb
from dcf.verbs.description.words import AgentId, LeaseTtl, OptionalRunId, PrintedCursor, ProjectId
from dcf.verbs.lease_tokens import new_token

if TYPE_CHECKING:
    from dcf.application.application import Application


def _said(answer: Mapping[str, Any]) -> str:
    counts = Counter(item["status"] for item in answer["items"])
    counted = ", ".join(f"{counts[status]} {status}" for status in WorkStatus if counts[status])
    return f"Found {counted}." if counted else "Nothing was found on this page."


@verb(
    toolset="execution",
    scope="read",
    lists=("assistant", "member"),
    is_repeatable=False,
    says=_said,
    codes=("unknown_run", "nothing_ready", "work_limit_reached", "account_closed"),
    command=Command(
        name="states ls",
        summary="""List the states of all runs: leased, ready or stuck.""",
        example="dcf states ls --agent pricing-1 --status ready",
        show="dcf.cli.features.work:show_work",
        fixed={"claim": False, "lease_ttl_s": 300, "request_id": None, "whole_input": False},
        assumes={"limit": 50},
    ),
    pages="items",
    steps="dcf.client.steps.work:find_work",
    of_no_run=True,
    only_when_set=("items", "next_cursor", "workflow_id", "state", "lease", "work"),
)
def find_work(
    on: "Application",
    agent_id: Annotated[
        AgentId,
        Argument(
            means="Your agent id; leave out to see everybody's.",
            spelling="The states that this agent holds, or may acquire.",
            option="--agent",
        ),
    ] = None,
    *,
    claim: Annotated[bool, Argument(means="Lease the first ready one, as `work`.")] = False,
    status: Annotated[
        WorkStatusName | None,
        Argument(means="Default: all that is open.", spelling="Only: ready, running, review, blocked, done."),
    ] = None,
    project: Annotated[ProjectId | None, Argument(means="Only runs of this project.")] = None,
    workflow: Annotated[
        str | None,
        Argument(means="Only runs of the workflow of this name.", min_length=1, max_length=400, listed=False),
    ] = None,
    workflow_id: Annotated[OptionalRunId, Argument(means="Only this run.", option="--run")] = None,
    skill: Annotated[
        str | None, Argument(means="Only what asks for this skill.", min_length=1, max_length=200, listed=False)
    ] = None,
    limit: Annotated[
        int,
        Argument(
            means="Items of one page.",
            plain=True,
            spelling="How many, the oldest run first; at most 200.",
            ge=1,
            le=LONGEST_PAGE,
        ),
    ] = 20,
    cursor: Annotated[PrintedCursor, Argument(means="next_cursor of the answer.", plain=True, min_length=1)] = None,
    lease_ttl_s: Annotated[LeaseTtl, Argument(means="", listed=False)] = 300,
    request_id: Annotated[
        str | None, Argument(means="To repeat a claim whose answer was lost: the same.", min_length=1, max_length=200)
    ] = None,
    whole_input: Annotated[bool, Argument(means="Never leave out a long input; for programs.", listed=False)] = False,
) -> Answered[FoundWork] | RefusedWith:
    """Find work across all runs: what you hold and what is ready for you, the oldest run first; with claim take one.

    A page may be short or empty with more to come: call again with next_cursor until it is null.
    """
    if workflow_id is not None:
        on.control_plane.run(workflow_id)
    chosen_status = WorkStatus(status) if status is not None else WorkStatus.READY if claim else None
    query = WorkQuery(
        limit=limit,
        agent=agent_id,
        status=chosen_status,
        project=project,
        workflow=workflow,
        run=workflow_id,
        skill=skill,
        place=read_work_place(cursor),
    )
    if not claim:
        return _page(on, query)
    require(Scope.WORK, "claim=true")
    if agent_id is None:
        raise InvalidArgument("Nobody can claim without a name.", "Give agent_id, your own.")
    if status not in {None, "ready"}:
        raise InvalidArgument("Only what is ready can be claimed.", "Leave status out.")
    wish = lease.Acquire(
        state="",
        owner=agent_id,
        token=new_token(),
        ttl_s=lease_ttl_s,
        first_term_s=lease_ttl_s if request_id is None else None,
        key=calling_key(),
    )
    return _claimed(on, query, wish, request_id=request_id, whole_input=whole_input)


def _page(on: "Application", query: WorkQuery) -> Answered[FoundWork]:
    page = on.work.find_work(query)
    room = Room(on.settings.max_result_bytes)
    shown = list(takewhile(room.takes, (item.as_json() for item in page.items)))
    if len(shown) < len(page.items):
        raise InvalidArgument("The page is too long for one answer.", "Ask with a smaller limit.")
    after = page.next_place
    return Answered(FoundWork, {"items": shown, "next_cursor": None if after is None else str(after)})


def _claimed(
    on: "Application", query: WorkQuery, wish: lease.Acquire, *, request_id: str | None, whole_input: bool
) -> Answered[FoundWork] | RefusedWith:
    claimed = on.work.claim_work(query, wish, _asker(query, wish.owner, request_id))
    if isinstance(claimed, Refusal):
        is_filtered = any((query.workflow, query.run, query.skill)) or query.project != current_caller().project
        return RefusedWith(claimed, {"next": [wait_again(wish.owner, unassigned=not is_filtered)]})
    leased = claimed.leased
    work = work_shown(on, claimed.workflow_id, leased, whole_input=whole_input)
    members = {
        "workflow_id": claimed.workflow_id,
        "state": leased.state,
        "lease": write_lease(leased.doc.lease),
        "work": work,
        "next": steps_of(work, wish.owner),
    }
    return Answered(FoundWork, members, says=leased.outcome)


def _asker(query: WorkQuery, agent_id: str, request_id: str | None) -> Asker:
    """Return by what a repetition of this claim is known: without a request id, by its caller and its filters."""
    filters = ("find_work", query.project, query.workflow, query.run, query.skill)
    return Asker(agent_id=agent_id, request_id=request_id, caller=current_caller().name, filters=filters)


add_tools(__name__)
