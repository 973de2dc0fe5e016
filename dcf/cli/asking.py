"""Asks before a command does what cannot be undone, or answers what its user has not said to have read."""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import typer

from dcf.cli.places.choice import elsewhere
from dcf.cli.text import clean
from dcf.errors import InvalidArgument

Row = TypeVar("Row")


def ask(question: str, *, yes: bool, place: str | None = None) -> None:
    """Ask on a terminal, and end the command where the answer is no. Without a terminal `--yes` must say it.

    The question names the place where that is not this machine: what is destroyed there is other people's work.
    """
    if yes:
        return
    if not can_ask():
        raise InvalidArgument("This cannot be undone, and there is no terminal to ask on.", "Add --yes to do it.")
    typer.confirm(f"{question}{_at(elsewhere() if place is None else place)}", abort=True, err=True)


def ask_if_read(
    rows: Sequence[Row], show: Callable[[Row], None], question: str, *, waits_at: str, otherwise: str
) -> None:
    """Show on a terminal what is answered, ask, and end the command where the answer is no.

    If there are no `rows`, nothing waits at that place. Without a terminal the command must name what was read:
    `otherwise` says how.
    """
    if not can_ask():
        raise InvalidArgument("The command does not say what was read, and there is no terminal to ask on.", otherwise)
    for row in rows:
        show(row)
    nothing = f"Nothing waits at {clean(waits_at)}. Try it all the same?"
    typer.confirm(f"{question if rows else nothing}{_at(elsewhere())}", abort=True, err=True)


def _at(place: str) -> str:
    return f" ({clean(place)})" if place else ""


def can_ask() -> bool:
    """Return True if somebody sits at a terminal."""
    return sys.stdin.isatty()
