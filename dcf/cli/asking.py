"""Asks before a command does what cannot be undone, or answers what its user has not said to have read."""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import typer

from dcf.cli.text import clean
from dcf.errors import InvalidArgument

Row = TypeVar("Row")


def ask(question: str, *, yes: bool) -> None:
    """Ask on a terminal, and end the command where the answer is no. Without a terminal `--yes` must say it."""
    if yes:
        return
    if not can_ask():
        raise InvalidArgument("This cannot be undone, and nobody can be asked here.", "Add --yes to do it.")
    typer.confirm(question, abort=True, err=True)


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
    typer.confirm(question if rows else nothing, abort=True, err=True)


def can_ask() -> bool:
    """Return True if somebody sits at a terminal."""
    return sys.stdin.isatty()
