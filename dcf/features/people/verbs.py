"""The verbs with which people are asked and answer: the list of what waits for them, and an answer to a task."""

from collections.abc import Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Annotated, Final

from dcf.core.documents.operations import LONGEST_REQUEST_ID
from dcf.errors import InvalidArgument
from dcf.features.people.answering import LONGEST_COMMENT, Answerer, HumanAnswer
from dcf.features.people.listing import HumanTaskQuery, read_inbox_place
from dcf.features.people.records import AnsweredTask, ListedTasks
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import current_caller, groups_of_answerer
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, verb
from dcf.verbs.description.words import ID, Cursor, GroupName, JsonValue, Limit, Person, ProjectId, RunId, StateName

if TYPE_CHECKING:
    from dcf.application.application import Application

_CHOOSE: Final = "Ask them, and pass what they say as choice; `list_human_tasks` shows the choices."
_READ: Final = "dcf.cli.features.people:shown_before"
_SHOWN: Final = "dcf.cli.features.people:show_answer"


def _waiting(answer: Mapping[str, Json]) -> str:
    number = len(answer["tasks"])
    return "1 thing waits for people." if number == 1 else f"{number} things wait for people."


@verb(
    toolset="people",
    scope="read",
    lists=("planner", "operator", "person"),
    effect="reads",
    says=_waiting,
    codes=("unknown_run", "unknown_state"),
    command=Command(
        name="inbox",
        summary="""List what waits for people: tasks, questions, verdicts, blocking issues; with RUN what waits in it,
        with STATE one task and how to answer it.

        A page may be short or empty with more to come: --cursor with the next_cursor of the answer before.
        """,
        example="dcf inbox --for alice --group finance",
        show="dcf.cli.features.people:show_inbox",
    ),
    pages="tasks",
    in_refusals={"tasks": []},
    about_others=True,
)
def list_human_tasks(
    on: "Application",
    workflow_id: Annotated[RunId | None, Argument(means="Only those of this run.")] = None,
    state: Annotated[
        StateName | None,
        Argument(means="Only this state of the run, whole.", spelling="Only this state of the run, whole."),
    ] = None,
    *,
    person: Annotated[
        str | None,
        Argument(
            means="Only those that this person may answer; your own id for yours.",
            tool="agent_id",
            was="person",
            pattern=ID,
            option="--for",
            spelling="Only what this person may answer.",
        ),
    ] = None,
    group: Annotated[
        GroupName, Argument(means="A group of people.", spelling="Only what this group may answer.", plain=True)
    ] = None,
    project: Annotated[ProjectId | None, Argument(means="Only those of the project's runs.", listed=False)] = None,
    details: Annotated[
        bool, Argument(means="Each with its details, which may be long, as with state.", listed=False)
    ] = False,
    limit: Annotated[Limit, Argument(means="Items of one page; fewer come if they are large.", plain=True)] = 20,
    cursor: Annotated[
        Cursor, Argument(means="The next_cursor of the answer before.", plain=True, min_length=1, max_length=1300)
    ] = None,
) -> Answered[ListedTasks]:
    """Find what waits for people, of a run or of a person: tasks, questions, verdicts, issues that block runs.

    Give `workflow_id` and `state` to see a task's details. A page may be short or empty with more to come: call again
    with next_cursor until it is null.
    """
    if state is not None and workflow_id is None:
        raise InvalidArgument("A state is looked for in a run.", "Give `workflow_id` as well.")
    caller = current_caller()
    own = caller.groups if person is not None and person == caller.agent_id else frozenset[str]()
    path = None if state is None else on.control_plane.place(workflow_id or "", state).path
    query = HumanTaskQuery(
        limit=limit,
        person=person,
        groups=tuple(sorted(own | ({group} if group else set()))),
        run=workflow_id,
        state=path,
        project=project,
    )
    page = on.people_inbox.page(query, read_inbox_place(cursor), whole=details or path is not None)
    room, rows = Room(on.settings.max_result_bytes), [row for row, _ in page.rows]
    tasks = list(takewhile(room.takes, rows))
    ends_at = page.next_place if len(tasks) == len(rows) else page.rows[len(tasks) - 1][1]
    return Answered(ListedTasks, {"tasks": tasks, "next_cursor": None if ends_at is None else str(ends_at)})


def _answered(answer: Mapping[str, Json]) -> str:
    return (
        f"'{answer['answered_by']}' answered '{answer['state']}' of run '{answer['workflow_id']}': {answer['choice']}."
    )


