"""The commands that operate a run: cancel, pause, resume, resolve, release, notify, finalize. They call and print."""

from typing import TYPE_CHECKING, Annotated, Final

import typer

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.asking import ask
from dcf.cli.authorship import accepted, by_the_local_user, recorded
from dcf.cli.patience import patience
from dcf.cli.reading.views import say
from dcf.cli.text import clean, json_text
from dcf.cli.wording import in_commands
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.core.documents.operations import RunAnswer
    from dcf.runs.notifying.delivery_records import Target
    from dcf.values.refusal import Refusal

State = Annotated[str, typer.Argument(metavar="STATE", help="Name of the state, or its path, as in Each/17/Score.")]
Reason = Annotated[str | None, typer.Option("--reason", help="Why; it stands in the run's history.")]
RequestId = Annotated[
    str | None, typer.Option("--request-id", help="An id of your own: repeated with it, the command is applied once.")
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

_FINAL: Final = ("succeeded", "failed", "partial", "cancelled")

BEFORE: Final = ", by an earlier command with this --request-id"
"""Said of a request that was applied before."""

_NOBODY: Final = "no agent is assigned to it"


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    for command in (cancel, pause, resume, resolve, release, notify, finalize):
        app.command()(command)


def cancel(
    run: RunArgument, reason: Reason = None, request_id: RequestId = None, yes: Yes = False, as_json: JsonFlag = False
) -> None:
    """End a run at once: open states are cancelled, holders are told to stop, late results are refused.

    It asks before; --yes skips the question. A run that is over stays as it is.
    """
    ask(f"Cancel run {clean(run)}? What its agents work on is lost.", yes=yes)
    with opening.application() as found, by_the_local_user():
        with patience("cancelling what is open"):
            answer = found.lifecycle.cancel(run, reason=reason, request_id=request_id)
        _print(run, "cancelled", answer, as_json=as_json)


def pause(run: RunArgument, reason: Reason = None, request_id: RequestId = None, as_json: JsonFlag = False) -> None:
    """Hold a run: nobody gets new work in it until `dcf resume`; what agents work on they may finish.

    Timeouts, retry times and Waits go on.
    """
    with opening.application() as found, by_the_local_user():
        _print(run, "paused", found.lifecycle.pause(run, reason=reason, request_id=request_id), as_json=as_json)


def resume(run: RunArgument, reason: Reason = None, request_id: RequestId = None, as_json: JsonFlag = False) -> None:
    """Let a paused run go on, and tell the agents of all states that can be taken."""
    with opening.application() as found, by_the_local_user():
        with patience("telling the agents"):
            answer = found.lifecycle.resume(run, reason=reason, request_id=request_id)
        _print(run, "resumed", answer, as_json=as_json)


def resolve(
    run: RunArgument,
    state: State,
    output: Annotated[
        str | None, typer.Option("--output", help="It succeeds with this JSON: text, a file, or - for standard input.")
    ] = None,
    error: Annotated[str | None, typer.Option("--error", help="It fails with an error of this name.")] = None,
    cause: Annotated[str | None, typer.Option("--cause", help="With --error: why, in a sentence.")] = None,
    handled: Annotated[
        bool, typer.Option("--handled", help="With --error: apply its Retry and Catch; else the failure is final.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="With --output: even if that does not match its OutputSchema.")
    ] = False,
    skip: Annotated[bool, typer.Option("--skip", help="It succeeds with its own input as its output.")] = False,
    assign: Annotated[
        list[str] | None, typer.Option("--assign", help="Agent that may take it from now on; may be repeated.")
    ] = None,
    epoch: Annotated[
        int | None, typer.Option("--epoch", help="Only if its lease has this epoch, as `dcf show --json` tells it.")
    ] = None,
    reason: Reason = None,
    request_id: RequestId = None,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """End one state of a run by hand, or give it to other agents: where its agent cannot finish it.

    Whoever holds it is told to stop, and its late result is refused. A Wait is ended early with --skip. It asks before
    it ends a state; --yes skips the question.

    Example:  dcf resolve order-42 CalculatePricing --output '{"total": "1.00"}' --reason "priced by phone"
    """
    from dcf.cli.documents import read_given
    from dcf.core.completing.resolving import wish_of
    from dcf.values.json_paths import MISSING

    wish = wish_of(
        state,
        output=MISSING if output is None else read_given(output, "--output"),
        error=error,
        cause=cause,
        skip=skip,
        handled=handled,
        agents=tuple(assign or ()),
        epoch=epoch,
        force=force,
    )
    if wish.how is not None:
        ask(f"End {clean(state)} of run {clean(run)}? That is not taken back.", yes=yes)
    with opening.application() as found, by_the_local_user():
        with patience("ending the state" if wish.how is not None else "assigning the state"):
            answer = found.lifecycle.resolve(run, wish, reason=reason, request_id=request_id)
        _print(run, "resolved", answer, as_json=as_json)


def release(run: RunArgument, state: State, reason: Reason = None, yes: Yes = False, as_json: JsonFlag = False) -> None:
    """End the lease on a state, whoever holds it, so that another agent can take it; its late result is refused.

    It asks before; --yes skips the question.
    """
    from dcf.core.documents.operations import check_reason
    from dcf.core.leasing.lease import Release
    from dcf.core.lifecycle.inspection import public_state

    ask(f"Take {clean(state)} of run {clean(run)} from whoever holds it?", yes=yes)
    with opening.application() as found, by_the_local_user():
        request = Release(state=state, token=None, force=True, reason=check_reason(reason))
        answer = accepted(found.control_plane.release(run, request), run)
    if as_json:
        shown = {"workflow_id": run, "state": state, "outcome": answer.outcome, "document": public_state(answer.doc)}
        typer.echo(json_text(shown, indent=2))
    elif answer.outcome == "lease_released":
        typer.echo(f"{clean(state)} is free; its agents are reminded within a minute, or at once by `dcf notify`.")
    else:
        typer.echo(f"Nobody held {clean(state)}.")


def notify(
    run: RunArgument,
    state: Annotated[str | None, typer.Argument(metavar="[STATE]", help="Tell the agents of this state again.")] = None,
    as_json: JsonFlag = False,
) -> None:
    """Tell agents of work: without STATE start the run and tell who comes first; with it tell its agents again."""
    with opening.application() as found, by_the_local_user():
        targets = _started(found, run) if state is None else _told_again(found, run, state)
    rows = [
        {"state": one.state, "agent_id": one.agent_id, "sent": one.sent, "error": one.delivery.error}
        | ({"not_ready": True} if one.skipped_not_ready else {})
        for one in targets
    ]
    if as_json:
        typer.echo(json_text(rows, indent=2))
        return
    for row in rows:
        typer.echo(_told(row))
    if not rows:
        typer.echo("Nobody is to be told anything now.")


def finalize(
    run: RunArgument,
    status: Annotated[
        str | None, typer.Option(help=f"Its final status in place of the computed one: {', '.join(_FINAL)}.")
    ] = None,
    reason: Reason = None,
    keep_agents: Annotated[
        bool, typer.Option("--keep-agents", help="Do not delete the agents that were made for the run.")
    ] = False,
    keep_open: Annotated[bool, typer.Option("--keep-open", help="Leave states that are open as they are.")] = False,
    yes: Yes = False,
    as_json: JsonFlag = False,
) -> None:
    """Close a run for good: write its audit record, cancel what is open, delete the agents that were made for it.

    A run that is over is finalized by itself after a time (DCF_FINALIZE_AFTER_S). It asks before; --yes skips the
    question. Repeated, it tells the first result.
    """
    from dcf.core.documents.model import RunStatus
    from dcf.core.documents.operations import check_reason
    from dcf.core.lifecycle.finalization import Finalize

    if status is not None and status not in _FINAL:
        raise InvalidArgument(f"'{status[:20]}' is no final status.", f"Use: {', '.join(_FINAL)}.")
    ask(f"Close run {clean(run)} for good? What is open in it is cancelled.", yes=yes)
    final = None if status is None else RunStatus(status)
    request = Finalize(workflow_id=run, close_open_states=not keep_open, status=final, note=check_reason(reason))
    about, doing = {"workflow_id": run}, "closing the run"
    with opening.application() as found, recorded(found, "finalize_workflow", about), patience(doing):
        closed = accepted(found.closing.close(request, delete_agents=not keep_agents), run)
    if as_json:
        shown = {
            "workflow_id": run,
            "audit": dict(closed.audit),
            "agents": [agent.as_json() for agent in closed.agents],
        }
        typer.echo(json_text(shown | {"warnings": list(closed.warnings)}, indent=2))
        return
    deleted = sum(agent.deleted for agent in closed.agents)
    agents = f"; {deleted} of its {len(closed.agents)} agents deleted" if closed.agents else ""
    typer.echo(f"{clean(run)} is closed: {clean(closed.audit.get('final_status'))}{agents}.")
    for warning in closed.warnings:
        say(warning)


def _started(found: "Application", run: str) -> "list[Target]":
    accepted(found.control_plane.kick_off(run, "initial"), run)
    return found.notifications.notify_next(run, None)


def _told_again(found: "Application", run: str, state: str) -> "list[Target]":
    from dcf.runs.notifying.delivery_records import Target

    view = found.runs.read(run, (state,)).states.get(state)
    if view is None or not view.ready:
        return [Target(state=state, agent_id=None, reason="notify", skipped_not_ready=True)]
    return [found.notifications.notify(run, state, reason="notify")]


def _print(run: str, done: str, given: "RunAnswer | Refusal", *, as_json: bool) -> None:
    answer = accepted(given, run)
    told = {"workflow_id": run, **answer.answer, "repeated": answer.repeated}
    if as_json:
        typer.echo(json_text(told, indent=2))
        return
    about = f"{clean(told['state'])} of {clean(run)} is {done}" if "state" in told else f"{clean(run)} is {done}"
    again = BEFORE if answer.repeated else ""
    typer.echo(f"{about}{again}. {in_commands(clean(told['hint']), run)}")


def _told(row: dict[str, Json]) -> str:
    state = clean(row["state"])
    if row["sent"]:
        return f"{state}: {clean(row['agent_id'])} is told."
    if row.get("not_ready"):
        return f"{state}: nobody is told, since it cannot be taken now."
    return f"{state}: nobody is told: {clean(row['error'] or _NOBODY)}."
