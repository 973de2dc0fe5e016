"""Tools by which workers, planner and people tell each other something: notes, questions, answers."""

from typing import Any, Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.people.description import read_askees
from dcf.features.people.verbs import Group
from dcf.features.questions.asking import DEFAULT_WAIT_S, LONGEST_WAIT_S, Ask, QuestionAnswer
from dcf.features.questions.model import LONGEST_ANSWER, LONGEST_TEXT
from dcf.features.questions.notes import Note
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import wait_again
from dcf.verbs.callers import current_caller, groups_of_answerer, scope_hint
from dcf.verbs.registry import AgentId, Answer, Arguments, JsonArray, LeaseToken, StateName, WorkflowId, refused, tool
from dcf.verbs.run_requests import RequestId
from dcf.verbs.unlisted import UNLISTED

PLANNER: Final = "planner"


class LeaveNote(Arguments):
    """Tell the run's planner what is no result, such as what you found odd. Nobody waits for it."""

    workflow_id: WorkflowId
    agent_id: AgentId
    text: str = Field(max_length=LONGEST_TEXT, description="The note.", examples=["Two orders have no address."])
    state: StateName | None = Field(default=None, description="The state it is about.")
    request_id: RequestId = None


class NoteLeft(Answer):
    """The number of the note, how many more the run takes, and the planner that is told; null: only the history."""

    workflow_id: str | None = None
    note: int | None = None
    notes_left: int | None = None
    planner_agent_id: str | None = None
    repeated: bool | None = None


