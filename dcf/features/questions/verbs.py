"""The verbs by which workers, planner and people tell each other something: notes, questions, answers."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final

from dcf.asl.tasks.askees import read_askees
from dcf.core.access.model import Scope
from dcf.errors import Forbidden, InvalidArgument
from dcf.features.questions.asking import DEFAULT_WAIT_S, LONGEST_WAIT_S, Ask, QuestionAnswer
from dcf.features.questions.model import LONGEST_ANSWER, LONGEST_TEXT
from dcf.features.questions.notes import Note
from dcf.features.questions.records import AnsweredQuestion, AskedQuestion, LeftNote
from dcf.values.json_text import Json, parse
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import wait_again
from dcf.verbs.answers.operated import operated
from dcf.verbs.callers import current_caller, groups_of_answerer, scope_hint
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, verb
from dcf.verbs.description.words import GroupName, LeaseToken, Person, RequestId, RequiredPerson, RunId, StateName

if TYPE_CHECKING:
    from dcf.application.application import Application

PLANNER: Final = "planner"


def _noted(answer: Mapping[str, Json]) -> str:
    planner = answer["planner_agent_id"]
    where = "the run has no planner" if planner is None else f"'{planner}' is told"
    return f"The note is in the history; {where}."


@verb(
    toolset="execution",
    scope="work",
    lists=("worker", "planner", "operator"),
    says=_noted,
    codes=("unknown_run", "unknown_state", "run_over", "no_part", "too_many"),
    command=Command(
        name="runs note",
        summary="Leave a note for the planner of a run: in the run's history, and in the planner's inbox.",
        example='dcf runs note order-42 "the customer called: no hurry" --as alice',
        show="dcf.cli.features.questions:show_note",
    ),
)
def leave_note(
    on: "Application",
    workflow_id: RunId,
    text: Annotated[
        str,
        Argument(
            means="The note.",
            plain=True,
            example="Two orders have no address.",
            max_length=LONGEST_TEXT,
            spelling="What to tell.",
        ),
    ],
    *,
    agent_id: Annotated[
        RequiredPerson,
        Argument(means="Your agent id.", spelling="Your name; default: your user name on this machine."),
    ],
    state: Annotated[
        StateName | None,
        Argument(means="The state it is about.", plain=True, spelling="The state that it is about.", option="--state"),
    ] = None,
    request_id: RequestId = None,
) -> Answered[LeftNote] | Refusal:
    """Tell the run's planner what is no result, such as what you found odd. It needs no answer."""
    may = Scope.OPERATE in current_caller().scopes
    note = Note(text=text, by=agent_id, state=state, is_operator=may)
    return operated(LeftNote, workflow_id, on.talking.leave_note(workflow_id, note, request_id=request_id))


@verb(
    toolset="execution",
    scope="work",
    lists=("worker",),
    says=lambda answer: f"Question {answer['question_id']} waits for an answer of {answer['asked']}.",
    codes=("unknown_run", "unknown_state", "lease_lost", "lease_expired", "run_over", "too_many"),
    command=Command(
        name="tasks ask",
        summary="""Ask the planner or people, as the holder of a state; the state is released until the answer is
        there.
        """,
        example="dcf tasks ask order-42 Price lease-1f EUR-or-USD? --choice EUR --choice USD",
        show="dcf.cli.features.questions:show_question",
    ),
)
def ask_question(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    lease_token: LeaseToken,
    question: Annotated[
        str,
        Argument(
            means="The question, whole.",
            plain=True,
            example="EUR or USD?",
            max_length=LONGEST_TEXT,
            spelling="What to ask.",
        ),
    ],
    *,
    choices: Annotated[
        Sequence[str],
        Argument(
            means='Possible answers: ["EUR", "USD"].',
            spelling="A possible answer; may be repeated. Else any text.",
            form="texts",
            tool="choices_json",
            option="--choice",
        ),
    ] = (),
    ask: Annotated[
        Any,
        Argument(
            means='"planner", or people: ["alice", {"group": "finance"}].',
            spelling="A person, or group:NAME; may be repeated. Else the planner.",
            form="askees",
            option="--to",
        ),
    ] = PLANNER,
    give_back: Annotated[
        bool,
        Argument(
            means="False: keep the lease.",
            spelling="Keep the lease, in place of giving the state back.",
            option="--give-back/--keep",
            listed=False,
        ),
    ] = True,
    timeout_s: Annotated[
        int,
        Argument(
            means="Seconds after which you are notified of a missing answer.",
            spelling="Seconds after which it is given up; a day.",
            ge=1,
            le=LONGEST_WAIT_S,
            option="--timeout",
            listed=False,
        ),
    ] = DEFAULT_WAIT_S,
    request_id: RequestId = None,
) -> Answered[AskedQuestion] | Refusal:
    """Ask the planner or people what you cannot decide. The state is released until the answer comes.

    Then `await_workflow_event` brings it again, with `questions`.
    """
    wish = Ask(
        state=state,
        token=lease_token,
        text=question,
        choices=tuple(dict.fromkeys(choices)),
        to=None if ask == PLANNER else read_askees(_named(ask), "ask"),
        give_back=give_back,
        timeout_s=timeout_s,
    )
    done = on.talking.ask_question(workflow_id, wish, request_id=request_id)
    if isinstance(done, Refusal):
        return done
    answer = dict(done.answer)
    asked_by = answer.pop("asked_by")
    lease = "the state is given back until then" if give_back else "you still hold the state: renew its lease"
    return Answered(
        AskedQuestion,
        {"workflow_id": workflow_id, "repeated": done.repeated, **answer},
        says=f"Question {answer['question_id']} waits for an answer of {answer['asked']}; {lease}.",
        next=(wait_again(asked_by),),
    )


