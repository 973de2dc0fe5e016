"""The commands that operate a run: release, notify, finalize. They call and print."""

from collections.abc import Mapping
from typing import Annotated, Final

import typer

from dcf.cli.arguments import JsonFlag, RunArgument
from dcf.cli.commands.formats import print_json
from dcf.cli.reading.views import say
from dcf.cli.text import clean
from dcf.errors import ToolCallFailed
from dcf.values.json_text import Json

Reason = Annotated[str | None, typer.Option("--reason", help="The reason, for the run's history.")]


RequestId = Annotated[
    str | None, typer.Option("--request-id", help="An id of your own: repeated with it, the command is applied once.")
]


BEFORE: Final = ", by an earlier command with this --request-id"
"""Said of a request that was applied before."""


_NOBODY: Final = "no agent is assigned to it"
_NOT_DELIVERED: Final = "not_delivered"


def show_released(answer: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say whether the lease was ended, and its effect."""
    state = clean(call["state"])
    if answer["status"] == "lease_released":
        typer.echo(f"{state} is free; its agents are notified.")
    else:
        typer.echo(f"{state} had no lease.")


def notify(
    run: RunArgument,
    state: Annotated[
        str | None, typer.Argument(metavar="[STATE]", help="Notify the agents of this state again.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Notify agents: without STATE start the run and notify its first agents; with it notify the state's agents."""
    rows = _started(run) if state is None else [_notified_again(run, state)]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        typer.echo(_sentence_of(row))
    if not rows:
        typer.echo("No agent needs a notification now.")


def _started(run: str) -> list[dict[str, Json]]:
    answer = _notified("notify_next_worker_agent", workflow_id=run)
    return [_row(target) for target in answer["targets"]]


def _notified_again(run: str, state: str) -> dict[str, Json]:
    answer = _notified("notify_if_ready", workflow_id=run, state=state, reason="notify")
    if answer["code"] == "ok":
        return _row(answer | {"sent": not answer["skipped"], "skipped_not_ready": answer["skipped"]})
    return _row(answer | {"sent": False})


def _notified(verb: str, **arguments: Json) -> dict[str, Json]:
    """Return the answer of a verb that notifies agents, also if a notification could not be delivered."""
    from dcf.cli.commands.derived import call_verb

    try:
        return dict(call_verb(verb, **arguments))
    except ToolCallFailed as refused:
        if refused.code != _NOT_DELIVERED:
            raise
        return {**refused.answer, "error": refused.message}


def _row(target: Mapping[str, Json]) -> dict[str, Json]:
    """Return whether an agent was notified; a state without an agent has no error of a delivery."""
    agent = target.get("agent_id")
    error = None if agent is None else target.get("error")
    row = {"state": target["state"], "agent_id": agent, "sent": target["sent"], "error": error}
    return row | ({"not_ready": True} if target.get("skipped_not_ready") else {})


def _sentence_of(row: dict[str, Json]) -> str:
    state = clean(row["state"])
    if row["sent"]:
        return f"{state}: {clean(row['agent_id'])} is notified."
    if row.get("not_ready"):
        return f"{state}: no agent is notified, since the state cannot be leased now."
    return f"{state}: no agent is notified: {clean(row['error'] or _NOBODY)}."


def show_finalized(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print how a run ended that is closed, and how many agents were deleted with it."""
    agents = answer["agents"]
    deleted = sum(agent["deleted"] for agent in agents)
    deletions = f"; {deleted} of its {len(agents)} agents deleted" if agents else ""
    typer.echo(f"{clean(answer['workflow_id'])} is closed: {clean(answer['audit'].get('final_status'))}{deletions}.")
    for warning in answer["warnings"]:
        say(clean(warning))
