"""The commands for what workers, planner and people tell each other: note, ask, reply, correct. They call and print."""

from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import BEFORE, Reason, RequestId
from dcf.cli.features.people import As, Group, State, answerer
from dcf.cli.reading.views import say
from dcf.cli.text import clean, json_text

if TYPE_CHECKING:
    from dcf.core.documents.operations import RunAnswer
    from dcf.values.json_text import Json

Token = Annotated[str, typer.Argument(metavar="LEASE_TOKEN", help="The token of the lease on the state.")]

By = Annotated[str | None, typer.Option("--as", help="Who leaves it; your user name on this machine if left out.")]


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (note, ask, reply, correct):
        app.command()(command)


def note(
    run: RunArgument,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to tell.")],
    state: Annotated[str | None, typer.Option("--state", help="The state that it is about.")] = None,
    by: By = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Leave a note for the planner of a run: in the run's history, and in the planner's inbox.

    Example:  dcf note order-42 "the customer called: no hurry" --as alice
    """
    from dcf.features.questions.notes import Note

    with opening.application() as found, by_the_local_user():
        left = Note(text=text, by=answerer(by, None).name, state=state, is_operator=True)
        done = accepted(found.talking.leave_note(run, left, request_id=request_id), run)
    planner = done.answer["planner_agent_id"]
    told = f"{clean(planner)} is told" if planner is not None else "the run has no planner who would be told"
    _print(run, done, f"The note is in the history of {clean(run)}; {told}.", as_json=as_json)


def ask(
    run: RunArgument,
    state: State,
    lease_token: Token,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="What to ask.")],
    choice: Annotated[
        list[str] | None, typer.Option("--choice", help="What may be answered; may be repeated. Else any text.")
    ] = None,
    to: Annotated[
        list[str] | None, typer.Option("--to", help="A person, or group:NAME; may be repeated. Else the planner.")
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the lease, in place of giving the state back.")] = False,
    timeout_s: Annotated[
        int | None, typer.Option("--timeout", help="Seconds after which it is given up; a day.", min=1)
    ] = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Ask the planner or people, as the holder of a state; the state is given back until the answer is there.

    Example:  dcf ask order-42 Price lease-1f EUR-or-USD? --choice EUR --choice USD
    """
    from dcf.features.people.description import read_askees
    from dcf.features.questions.asking import DEFAULT_WAIT_S, Ask

    named = [{"group": one.removeprefix("group:")} if one.startswith("group:") else one for one in to or ()]
    wish = Ask(
        state=state,
        token=lease_token,
        text=question,
        choices=tuple(choice or ()),
        to=read_askees(named, "--to") if named else None,
        give_back=not keep,
        timeout_s=timeout_s or DEFAULT_WAIT_S,
    )
    with opening.application() as found, by_the_local_user():
        done = accepted(found.talking.ask_question(run, wish, request_id=request_id), run)
    told = done.answer
    waits = f"waits for an answer of {clean(told['asked'])} until {clean(told['waits_until'])}"
    _print(run, done, f"Question {clean(told['question_id'])} of {clean(run)} {waits}.", as_json=as_json)


def reply(
    run: RunArgument,
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="Its id, as `dcf inbox RUN` and `dcf why RUN` show it: q1.")
    ],
    answer: Annotated[str, typer.Argument(metavar="ANSWER", help="One of its choices, or any text where it has none.")],
    comment: Annotated[str | None, typer.Option("--comment", "-m", help="More, beside the answer.")] = None,
    person: As = None,
    group: Group = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer a question of a worker; the first answer counts. `dcf inbox` lists what waits for an answer.

    Example:  dcf reply order-42 q1 EUR --as alice
    """
    from dcf.features.questions.asking import QuestionAnswer

    who = answerer(person, group)
    given = QuestionAnswer(
        question_id=question,
        answer=answer,
        by=who.name,
        comment=comment,
        groups=who.groups,
        is_person=True,
        may_plan=True,
    )
    with opening.application() as found, by_the_local_user():
        done = accepted(found.talking.answer_question(run, given, request_id=request_id), run)
    told = done.answer
    heard = f"{clean(told['answered_by'])} answered question {clean(told['question_id'])} of {clean(run)}"
    _print(run, done, f"{heard}; {clean(told['asked_by'])} is told.", as_json=as_json)


def correct(
    run: RunArgument,
    state: State,
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="The right result: JSON, a file, or -.")],
    lease_token: Annotated[
        str | None, typer.Option("--token", help="Only if this lease wrote the result that is there.")
    ] = None,
    reason: Reason = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Correct the result of a state, until what follows has used it: leased, joined, or ended with it.

    Example:  dcf correct order-42 CalculatePricing '{"total": "1.00"}' --reason "a typo"
    """
    from dcf.cli.documents import read_given
    from dcf.features.questions.corrections import Correct

    wish = Correct(state=state, output=read_given(output, "OUTPUT"), token=lease_token)
    with opening.application() as found, by_the_local_user():
        answer = found.corrections.correct_result(run, wish, reason=reason, request_id=request_id)
        done = accepted(answer, run)
    follow = done.answer["next_states"]
    who = f"; {clean(', '.join(follow))} will get it" if follow else ""
    _print(run, done, f"The result of {clean(state)} of {clean(run)} is corrected{who}.", as_json=as_json)


def _print(run: str, done: "RunAnswer", sentence: str, *, as_json: bool) -> None:
    told: dict[str, Json] = {"workflow_id": run, **done.answer, "repeated": done.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    typer.echo(sentence)
    if done.repeated:
        say(f"That was done before{BEFORE.removeprefix(',')}.")
