"""Asks before a command does what cannot be undone, or answers what its user has not said to have read."""

import sys
from collections.abc import Callable

import typer

from dcf.errors import InvalidArgument


def ask(question: str, *, yes: bool) -> None:
    """Ask on a terminal, and end the command where the answer is no. Without a terminal `--yes` must say it."""
    if yes:
        return
    if not can_ask():
        raise InvalidArgument("This cannot be undone, and nobody can be asked here.", "Add --yes to do it.")
    typer.confirm(question, abort=True, err=True)


def ask_if_read(show: Callable[[], None], question: str, *, otherwise: str) -> None:
    """Show on a terminal what is answered, ask, and end the command where the answer is no.

    Without a terminal the command must name what was read: `otherwise` says how.
    """
    if not can_ask():
        raise InvalidArgument("The command does not say what was read, and there is no terminal to ask on.", otherwise)
    show()
    typer.confirm(question, abort=True, err=True)


def can_ask() -> bool:
    """Return True if somebody sits at a terminal."""
    return sys.stdin.isatty()