@verb(
    toolset="people",
    scope="answer",
    lists=("operator", "person"),
    effect="destroys",
    says=_answered,
    codes=(
        "unknown_run",
        "unknown_state",
        "not_asked",
        "excluded",
        "already_answered",
        "invalid_answer",
        "conflict",
        "not_waiting",
        "output_invalid",
    ),
    command=Command(
        name="approve",
        summary="""Answer a task of a run with approve. The first answer counts; the run's history says who
        answered.

        The answer is about the task that you read: name its visit with --epoch. Without it the command shows the task
        on a terminal, and asks. If the state was entered again by then, the answer is refused (conflict).
        """,
        example='dcf approve order-42 Approve --as alice --comment "the total is right"',
        show=_SHOWN,
        before=_READ,
        fixed={"choice": "approve"},
    ),
    also=(
        Command(
            name="tasks reject",
            summary="Answer a task of a run with reject, and say why with --comment. An output at a gate is sent back.",
            show=_SHOWN,
            before=_READ,
            fixed={"choice": "reject"},
        ),
        Command(
            name="tasks answer",
            summary="Answer a task of a run with one of its choices.",
            show=_SHOWN,
            before=_READ,
            positional=("choice",),
        ),
    ),
    page=PageAction(
        title="Answer the task",
        effect="The task ends with this answer, and the run goes on.",
        form=("epoch", "choice", "answer", "comment", "agent_id", "group"),
        is_grave=False,
    ),
    in_refusals={"next_states": ()},
)
def answer_human_task(
    on: "Application",
    workflow_id: RunId,
    state: StateName,
    choice: Annotated[
        str | None,
        Argument(
            means="One of the task's choices. Left out, the person is asked, where your client can.",
            example="approve",
            spelling="One of the choices that `dcf inbox RUN STATE` shows.",
            min_length=1,
            max_length=64,
            label="Choice",
        ),
    ] = None,
    *,
    comment: Annotated[
        str | None,
        Argument(means="Why; some choices need it.", max_length=LONGEST_COMMENT, short="-m", label="Comment"),
    ] = None,
    answer: Annotated[
        JsonValue,
        Argument(
            means="What the task's schema asks for: JSON, or JSON text.",
            spelling="Values that the task's schema requires: JSON text, a file, or -.",
            form="json",
            bytes_setting="max_output_bytes",
            tool="answer_json",
            label="Answer, as JSON",
        ),
    ] = MISSING,
    agent_id: Annotated[
        Person,
        Argument(
            means="The person who answers; a key that is bound to one needs it not.",
            spelling="Name of the person; default: your user name on this machine.",
            label="Who you are (agent id)",
        ),
    ] = None,
    group: Annotated[
        GroupName,
        Argument(means="The group that they answer for, where the key names none.", label="Group that you answer for"),
    ] = None,
    epoch: Annotated[
        int | None,
        Argument(
            means="Only if the state still has this epoch, as the list shows.",
            spelling="Of the visit that you read, as `dcf inbox RUN STATE` shows it; on a terminal it may be left out.",
            ge=10**15,
            le=2**53,
        ),
    ] = None,
    request_id: Annotated[
        str | None,
        Argument(
            means="An id of your own for this request: repeated with it, the call is applied once.",
            min_length=1,
            max_length=LONGEST_REQUEST_ID,
            form="request",
        ),
    ] = None,
) -> Answered[AnsweredTask] | Refusal:
    """Answer a task that waits for a person: with approve, reject, or another of its choices. The first answer counts.

    Callers that are not asked, or must not answer it, are refused. Never answer for a person who did not say so.
    """
    if choice is None:
        raise InvalidArgument("Nobody chose: the person was not asked, or did not answer.", _CHOOSE)
    reply = HumanAnswer(
        state=state,
        choice=choice,
        by=_answerer(agent_id, group),
        comment=comment,
        answer=None if answer is MISSING else answer,
        epoch=epoch,
    )
    done = on.people.answer_human_task(workflow_id, reply, request_id=request_id)
    if isinstance(done, Refusal):
        return done
    members = {"workflow_id": workflow_id, "repeated": done.repeated, **done.answer}
    return Answered(AnsweredTask, members, says=_answered({**members, "state": state}))


def _answerer(agent_id: str | None, group: str | None) -> Answerer:
    """Return who answers. A key bound to a person stands for that person and the groups that it names."""
    if agent_id is None:
        raise InvalidArgument("Nobody is named who answers.", "Pass the id of the person as `agent_id`.")
    return Answerer(name=agent_id, groups=groups_of_answerer(group), key=current_caller().name)


add_tools(__name__)
