"""The commands with which people see what waits for them, and answer: inbox, approve, reject, answer."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, OptionalRun, RunArgument
from dcf.cli.asking import ask_if_read
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import BEFORE, RequestId
from dcf.cli.reading.views import console, print_wrapped, say
from dcf.cli.text import clean, json_text
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.people.answering import Answerer

_LONGEST: Final = 10_000
_FIRST_PAGE: Final = "0"

State = Annotated[str, typer.Argument(metavar="STATE", help="Name of the state, or its path, as in Each/17/Check.")]
Comment = Annotated[str | None, typer.Option("--comment", "-m", help="Why; some choices need it.")]
Given = Annotated[
    str | None, typer.Option("--answer", help="What the task's schema asks for: JSON text, a file, or -.")
]
As = Annotated[str | None, typer.Option("--as", help="Who answers; your user name on this machine if left out.")]
Group = Annotated[str | None, typer.Option("--group", help="The group that you answer for.")]
Epoch = Annotated[
    int | None,
    typer.Option(
        "--epoch",
        help="Of the visit that you read, as `dcf inbox RUN STATE` shows it; on a terminal it may be left out.",
    ),
]


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (inbox, approve, reject, answer):
        app.command()(command)


def inbox(
    run: OptionalRun = None,
    state: Annotated[str | None, typer.Argument(metavar="STATE", help="Only this state of the run, whole.")] = None,
    person: Annotated[str | None, typer.Option("--for", help="Only what this person may answer.")] = None,
    group: Annotated[str | None, typer.Option("--group", help="Only what this group may answer.")] = None,
    limit: Annotated[int, typer.Option(help="How many, oldest first.", min=1, max=1000)] = 20,
    cursor: Annotated[str | None, typer.Option(help="Go on here: printed below each page; 0 begins.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """List what waits for people, oldest first; with RUN what waits in it, with STATE one task and how to answer it.

    --json prints an array of tasks; with --cursor (0 for the first page) an object {tasks, next_cursor}.

    Example:  dcf inbox --for alice --group finance
    """
    from dcf.features.people.listing import HumanTaskQuery, read_place

    with opening.application() as found:
        path = None if state is None or run is None else found.control_plane.place(run, state).path
        query = HumanTaskQuery(
            limit=limit,
            person=person,
            groups=() if group is None else (group,),
            run=run,
            state=path,
            place=None if cursor == _FIRST_PAGE else read_place(cursor),
        )
        page = found.people.list_human_tasks(query)
    rows = [row.as_json(whole=as_json or state is not None) for row in page.rows]
    ends_at = None if page.next_place is None else str(page.next_place)
    if as_json:
        document: Json = rows if cursor is None else {"tasks": rows, "next_cursor": ends_at}
        typer.echo(json_text(document, indent=2))
    elif state is not None and rows:
        for row in rows:
            _print_task(row)
    elif rows:
        _print_tasks(rows)
        if ends_at is not None:
            say(f"There may be more: the same command with --cursor {quote(clean(ends_at, _LONGEST))}")
    else:
        typer.echo("Nothing waits for a person here." if run or person or group else "Nothing waits for a person.")


def approve(
    run: RunArgument,
    state: State,
    comment: Comment = None,
    given: Given = None,
    person: As = None,
    group: Group = None,
    epoch: Epoch = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer a task of a run with approve. The first answer counts; who answered stands in the run's history.

    The answer is about the task that you read: name its visit with --epoch. Without it the command shows the task on a
    terminal, and asks. If the state was entered again by then, the answer is refused (conflict).

    Example:  dcf approve order-42 Approve --as alice --comment "the total is right"
    """
    _answer(run, state, "approve", comment, given, person, group, epoch, request_id, as_json=as_json)


