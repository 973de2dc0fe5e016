"""The commands `dcf agents`: register agents that are made elsewhere, list them, give them new keys, remove them.

They write to Redis directly, as `dcf keys` does.
"""

from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from dcf.cli import opening
from dcf.cli.arguments import JsonFlag
from dcf.cli.authorship import recorded
from dcf.cli.reading.views import console, say
from dcf.cli.text import clean, json_text
from dcf.errors import AgentUnknown, InvalidArgument
from dcf.values.identifiers import check_id
from dcf.values.spans import read_span

if TYPE_CHECKING:
    from dcf.features.webhooks.registration import Registered
    from dcf.features.work.limits import WorkLimit
    from dcf.values.json_text import Json

_LEASE: Final = "15m"
_LEAST_S: Final = 30
_MOST_S: Final = 86_400
_MOST_IN_PROGRESS: Final = 1000

agents = typer.Typer(
    name="agents",
    no_args_is_help=True,
    help="Register agents that are made elsewhere: webhooks, which get their work by signed POST (docs/webhooks.md).",
)

AgentArgument = Annotated[str, typer.Argument(metavar="AGENT", help="The agent's id, as Tasks are assigned to it.")]


def mount(app: typer.Typer) -> None:
    """Add the commands to an application."""
    app.add_typer(agents)


@agents.command()
def add(
    agent: AgentArgument,
    url: Annotated[
        str | None,
        typer.Option(help="Where it is posted to: an https URL. Only to limit an agent it may be left out."),
    ] = None,
    lease: Annotated[str, typer.Option(help="How long it has for a piece of work, as 15m or 2h.")] = _LEASE,
    max_in_progress: Annotated[
        int | None,
        typer.Option(help="Most states that it holds at a time; 0: any number.", min=0, max=_MOST_IN_PROGRESS),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Register a webhook and print the secret that signs what it gets, this once; again: change where it is.

    With --max-in-progress alone: limit how many states any agent holds at a time.

    Example:  dcf agents add pricing-hook --url https://agents.example/dcf
    """
    check_id(agent, "AGENT")
    ttl_s = read_span(lease)
    if ttl_s is None or not _LEAST_S <= ttl_s <= _MOST_S:
        raise InvalidArgument("--lease is not between 30s and 24h.", "Write it as 15m or 2h.")
    if url is None and max_in_progress is None:
        raise InvalidArgument("Neither --url nor --max-in-progress is given.", "Give the webhook's https URL.")
    with opening.application() as found, recorded(found, "agents add", {"agent_id": agent}) as recording:
        from dcf.core.access.model import LOCAL
        from dcf.features.work.limits import WorkLimit

        limit = None if max_in_progress is None else WorkLimit(kind="agent", name=agent, most=max_in_progress)
        if limit is not None:
            found.limits.put(limit)
        if url is None:
            assert limit is not None, "one of the two was given"
            told = {"agent_id": agent, "max_in_progress": limit.most}
            typer.echo(json_text(told, indent=2) if as_json else f"{agent} {limit.told}")
            return
        made = found.registration.register(agent, url, lease_ttl_s=ttl_s, created_by=LOCAL)
        recording.about["key_ids"] = ",".join(made.key_ids)
    _show_secret(made, as_json=as_json, limit=limit)
    if made.secret is None and not as_json:
        typer.echo(f"{made.agent_id} is at {made.url}; its keys stay as they were")


@agents.command()
def rotate(
    agent: AgentArgument,
    at_once: Annotated[bool, typer.Option("--at-once", help="End the old key now: it was leaked.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a new key and print its secret, this once. The old one signs too, until the next rotation."""
    check_id(agent, "AGENT")
    with opening.application() as found, recorded(found, "agents rotate", {"agent_id": agent}) as recording:
        made = found.registration.rotate(agent, at_once=at_once)
        recording.about["key_ids"] = ",".join(made.key_ids)
    _show_secret(made, as_json=as_json)


@agents.command("list")
def list_agents(as_json: JsonFlag = False) -> None:
    """List the agents that were registered, oldest first, without secrets."""
    from dcf.features.webhooks.verbs import row_of

    with opening.application() as found:
        rows = [row_of(one) for one in found.registration.all()]
    if as_json:
        typer.echo(json_text(rows, indent=2))
        return
    if not rows:
        console().print(Text("No agents yet. Register one:  dcf agents add NAME --url https://..."), soft_wrap=True)
        return
    console().print(_table(rows))


@agents.command()
def remove(agent: AgentArgument, as_json: JsonFlag = False) -> None:
    """Remove an agent: it gets no more work, and its task tokens serve no more."""
    check_id(agent, "AGENT")
    with opening.application() as found, recorded(found, "agents remove", {"agent_id": agent}):
        if found.registration.forget(agent) is False:
            raise AgentUnknown(f"There is no registered agent '{agent}'.", "`dcf agents list` shows those there are.")
    typer.echo(json_text({"agent_id": agent, "removed": True}, indent=2) if as_json else f"{agent} is removed")


def _show_secret(made: "Registered", *, as_json: bool, limit: "WorkLimit | None" = None) -> None:
    from dcf.features.webhooks.verbs import row_of

    if as_json:
        limited = {} if limit is None else {"max_in_progress": limit.most}
        typer.echo(json_text({**row_of(made), **limited, "secret": made.secret}, indent=2))
        return
    if made.secret is not None:
        typer.echo(made.secret)
        say(f"agent {made.agent_id} is at {made.url}; what it gets is signed by {', '.join(made.key_ids)}")
        say("the secret is shown only now; the receiver checks with it (dcf.webhooks.verify)")


def _table(rows: "list[dict[str, Json]]") -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("agent", "platform", "where", "keys", "lease", "left alone"):
        table.add_column(name, no_wrap=name in {"agent", "platform"}, overflow="fold")
    for row in rows:
        rest = row["rest"]
        why = "" if rest is None else f"{rest['for_s']:g} s: {rest['error']}"
        cells = (row["agent_id"], row["platform"], row["url"], " ".join(row["key_ids"]), f"{row['lease_ttl_s']} s", why)
        table.add_row(*(Text(clean(cell)) for cell in cells))
    return table