def _named(value: Json) -> Json:
    """Return whom a question is for; an array or object may come as JSON text."""
    is_json = isinstance(value, str) and value.lstrip()[:1] in ("[", "{")
    return parse(value, name="ask") if is_json else value


@verb(
    toolset="people",
    scope="read",
    lists=("planner", "operator", "person"),
    says=lambda answer: f"'{answer['asked_by']}' is told the answer of '{answer['answered_by']}'.",
    codes=("unknown_run", "unknown_question", "not_asked", "already_answered", "question_closed", "invalid_answer"),
    command=Command(
        name="tasks reply",
        summary="Answer a question of a worker; the first answer counts. `dcf inbox` lists what waits for an answer.",
        example="dcf tasks reply order-42 q1 EUR --as alice",
        show="dcf.cli.features.questions:show_reply",
    ),
    page=PageAction(
        title="Answer the question",
        effect="The agent that asked gets this answer.",
        form=("comment", "agent_id", "group"),
        scopes=("plan", "answer"),
    ),
)
def answer_question(
    on: "Application",
    workflow_id: RunId,
    question_id: Annotated[
        str,
        Argument(
            means="As in the event.",
            example="q1",
            max_length=20,
            spelling="Its id, as `dcf inbox RUN` and `dcf why RUN` show it: q1.",
        ),
    ],
    answer: Annotated[
        str,
        Argument(
            means="One of its choices, or a text.",
            example="EUR",
            max_length=LONGEST_ANSWER,
            spelling="One of its choices, or any text where it has none.",
            label="Answer",
        ),
    ],
    *,
    comment: Annotated[
        str | None,
        Argument(
            means="More, beside a choice.",
            max_length=LONGEST_ANSWER,
            spelling="More, in addition to the answer.",
            short="-m",
            label="Comment",
        ),
    ] = None,
    agent_id: Annotated[
        Person,
        Argument(
            means="Who answers; default: the planner.",
            spelling="Name of the person; default: your user name on this machine.",
            label="Who you are (agent id)",
        ),
    ] = None,
    group: Annotated[GroupName, Argument(means="A group of people.", label="Group that you answer for")] = None,
    request_id: RequestId = None,
) -> Answered[AnsweredQuestion] | Refusal:
    """Answer a worker's question (an event of type question). The first answer counts."""
    reply = _reply(on, workflow_id, question_id, answer, comment=comment, agent_id=agent_id, group=group)
    return operated(
        AnsweredQuestion, workflow_id, on.talking.answer_question(workflow_id, reply, request_id=request_id)
    )


def _reply(
    on: "Application",
    workflow_id: str,
    question_id: str,
    answer: str,
    *,
    comment: str | None,
    agent_id: str | None,
    group: str | None,
) -> QuestionAnswer:
    caller = current_caller()
    may_plan, is_person = Scope.PLAN in caller.scopes, Scope.ANSWER in caller.scopes
    if not (may_plan or is_person):
        raise Forbidden("`answer_question` needs the scope 'plan' or 'answer'.", scope_hint(Scope.ANSWER))
    name = agent_id or (on.runs.read(workflow_id).planner_agent_id if may_plan else None)
    if name is None:
        raise InvalidArgument("Nobody is named who answers.", "Pass who answers as `agent_id`.")
    return QuestionAnswer(
        question_id=question_id,
        answer=answer,
        by=name,
        comment=comment,
        groups=groups_of_answerer(group),
        is_person=is_person,
        may_plan=may_plan,
    )


add_tools(__name__)
