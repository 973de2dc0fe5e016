"""The tool that finds work across runs, and claims the next piece. It only parses, calls, and formats the answer."""

from itertools import takewhile
from typing import Annotated, Any, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.codec import write_lease
from dcf.core.leasing import lease
from dcf.errors import InvalidArgument
from dcf.features.work.grant_storage import Asker
from dcf.features.work.listing import LONGEST_PAGE, WorkItem, WorkQuery, WorkStatus, read_work_place
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import wait_again
from dcf.verbs.answers.paging import Room
from dcf.verbs.answers.work import steps_of, work_shown
from dcf.verbs.callers import current_caller, require
from dcf.verbs.lease_tokens import new_token
from dcf.verbs.registry import ID_PATTERN, Answer, Arguments, ProjectId, Ttl, WholeInput, WorkflowId, refused, tool
from dcf.verbs.unlisted import UNLISTED


class FindWork(Arguments):
    """Find work across all runs: what you hold and what is ready for you, the oldest run first; with claim take one.

    A page may be short, even empty, and go on: call again with next_cursor until it is null.
    """

    agent_id: str | None = Field(
        default=None, pattern=ID_PATTERN, description="Your agent id; leave out to see everybody's."
    )
    claim: bool = Field(default=False, description="Lease the first ready one, as `work`.")
    status: Literal["ready", "running", "review", "blocked", "done"] | None = Field(
        default=None, description="Default: all that is open."
    )
    project: ProjectId | None = Field(default=None, description="Only runs of this project.")
    workflow: str | None = Field(
        default=None,
        min_length=1,
        max_length=400,
        description="Only runs of the workflow of this name.",
        json_schema_extra=UNLISTED,
    )
    workflow_id: WorkflowId | None = Field(default=None, description="Only this run.")
    skill: str | None = Field(default=None, min_length=1, max_length=200, description="Only what asks for this skill.")
    limit: Annotated[int, Field(ge=1, le=LONGEST_PAGE, description="Items of one page.")] = 20
    cursor: str | None = Field(default=None, min_length=1, max_length=100, description="next_cursor of the answer.")
    lease_ttl_s: Ttl = Field(default=300, json_schema_extra=UNLISTED)
    request_id: str | None = Field(
        default=None, min_length=1, max_length=200, description="To repeat a claim whose answer was lost: the same."
    )
    whole_input: WholeInput = False


class WorkFound(Answer):
    """`items` of a page; or, with claim, the leased state as `work`.

    Until a call has its lease_token, the same caller's same claim gets the same work: the answer may have been lost.
    """

    items: list[dict[str, Any]] | None = None
    next_cursor: str | None = None
    workflow_id: str | None = None
    state: str | None = None
    lease: dict[str, Any] | None = None
    work: dict[str, Any] | None = None

    only_when_set = ("items", "next_cursor", "workflow_id", "state", "lease", "work")


@tool(
    toolset="execution",
    scope=Scope.READ,
    profiles=("member",),
    arguments=FindWork,
    answer=WorkFound,
    idempotent=False,
    of_no_run=True,
)
def find_work(app: Application, args: FindWork) -> WorkFound:
    """Find work, or claim the next piece."""
    if args.workflow_id is not None:
        app.control_plane.run(args.workflow_id)
    if args.claim:
        return _claimed(app, args)
    page = app.work.find_work(_query(args))
    room = Room(app.settings.max_result_bytes)
    shown = list(takewhile(room.takes, (item.as_json() for item in page.items)))
    if len(shown) < len(page.items):
        raise InvalidArgument("The page is too long for one answer.", "Ask with a smaller limit.")
    return WorkFound(
        status=_sentence(page.items),
        items=shown,
        next_cursor=None if page.next_place is None else str(page.next_place),
    )


def _claimed(app: Application, args: FindWork) -> WorkFound:
    require(Scope.WORK, "claim=true")
    if args.agent_id is None:
        raise InvalidArgument("Nobody can claim without a name.", "Give agent_id, your own.")
    if args.status not in {None, "ready"}:
        raise InvalidArgument("Only what is ready can be claimed.", "Leave status out.")
    wish = lease.Acquire(
        state="",
        owner=args.agent_id,
        token=new_token(),
        ttl_s=args.lease_ttl_s,
        first_term_s=args.lease_ttl_s if args.request_id is None else None,
    )
    found = app.work.claim_work(_query(args), wish, _asker(args, args.agent_id))
    if isinstance(found, Refusal):
        return refused(WorkFound, found, next=[wait_again(args.agent_id)])
    work = work_shown(app, found.workflow_id, found.leased, whole_input=args.whole_input)
    return WorkFound(
        status=found.leased.outcome,
        workflow_id=found.workflow_id,
        state=found.leased.state,
        lease=write_lease(found.leased.doc.lease),
        work=work,
        next=steps_of(work, args.agent_id),
    )


def _asker(args: FindWork, agent_id: str) -> Asker:
    """Return by what a repetition of this claim is known: without a request id, by its caller and its filters."""
    filters = ("find_work", args.project, args.workflow, args.workflow_id, args.skill)
    return Asker(agent_id=agent_id, request_id=args.request_id, caller=current_caller().name, filters=filters)


def _query(args: FindWork) -> WorkQuery:
    return WorkQuery(
        limit=args.limit,
        agent=args.agent_id,
        status=WorkStatus(args.status) if args.status is not None else WorkStatus.READY if args.claim else None,
        project=args.project,
        workflow=args.workflow,
        run=args.workflow_id,
        skill=args.skill,
        place=read_work_place(args.cursor),
    )


def _sentence(items: tuple[WorkItem, ...]) -> str:
    counts = {status: sum(item.status is status for item in items) for status in WorkStatus}
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return f"Found {told}." if told else "Nothing was found on this page."
