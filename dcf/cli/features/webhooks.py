"""Prints the answers of `dcf agents`; has the command that gives an agent another key."""

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

import typer
from rich.text import Text

from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.derived import call_verb, print_record
from dcf.cli.places.completion import complete_agent
from dcf.cli.reading.views import console, say, table
from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.errors import AgentUnknown
from dcf.values.json_text import Json

AgentArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="AGENT", help="Its id, as Tasks name it.", autocompletion=complete_agent)
]


def only_registered(call: dict[str, Any]) -> dict[str, Any]:
    """Return the call to remove an agent; raise AgentUnknown for an agent of a platform."""
    agent = call["agent_id"]
    if agent not in {row["agent_id"] for row in call_verb("list_registered_agents")["agents"]}:
        raise AgentUnknown(
            f"There is no registered agent '{agent}'.", in_commands("`list_registered_agents` shows those there are.")
        )
    return call


def show_removed(_: Mapping[str, Json], call: Mapping[str, Json]) -> None:
    """Say that an agent is gone."""
    typer.echo(f"{call['agent_id']} is removed")


def rotate(
    agent: AgentArgument,
    at_once: Annotated[bool, typer.Option("--at-once", help="End the old key now: it was leaked.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a new key and print its secret, this once. The old one signs too, until the next rotation."""
    answer = call_verb("register_agent", agent_id=agent, new_key="at_once" if at_once else "overlap")
    if as_json:
        print_record("register_agent", answer)
    else:
        show_registered(answer, {})


def show_registered(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print a secret alone on standard output, so that it can be kept at once; without one, what was changed."""
    agent, secret = clean(answer["agent_id"]), answer["secret"]
    if answer["url"] is None:
        typer.echo(clean(answer["status"]))
    elif secret is None:
        typer.echo(f"{agent} is at {clean(answer['url'])}; its keys stay as they were")
    else:
        typer.echo(secret)
        say(f"agent {agent} is at {clean(answer['url'])}; what it gets is signed by {', '.join(answer['key_ids'])}")
        say("the secret is shown only now; the receiver checks with it (dcf.webhooks.verify)")


def show_agents(answer: Mapping[str, Json], _: Mapping[str, Json]) -> None:
    """Print the agents in a table, without secrets."""
    if answer["agents"]:
        columns = ("agent", "platform", "where", "keys", "lease", "left alone")
        console().print(table(columns, map(_cells, answer["agents"]), whole=("agent", "platform")))
    else:
        console().print(Text("No agents yet. Register one:  dcf agents add NAME --url https://..."), soft_wrap=True)


def _cells(row: Mapping[str, Json]) -> tuple[Json, ...]:
    rest = row["rest"]
    why = "" if rest is None else f"{rest['for_s']:g} s: {rest['error']}"
    return row["agent_id"], row["platform"], row["url"], " ".join(row["key_ids"]), f"{row['lease_ttl_s']} s", why
