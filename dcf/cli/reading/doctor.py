"""The report of `dcf doctor`: checks dcf's lists, reads the health report, prints it and chooses the exit code."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from dcf.cli import exit_codes
from dcf.cli.reading.answers import ask
from dcf.cli.reading.notes import span
from dcf.cli.reading.views import console
from dcf.cli.text import clean
from dcf.cli.wording import in_commands
from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.cli.places.place import Place

_MARKS: Final = {"ok": ("✔", "green"), "warning": ("!", "yellow"), "failing": ("✘", "red")}
_NARROW: Final = 80
"""Columns of the table where there is no terminal."""

_AGENTS_SHOWN: Final = 10
_LONGEST: Final = 1000


def examine(application: "Application", *, repair: bool = False) -> dict[str, Json]:
    """Check dcf's lists, repair them if asked, and return the health report with what this process runs on."""
    try:
        application.sweep.look(repair=repair)
    except StoreUnsuitable:
        pass  # the report tells why the lists could not be checked
    except StoreUnavailable:
        if repair:
            raise
    embedded = application.settings.redis_url is None
    return application.health.report().as_json() | {
        "python": sys.version.split()[0],
        "redis": f"embedded in {application.settings.data_dir}" if embedded else "REDIS_URL",
        "modules": list(application.server.modules),
        "server": f"{application.server.product} {application.server.version}",
        "documents": application.server.documents,
        "layout": application.server.layout,
    }


def examine_at(used: "Place") -> dict[str, Json]:
    """Return the health report of a server, which does not tell what it runs on."""
    answer = ask(used, "read_health")
    own = {name: answer[name] for name in ("ok", "level", "failing", "warnings", "checks")}
    return {**own, **answer["facts"]}


def exit_code(report: Mapping[str, Json], *, strict: bool) -> int:
    """Return 4 if calls fail, 1 if something else fails (if `strict`: or is worth a warning), else exit_codes.OK."""
    if not report["ok"]:
        return exit_codes.UNAVAILABLE
    return exit_codes.NO if report["failing"] or (strict and report["warnings"]) else exit_codes.OK


def print_report(report: Mapping[str, Json]) -> None:
    """Print a row for each check, what to do below it, and the agents seen last."""
    out = console()
    width = out.width if sys.stdout.isatty() else _NARROW
    table = Table(box=None, pad_edge=False, header_style="bold", width=min(width, out.width))
    table.add_column("check", no_wrap=True)
    table.add_column("level", no_wrap=True)
    table.add_column("what was found, and what to do", ratio=1)
    for row in report["checks"]:
        mark, style = _MARKS[row["level"]]
        text = Text(clean(row["sentence"], _LONGEST))
        if row["remedy"] is not None:
            text.append(f"\n→ {in_commands(clean(row['remedy'], _LONGEST))}", style="bold")
        table.add_row(Text(row["topic"]), Text(f"{mark} {row['level']}", style=style), text)
    out.print(table)
    _print_agents(out, report.get("agents", ()), report.get("agents_seen", 0))
    if "redis" in report:
        out.print(Text(_ground(report)), width=width)


def _print_agents(out: Console, agents: Sequence[Mapping[str, Json]], known: int) -> None:
    if not agents:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("agent", no_wrap=True)
    table.add_column("seen", no_wrap=True)
    for agent in agents[:_AGENTS_SHOWN]:
        table.add_row(Text(clean(agent["agent_id"])), Text(f"{span(agent['ago_s'])} ago"))
    out.print()
    out.print(table)
    if known > _AGENTS_SHOWN:
        out.print(Text(f"and {known - _AGENTS_SHOWN} more (--json names 50)"))


def _ground(report: Mapping[str, Json]) -> str:
    from dcf.store.forms.form import FORM_WORDS

    where = "REDIS_URL names it" if report["redis"] == "REDIS_URL" else clean(report["redis"], _LONGEST)
    modules = ", ".join(map(clean, report["modules"]))
    having = f", with the modules {modules}" if modules else ""
    text = f"documents {FORM_WORDS[report['documents']]}, key layout {report['layout']}"
    own = f"\ndcf {report['dcf']} on Python {report['python']}"
    return f"{own}; Redis: {where}{having}; {text}; {clean(report['server'], _LONGEST)}."