@tool(
    toolset="execution",
    scope=Scope.WORK,
    profiles=("worker", "planner", "operator"),
    arguments=LeaveNote,
    answer=NoteLeft,
)
def leave_note(app: Application, args: LeaveNote) -> NoteLeft:
    """Leave the note."""
    may = Scope.OPERATE in current_caller().scopes
    note = Note(text=args.text, by=args.agent_id, state=args.state, is_operator=may)
    answer = app.talking.leave_note(args.workflow_id, note, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(NoteLeft, answer, workflow_id=args.workflow_id)
    told = dict(answer.answer)
    where = "the run has no planner" if told["planner_agent_id"] is None else f"'{told['planner_agent_id']}' is told"
    return NoteLeft(
        status=f"The note is in the history; {where}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **told,
    )


class AskQuestion(Arguments):
    """Ask the planner or people what you cannot decide. The state is given back until the answer comes.

    Then wait with await_workflow_event; the work you get has `questions`. No attempt is counted.
    """

    workflow_id: WorkflowId
    state: StateName
    lease_token: LeaseToken
    question: str = Field(max_length=LONGEST_TEXT, description="The question, whole.", examples=["EUR or USD?"])
    choices_json: JsonArray | None = Field(default=None, description='Possible answers, as in ["EUR", "USD"].')
    ask: Any = Field(default=PLANNER, description='"planner", or people: ["alice", {"group": "finance"}].')
    give_back: bool = Field(default=True, description="False: keep the lease.", json_schema_extra=UNLISTED)
    timeout_s: int = Field(
        default=DEFAULT_WAIT_S,
        ge=1,
        le=LONGEST_WAIT_S,
        description="Seconds after which you are told that nobody answered.",
        json_schema_extra=UNLISTED,
    )
    request_id: RequestId = None


class QuestionAsked(Answer):
    """The question's id, whom it is for, and until when it waits."""

    workflow_id: str | None = None
    state: str | None = None
    question_id: str | None = None
    asked: str | None = None
    waits_until: str | None = None
    gave_back: bool | None = None
    repeated: bool | None = None


@tool(toolset="execution", scope=Scope.WORK, profiles=("worker",), arguments=AskQuestion, answer=QuestionAsked)
def ask_question(app: Application, args: AskQuestion) -> QuestionAsked:
    """Ask the question."""
    wish = Ask(
        state=args.state,
        token=args.lease_token,
        text=args.question,
        choices=() if args.choices_json is None else read_choices(args.choices_json),
        to=None if args.ask == PLANNER else read_askees(_named(args.ask), "ask"),
        give_back=args.give_back,
        timeout_s=args.timeout_s,
    )
    answer = app.talking.ask_question(args.workflow_id, wish, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(QuestionAsked, answer, workflow_id=args.workflow_id, state=args.state)
    told = dict(answer.answer)
    agent_id = told.pop("asked_by")
    lease = "the state is given back until then" if args.give_back else "you still hold the state: renew its lease"
    return QuestionAsked(
        status=f"Question {told['question_id']} waits for an answer of {told['asked']}; {lease}.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        next=[wait_again(agent_id)],
        **told,
    )


def read_choices(value: str | list[Any]) -> tuple[str, ...]:
    """Read the choices: an array of texts."""
    found = parse(value, name="choices_json")
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise InvalidArgument("choices_json is not an array of texts.", 'Send choices_json as ["yes", "no"].')
    return tuple(dict.fromkeys(found))


def _named(value: Json) -> Json:
    """Return whom a question is for; an array or object may come as JSON text."""
    is_json = isinstance(value, str) and value.lstrip()[:1] in ("[", "{")
    return parse(value, name="ask") if is_json else value


class AnswerQuestion(Arguments):
    """Answer a worker's question (an event of type question). The first answer counts."""

    workflow_id: WorkflowId
    question_id: str = Field(max_length=20, description="As in the event.", examples=["q1"])
    answer: str = Field(max_length=LONGEST_ANSWER, description="One of its choices, or a text.", examples=["EUR"])
    comment: str | None = Field(default=None, max_length=LONGEST_ANSWER, description="More, beside a choice.")
    agent_id: AgentId | None = Field(default=None, description="Who answers; default: the planner.")
    group: Group = None
    request_id: RequestId = None


class QuestionAnswered(Answer):
    """What was answered, by whom, and who asked."""

    workflow_id: str | None = None
    state: str | None = None
    question_id: str | None = None
    answer: str | None = None
    answered_by: str | None = None
    asked_by: str | None = None
    repeated: bool | None = None


@tool(
    toolset="people",
    scope=Scope.READ,
    profiles=("planner", "operator", "person"),
    arguments=AnswerQuestion,
    answer=QuestionAnswered,
)
def answer_question(app: Application, args: AnswerQuestion) -> QuestionAnswered:
    """Answer the question: the planner does with the scope plan, a person with the scope answer."""
    reply = _reply(app, args)
    answer = app.talking.answer_question(args.workflow_id, reply, request_id=args.request_id)
    if isinstance(answer, Refusal):
        return refused(QuestionAnswered, answer, workflow_id=args.workflow_id, question_id=args.question_id)
    told = dict(answer.answer)
    return QuestionAnswered(
        status=f"'{told['asked_by']}' is told the answer of '{told['answered_by']}'.",
        workflow_id=args.workflow_id,
        repeated=answer.repeated,
        **told,
    )


def _reply(app: Application, args: AnswerQuestion) -> QuestionAnswer:
    caller = current_caller()
    may_plan, is_person = Scope.PLAN in caller.scopes, Scope.ANSWER in caller.scopes
    if not (may_plan or is_person):
        raise Forbidden("answer_question needs the scope 'plan' or 'answer'.", scope_hint(Scope.ANSWER))
    name = args.agent_id or (app.runs.read(args.workflow_id).planner_agent_id if may_plan else None)
    if name is None:
        raise InvalidArgument("Nobody is named who answers.", "Pass who answers as agent_id.")
    return QuestionAnswer(
        question_id=args.question_id,
        answer=args.answer,
        by=name,
        comment=args.comment,
        groups=groups_of_answerer(args.group),
        is_person=is_person,
        may_plan=may_plan,
    )
