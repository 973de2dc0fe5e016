"""The commands about gates: what waits for a verdict, the verdict, an override. They call and print."""

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.asking import ask_if_read
from dcf.cli.authorship import accepted, by_the_local_user
from dcf.cli.commands.lifecycle import BEFORE, RequestId
from dcf.cli.features.people import As, Group, State, answerer, verdict_command
from dcf.cli.reading.views import say
from dcf.cli.text import clean, json_text

if TYPE_CHECKING:
    from dcf.core.documents.operations import RunAnswer
    from dcf.features.gates.consequences import GateCase
    from dcf.features.gates.model import Judged
    from dcf.values.json_text import Json

_LONGEST = 10_000

GateArgument = Annotated[str, typer.Argument(metavar="GATE", help="Its name, as `dcf gates RUN` shows it.")]


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (gates, decide, override):
        app.command()(command)


def gates(
    run: RunArgument,
    state: Annotated[str | None, typer.Argument(metavar="STATE", help="Only this state, its output whole.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the outputs of a run that wait for a verdict before they count, with their criteria.

    Example:  dcf gates order-42
    """
    with opening.application() as found:
        path = None if state is None else found.control_plane.place(run, state).path
        cases = found.gates.cases(run, None if path is None else (path,))
    rows = [row for case in cases for row in _rows(run, case)]
    if as_json:
        typer.echo(json_text({"gates": rows}, indent=2))
        return
    if not rows:
        typer.echo(f"Nothing of {clean(run)} waits for a verdict.")
    for row in rows:
        _print_row(run, row, whole=state is not None)


def decide(
    run: RunArgument,
    state: State,
    gate: GateArgument,
    verdict: Annotated[str, typer.Argument(metavar="VERDICT", help="pass, fail or unavailable.")],
    failed: Annotated[
        list[str] | None, typer.Option("--failed", help="A criterion that is not met; may be repeated. Others are met.")
    ] = None,
    comment: Annotated[str | None, typer.Option("--comment", "-m", help="What to mend, for the worker.")] = None,
    content_sha256: Annotated[
        str | None,
        typer.Option(help="Of the output that you read, as `dcf gates` shows it; on a terminal it may be left out."),
    ] = None,
    exit_code: Annotated[int | None, typer.Option("--exit-code", help="Of a command that was run by hand.")] = None,
    person: As = None,
    group: Group = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Judge the output that waits at a gate. Its author cannot review it.

    The verdict is about the output that you read: name it by its hash. Without the hash the command shows the output
    on a terminal, and asks. If another output waits by then, the verdict is refused (content_changed).

    Example:  dcf decide order-42 Write review fail --failed "Every claim has a source." -m "The second has none."
    """
    from dcf.features.gates.judges import Judge
    from dcf.features.gates.verdicts import Ruling

    who = answerer(person, group)
    with opening.application() as found, by_the_local_user():
        path = found.control_plane.place(run, state).path
        case = next(iter(found.gates.cases(run, (path,))), None)
        ruling = Ruling(
            state=path,
            gate=gate,
            verdict=verdict,
            sha256=content_sha256 or _shown(run, path, gate, case, verdict),
            by=Judge(name=who.name, groups=who.groups, may_work=True, may_attest=True, is_person=True),
            criteria=_judged(case, gate, verdict, failed or [], comment),
            comment=comment,
            facts={} if exit_code is None else {"exit_code": exit_code},
        )
        done = accepted(found.gates.decide(run, ruling, request_id=request_id), run)
    _print(run, done, as_json=as_json)


def override(
    run: RunArgument,
    state: State,
    reason: Annotated[str, typer.Option("--reason", help="Why it may pass; it stands in the history.")],
    gate: Annotated[str | None, typer.Option("--gate", help="Only this one; else all that have not passed.")] = None,
    person: As = None,
    request_id: RequestId = None,
    as_json: JsonFlag = False,
) -> None:
    """Let the output of a state pass its gates, whatever they say, for this visit of the state.

    Example:  dcf override order-42 Write --gate review --reason "checked by phone"
    """
    from dcf.core.access.model import LOCAL
    from dcf.features.gates.overriding import Override

    wish = Override(state=state, by=answerer(person, None).name, reason=reason, gate=gate, caller=LOCAL)
    with opening.application() as found, by_the_local_user():
        done = accepted(found.gates.override(run, wish, request_id=request_id), run)
    _print(run, done, as_json=as_json)


def _shown(run: str, path: str, gate: str, case: "GateCase | None", verdict: str) -> str:
    """Show what waits at the gate and ask for the verdict; return the hash of what was shown."""
    rows = [] if case is None else [row for row in _rows(run, case) if row["name"] == gate]
    ask_if_read(
        rows,
        partial(_print_row, run, whole=True, to_stderr=True),
        f"Judge this output: {clean(verdict)}?",
        waits_at=gate,
        otherwise=f"Read it with `dcf gates {clean(run)} {clean(path)}`, and give its --content-sha256.",
    )
    return "" if case is None else case.kept.sha256


def _judged(
    case: "GateCase | None", gate: str, verdict: str, failed: list[str], comment: str | None
) -> "tuple[Judged, ...]":
    """Return one verdict for each criterion of the gate: those that are named failed, the others passed."""
    from dcf.errors import InvalidArgument
    from dcf.features.gates.model import UNAVAILABLE, Judged

    found = None if case is None else case.gate(gate)
    criteria = () if found is None or verdict == UNAVAILABLE else found.criteria
    unknown = [text for text in failed if text not in criteria]
    if unknown:
        raise InvalidArgument(
            f"'{unknown[0]}' is no criterion of the gate.", "`dcf gates RUN` shows them; give one as it stands there."
        )
    return tuple(
        Judged(criterion=one, passed=one not in failed, feedback=comment if one in failed else None) for one in criteria
    )


def _rows(run: str, case: "GateCase") -> "list[dict[str, Json]]":
    from dcf.features.gates.consequences import rows_of

    return rows_of(run, case, whole=True)


def _print_row(run: str, row: "dict[str, Json]", *, whole: bool, to_stderr: bool = False) -> None:
    show = partial(typer.echo, err=to_stderr)
    show(f"{clean(row['state'])}  {clean(row['name'])}  ({clean(row['kind'])}, by {clean(row['asked'])})")
    for text in row.get("criteria", ()):
        show(f"  - {clean(text, _LONGEST)}")
    if "command" in row:
        show(f"  $ {clean(row['command'], _LONGEST)}")
    output = json_text(row["output"], indent=2 if whole else None)
    show(f"  {output if whole else clean(output, 200)}")
    show(f"  content sha256: {clean(row['content_sha256'], _LONGEST)}")
    if not to_stderr:
        show(f"  {verdict_command(run, row['state'], row['name'], 'pass', row['content_sha256'])}")


def _print(run: str, done: "RunAnswer", *, as_json: bool) -> None:
    told: dict[str, Json] = {"workflow_id": run, **done.answer, "repeated": done.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    waits = f"; it waits for {', '.join(map(clean, told['waits_for']))}" if told["waits_for"] else ""
    typer.echo(
        f"Gate {clean(told['gate'])} of {clean(told['state'])} of {clean(run)}: {clean(told['verdict'])}. "
        f"The state is {clean(told['state_status'])}{waits}."
    )
    if done.repeated:
        say(f"That was done before{BEFORE.removeprefix(',')}.")
