"""The text of `dcf --help`: the commands of every day and the nouns, each on a line, on one screen."""

from collections.abc import Iterator
from typing import Final

from dcf.cli.command_table import DAILY, NOUNS

_TOGETHER: Final = {
    ("validate", "compile", "graph", "simulate"): "Check, print, draw, try out a workflow",
    ("host", "web"): "Run agents without a server; serve the web page",
}
"""Commands that share a line."""

_WIDTH: Final = max(map(len, (*DAILY, *NOUNS))) + 2


def front_page() -> str:
    """Return the page."""
    parts = (
        "Usage: dcf [--context NAME] COMMAND ...  or: dcf --version, --install-completion",
        "Run workflows in which agents, Python functions and people do the steps. Try:",
        "  dcf run workflows/order_flow.py --input workflows/order_processing/order.json",
        "Every day:",
        *_daily(),
        "By noun (`dcf NOUN --help` lists its commands):",
        *(_line(name, noun.line) for name, noun in NOUNS.items()),
        "Exit codes: 0 done  1 refused or failed  2 wrong use  3 not there  4 no Redis",
    )
    return "\n".join(parts)


def _daily() -> Iterator[str]:
    shared = {name: names for names in _TOGETHER for name in names}
    for name, does in DAILY.items():
        names = shared.get(name)
        if names is None:
            yield _line(name, does)
        elif name == names[0]:
            yield _line(", ".join(names), _TOGETHER[names])


def _line(name: str, does: str) -> str:
    return f"  {name:<{_WIDTH - 2}}  {does}"
