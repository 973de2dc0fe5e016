"""Makes commands of functions. Loads nothing else: a command of its own imports its function and no description."""

import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import typer
from typer.core import TyperCommand
from typer.main import get_command


def named(place: str) -> Callable[..., Any]:
    """Return a function of the command line that a description names as `module:function`."""
    module, _, function = place.partition(":")
    # nosemgrep: nothing-of-a-caller-is-executed - named by the description of a verb
    return cast("Callable[..., Any]", getattr(import_module(module), function))


def declared(name: str, function: Callable[..., Any], help_text: str | None = None) -> TyperCommand:
    """Return the command that a function is; without a text its docstring is the help."""
    declaring = typer.Typer(rich_markup_mode="rich", add_completion=False)
    declaring.command(name.rpartition(" ")[2], help=help_text or inspect.getdoc(function) or "")(function)
    command = get_command(declaring)
    assert isinstance(command, TyperCommand)
    return command
