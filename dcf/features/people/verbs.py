"""Tools with which people are asked and answer: the list of open human tasks, and an answer to one."""

from itertools import takewhile
from typing import Annotated, Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.operations import LONGEST_REQUEST_ID
from dcf.errors import InvalidArgument
from dcf.features.people.answering import LONGEST_COMMENT, Answerer, HumanAnswer
from dcf.features.people.listing import HumanTaskQuery, read_place
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import Limit, Room
from dcf.verbs.callers import current_caller, groups_of_answerer
from dcf.verbs.registry import ID_PATTERN, AgentId, Answer, Arguments, ProjectId, StateName, WorkflowId, refused, tool
from dcf.verbs.unlisted import UNLISTED

_CHOOSE: Final = "Ask them, and pass what they say as choice; list_human_tasks with the state shows the choices."

Group = Annotated[str | None, Field(pattern=ID_PATTERN, description="A group of people.")]


class ListHumanTasks(Arguments):
    """Find tasks that wait for people, oldest first: those that a person or a group may answer, or those of a run.

    Give workflow_id and state to see a task's details. A page may be short, even empty, and go on: call again with
    next_cursor until it is null.
    """

    person: str | None = Field(
        default=None, pattern=ID_PATTERN, description="Only those that this person may answer; your own id for yours."
    )
    group: Group = None
    workflow_id: WorkflowId | None = Field(default=None, description="Only those of this run.")
    state: StateName | None = Field(default=None, description="Only this state of the run, whole.")
    project: ProjectId | None = Field(
        default=None, description="Only those of the project's runs.", json_schema_extra=UNLISTED
    )
    limit: Limit = 20
    cursor: str | None = Field(
        default=None, min_length=1, max_length=1300, description="To go on: next_cursor of the answer before."
    )


class HumanTasksListed(Answer):
    """Open tasks; `epoch` names the visit of the state, for answer_human_task."""

    tasks: list[dict[str, Any]] = Field(default_factory=list)
    next_cursor: str | None = None


@tool(
    toolset="people",
    scope=Scope.READ,
    profiles=("planner", "operator", "person"),
    arguments=ListHumanTasks,
    answer=HumanTasksListed,
    read_only=True,
)
def list_human_tasks(app: Application, args: ListHumanTasks) -> HumanTasksListed:
    """List open human tasks."""
    if args.state is not None and args.workflow_id is None:
        raise InvalidArgument("A state is looked for in a run.", "Give workflow_id as well.")
    caller = current_caller()
    own = caller.groups if args.person is not None and args.person == caller.agent_id else frozenset[str]()
    state = None if args.state is None else app.control_plane.place(args.workflow_id or "", args.state).path
    query = HumanTaskQuery(
        limit=args.limit,
        person=args.person,
        groups=tuple(sorted(own | ({args.group} if args.group else set()))),
        run=args.workflow_id,
        state=state,
        project=args.project,
        place=read_place(args.cursor),
    )
    page = app.people.list_human_tasks(query)
    room, found = Room(app.settings.max_result_bytes), [row.as_json(whole=state is not None) for row in page.rows]
    shown = list(takewhile(room.takes, found))
    ends_at = page.next_place if len(shown) == len(found) else page.rows[len(shown) - 1].place
    return HumanTasksListed(
        status="1 task waits for people." if len(shown) == 1 else f"{len(shown)} tasks wait for people.",
        tasks=shown,
        next_cursor=None if ends_at is None else str(ends_at),
    )


class AnswerHumanTask(Arguments):
    """Answer a task that waits for a person: with approve, reject, or another of its choices. The first answer counts.

    It is refused to those who are not asked, or must not answer it. Never answer for a person who did not say so.
    """

    workflow_id: WorkflowId
    state: StateName
    choice: str | None = Field(
        default=None,
        min_length=1,
        max_length=64,
        description="One of the task's choices. Left out, the person is asked, where your client can.",
        examples=["approve"],
    )
    comment: str | None = Field(default=None, max_length=LONGEST_COMMENT, description="Why; some choices need it.")
    answer_json: Any = Field(default=None, description="What the task's schema asks for: JSON, or JSON text.")
    agent_id: AgentId | None = Field(
        default=None, description="The person who answers; a key that is bound to one needs it not."
    )
    group: Group = Field(default=None, description="The group that they answer for, where the key names none.")
    epoch: int | None = Field(
        default=None, ge=10**15, le=2**53, description="Only if the state still has this epoch, as the list told."
    )
    request_id: str | None = Field(
        default=None,
        min_length=1,
        max_length=LONGEST_REQUEST_ID,
        description="An id of your own for this request: repeated with it, the call is applied once.",
    )


class HumanTaskAnswered(Answer):
    """What was answered, by whom, and how the run goes on. `repeated`: this is the first answer to the same request."""

    workflow_id: str | None = None
    state: str | None = None
    state_status: str | None = None
    run_status: str | None = None
    next_states: list[str] = Field(default_factory=list)
    choice: str | None = None
    answered_by: str | None = None
    repeated: bool | None = None
    problems: list[dict[str, Any]] | None = None

    only_when_set = ("problems",)


@tool(
    toolset="people",
    scope=Scope.ANSWER,
    profiles=("operator", "person"),
    arguments=AnswerHumanTask,
    answer=HumanTaskAnswered,
    destructive=True,
)
def answer_human_task(app: Application, args: AnswerHumanTask) -> HumanTaskAnswered:
    """Answer a human task."""
    if args.choice is None:
        raise InvalidArgument("Nobody chose: the person was not asked, or did not answer.", _CHOOSE)
    reply = HumanAnswer(
        state=args.state,
        choice=args.choice,
        by=_answerer(args),
        comment=args.comment,
        answer=None if args.answer_json is None else _answer(app, args.answer_json),
        epoch=args.epoch,
    )
    answer = app.people.answer_human_task(args.workflow_id, reply, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(HumanTaskAnswered, answer, workflow_id=args.workflow_id, state=args.state)
    told = dict(answer.answer)
    return HumanTaskAnswered(
        status=f"'{told['answered_by']}' answered '{args.state}' of run '{args.workflow_id}': {told['choice']}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **told,
    )


def _answer(app: Application, given: Json) -> Json:
    return parse(given, name="answer_json", max_bytes=app.settings.max_output_bytes)


def _answerer(args: AnswerHumanTask) -> Answerer:
    """Return who answers. A key bound to a person stands for that person and the groups that it names."""
    caller = current_caller()
    if args.agent_id is None:
        raise InvalidArgument("Nobody is named who answers.", "Pass the id of the person as agent_id.")
    groups = groups_of_answerer(args.group)
    return Answerer(name=args.agent_id, groups=groups, key=caller.name)
