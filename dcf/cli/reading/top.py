"""The command `dcf runs top`: the runs that need somebody, and who works on what, as a live table. It only reads.

Each look reads a bounded part, however many runs there are: two pages of the list of runs, why a few of them are stuck,
and one page of the work that is held.
"""

import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Final

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from dcf.cli.arguments import JsonFlag
from dcf.cli.commands.formats import print_json
from dcf.cli.places.place import Place, place
from dcf.cli.reading.answers import ask, first_reason
from dcf.cli.reading.notes import span
from dcf.cli.reading.views import console, listed_status, table
from dcf.cli.text import clean
from dcf.errors import PASSING, DcfError
from dcf.values.instants import from_text, seconds, to_text
from dcf.values.json_text import Json

MOST_RUNS: Final = 20
"""Stuck runs that are shown at most, and as many others that are running."""

MOST_EXPLAINED: Final = 5
"""Stuck runs of which each look asks why."""

MOST_HELD: Final = 100
"""Held states that are looked at."""

_AROUND: Final = 6
"""Lines of the screen that are no rows: headings, column names, and the gap."""


def top(
    every: Annotated[float, typer.Option(help="Seconds between two looks.", min=0.5, max=3600)] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Look once, also on a terminal.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the live runs, those that are stuck first, and the agents with what they hold; on a terminal until Ctrl-C.

    Piped, and with --json, it looks once. Of many runs a part is shown; `dcf ls` and `dcf states ls` have all.
    """
    with place() as used:
        if as_json:
            print_json(look(used))
            return
        out = console()
        if once or not (sys.stdout.isatty() and out.is_interactive):
            out.print(view(look(used)))
            return
        _follow(used, out, every)


def look(used: Place) -> dict[str, Json]:
    """Read what is shown, as JSON: `runs` with why the first are stuck, `agents` with what each holds, and counts."""
    stuck = ask(used, "list_runs", stuck=True, limit=MOST_RUNS, project=None)
    live = ask(used, "list_runs", status="running", limit=MOST_RUNS, project=None)
    pages = [ask(used, "find_work", status=word, limit=MOST_HELD, project=None) for word in ("running", "review")]
    known = {row["workflow_id"] for row in stuck["runs"]}
    runs = [*stuck["runs"], *(row for row in live["runs"] if row["workflow_id"] not in known)]
    for row in runs[: min(MOST_EXPLAINED, len(known))]:
        row["why"] = first_reason(used, row["workflow_id"])
    return {
        "at": to_text(time.time_ns() // 1000),
        "counts": {**live["counts"], **_counted("running", live), **_counted("stuck", stuck)},
        "runs": runs,
        "agents": _by_agent([item for page in pages for item in page["items"]]),
        "more_held": any(page.get("next_cursor") is not None for page in pages),
    }


def _counted(name: str, page: Mapping[str, Json]) -> dict[str, Json]:
    """Return how many there are if the page has all: the counts of the index may be behind the runs."""
    return {} if page["next_cursor"] is not None else {name: len(page["runs"])}


def _by_agent(items: list[dict[str, Json]]) -> list[Json]:
    """Return each agent with what it holds, the one whose lease ends first before the others."""
    agents: dict[str, list[Json]] = {}
    for item in sorted(items, key=lambda element: str(element.get("lease_expires_at", "~"))):
        document = {name: item.get(name) for name in ("workflow_id", "state", "attempt", "since", "lease_expires_at")}
        agents.setdefault(str(item.get("holder", "")), []).append(document)
    return [{"agent": agent, "holds": holds} for agent, holds in agents.items() if agent]


def view(document: Mapping[str, Json], height: int | None = None) -> RenderableType:
    """Return the two tables; with the height of a screen only as many rows as fit, of which runs get half or more."""
    runs, holdings = (
        document["runs"],
        [(agent["agent"], hold) for agent in document["agents"] for hold in agent["holds"]],
    )
    room = None if height is None else max(2, height - _AROUND)
    for_held = None if room is None else max(1, min(len(holdings), room - min(len(runs), (room + 1) // 2)))
    for_runs = None if room is None or for_held is None else max(1, room - for_held)
    counts = document["counts"]
    working = len(document["agents"])
    agents = f"{working} or more agents" if document["more_held"] else f"{working} agent{'' if working == 1 else 's'}"
    standing = f"{counts.get('running', 0)} running, {counts.get('stuck', 0)} stuck"
    left = f"{standing}, {agents} at work  {str(document['at'])[11:19]}Z"
    return Group(Text(left, style="bold"), _runs(runs[:for_runs]), Text(), _held(holdings[:for_held], document["at"]))


def _runs(rows: list[Mapping[str, Json]]) -> RenderableType:
    if not rows:
        return Text("No run is live.", style="dim")
    columns = ("run", "status", "states", "workflow", "why")
    return table(columns, map(_run_cells, rows), whole=columns, overflow="ellipsis")


def _run_cells(row: Mapping[str, Json]) -> tuple[object, ...]:
    done = "" if row["states"] is None else f"{row['states_done']}/{row['states']}"
    return row["workflow_id"], listed_status(row), done, row["workflow_name"] or "", row.get("why") or ""


def _held(rows: list[tuple[Json, Mapping[str, Json]]], at: Json) -> RenderableType:
    if not rows:
        return Text("No agent holds anything.", style="dim")
    now = from_text(at) or 0
    columns = ("agent", "holds", "attempt", "for", "lease")
    cells = (_held_cells(agent, holding, now) for agent, holding in rows)
    return table(columns, cells, whole=columns, overflow="ellipsis")


def _held_cells(agent: Json, holding: Mapping[str, Json], now: int) -> tuple[object, ...]:
    since, until = from_text(holding["since"]), from_text(holding["lease_expires_at"])
    took = "" if since is None else span(max(0.0, seconds(now - since)))
    place = Text(f"{clean(holding['workflow_id'])} {clean(holding['state'])}")
    return agent, place, holding["attempt"], took, _lease(until, now)


def _lease(until: int | None, now: int) -> Text:
    if until is None:
        return Text("")
    return Text(f"{span(seconds(until - now))} left") if until > now else Text("expired", style="red")


def _follow(used: Place, out: Console, every: float) -> None:
    """Draw again and again, also while the place cannot be reached for a while, until somebody presses Ctrl-C."""
    with suppress(KeyboardInterrupt), Live(console=out, screen=True, auto_refresh=False) as live:
        while True:
            try:
                live.update(view(look(used), out.height), refresh=True)
            except DcfError as error:
                if error.code not in PASSING:
                    raise
                live.update(Text(f"dcf: {clean(error.message)}", style="yellow"), refresh=True)
            time.sleep(every)