def reject(
    run: RunArgument,
    state: State,
    comment: Comment = None,
    given: Given = None,
    person: As = None,
    group: Group = None,
    epoch: Epoch = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer a task of a run with reject, and say why with --comment."""
    _answer(run, state, "reject", comment, given, person, group, epoch, request_id, as_json=as_json)


def answer(
    run: RunArgument,
    state: State,
    choice: Annotated[
        str, typer.Argument(metavar="CHOICE", help="One of the choices that `dcf inbox RUN STATE` shows.")
    ],
    comment: Comment = None,
    given: Given = None,
    person: As = None,
    group: Group = None,
    epoch: Epoch = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Answer a task of a run with one of its choices."""
    _answer(run, state, choice, comment, given, person, group, epoch, request_id, as_json=as_json)


def _answer(
    run: str,
    state: str,
    choice: str,
    comment: str | None,
    given: str | None,
    person: str | None,
    group: str | None,
    epoch: int | None,
    request_id: str | None,
    *,
    as_json: bool,
) -> None:
    from dcf.cli.documents import read_given
    from dcf.features.people.answering import HumanAnswer
    from dcf.values.refusal import Refusal

    value = None if given is None else read_given(given, "--answer")
    with opening.application() as found, by_the_local_user():
        reply = HumanAnswer(
            state=state,
            choice=choice,
            by=answerer(person, group),
            comment=comment,
            answer=value,
            epoch=_epoch_shown(found, run, state, choice) if epoch is None else epoch,
        )
        done = found.people.answer_human_task(run, reply, request_id=request_id)
    if isinstance(done, Refusal) and done.code == "not_asked":
        done = replace(
            done, hint=f"{done.hint} `dcf inbox {clean(run)}` shows whom it asks; --as NAME says who you are."
        )
    done = accepted(done, run)
    told = {"workflow_id": run, **done.answer, "repeated": done.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    again = BEFORE if done.repeated else ""
    typer.echo(
        f"{clean(told['answered_by'])} answered {clean(told['state'])} of {clean(run)}: {clean(told['choice'])}{again}."
        f" The run is {clean(told['run_status'])}; `dcf show {clean(run)}` shows it."
    )


def _epoch_shown(application: "Application", run: str, state: str, choice: str) -> int | None:
    """Show the task and ask for the answer; return the epoch of the visit that was shown, None if no task waits."""
    from dcf.features.people.listing import HumanTaskQuery

    path = application.control_plane.place(run, state).path
    page = application.people.list_human_tasks(HumanTaskQuery(limit=1000, run=run, state=path))
    tasks = [row for row in page.rows if row.task is not None]
    ask_if_read(
        [row.as_json() for row in tasks],
        partial(_print_task, to_stderr=True),
        f"Answer this: {clean(choice)}?",
        waits_at=state,
        otherwise=f"Read it with `dcf inbox {clean(run)} {clean(path)}`, and give its --epoch.",
    )
    return tasks[0].doc.lease.epoch if tasks else None


def answerer(person: str | None, group: str | None) -> "Answerer":
    """Return who speaks at a command: the person that is named, or the user of this machine."""
    import getpass

    from dcf.features.people.answering import Answerer
    from dcf.values.identifiers import check_id

    if person is None:
        try:
            person = check_id(getpass.getuser(), "your user name")
        except (InvalidArgument, KeyError, OSError):
            raise InvalidArgument("Nobody is named who answers.", "Say who you are: --as NAME.") from None
    groups = frozenset({check_id(group, "--group")} if group is not None else ())
    return Answerer(name=check_id(person, "--as"), groups=groups)


def _print_tasks(rows: Sequence[Mapping[str, Json]]) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("run", "state", "for", "since", "until", "title"):
        table.add_column(name, overflow="fold", no_wrap=name in {"since", "until"})
    for row in rows:
        more = row.get("question_id") or row.get("gate")
        named = row["state"] if more is None else f"{row['state']} {more}"
        cells = (row["workflow_id"], named, _whom(row), _minute(row["since"]), _minute(row.get("deadline")))
        table.add_row(*(Text(clean(cell)) for cell in (*cells, row["title"])))
    console().print(table)


def _print_task(row: Mapping[str, Json], *, to_stderr: bool = False) -> None:
    out, run, state = console(stderr=to_stderr), clean(row["workflow_id"]), clean(row["state"])
    out.print(Text(clean(row["title"], _LONGEST), style="bold"), soft_wrap=True)
    until = f", until {_minute(row['deadline'])}" if row.get("deadline") else ""
    who = f" ({clean(row['asked_by'])} asks)" if "question_id" in row else ""
    out.print(
        Text(f"{state} of {run} waits for {_whom(row)}{who} since {_minute(row['since'])}{until}."), soft_wrap=True
    )
    for line in str(row.get("instructions", "")).splitlines():
        print_wrapped(out, Text(clean(line, _LONGEST)), indent=0)
    for name in ("details", "schema", "default", "not_by"):
        if name in row:
            out.print(Text(f"{name}: {json_text(row[name], indent=2)}"), soft_wrap=True)
    if to_stderr:
        return
    if "gate" in row:
        for verdict in row["choices"]:
            line = verdict_command(run, state, row["gate"], verdict, row.get("content_sha256"))
            out.print(Text(f"  {line}"), soft_wrap=True)
        return
    if "question_id" in row:
        for named in row.get("choices") or ["ANSWER"]:
            out.print(Text(f"  {_reply(run, row['question_id'], named)} --as NAME"), soft_wrap=True)
        return
    for choice in row.get("choices", ()):
        named = choice if isinstance(choice, str) else choice["name"]
        comment = "" if isinstance(choice, str) else " --comment WHY"
        given = " --answer JSON" if "schema" in row else ""
        out.print(
            Text(f"  {_command(named, run, state)}{comment}{given} --as NAME --epoch {row['epoch']}"), soft_wrap=True
        )


def _command(choice: str, run: str, state: str) -> str:
    from dcf.features.diagnosis.model import command

    own = choice in ("approve", "reject")
    return clean(command(choice, run, state) if own else command("answer", run, state, choice), _LONGEST)


def _reply(run: str, question_id: Json, answer: Json) -> str:
    from dcf.features.diagnosis.model import command

    return clean(command("reply", run, str(question_id), str(answer)), _LONGEST)


def verdict_command(run: str, state: Json, gate: Json, verdict: Json, sha256: Json) -> str:
    """Return the command that gives this verdict about the output with this hash."""
    from dcf.features.diagnosis.model import command

    words = ("decide", run, str(state), str(gate), str(verdict), "--as", "NAME", "--content-sha256", str(sha256))
    return clean(command(*words), _LONGEST)


def _whom(row: Mapping[str, Json]) -> str:
    named = ", ".join(one if isinstance(one, str) else f"group {one['group']}" for one in row["to"])
    return named or "the planner"


def _minute(text: Json) -> str:
    return "" if text is None else str(text)[:16].replace("T", " ")
