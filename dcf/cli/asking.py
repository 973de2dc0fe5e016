"""Asks before a command does what cannot be undone."""

import sys

import typer

from dcf.errors import InvalidArgument


def ask(question: str, *, yes: bool) -> None:
    """Ask on a terminal, and end the command where the answer is no. Without a terminal `--yes` must say it."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidArgument("This cannot be undone, and nobody can be asked here.", "Add --yes to do it.")
    typer.confirm(question, abort=True, err=True)
