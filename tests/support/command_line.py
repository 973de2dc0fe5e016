"""The command line in this process."""

from contextvars import copy_context
from functools import cache

import pytest
import typer.main
import typer.testing
from typer.testing import CliRunner, Result

from dcf.cli.app import app

_command_of = cache(typer.main.get_command)


def call(*arguments: object, stdin: str | None = None, **environment: str) -> Result:
    """Call `dcf`. It may print an error, but it may raise none.

    Typer builds all commands at each call, which takes 50 ms; here it builds them once. Like a process, a call does not
    leave its `--context` behind.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", _command_of)
        words = [str(argument) for argument in arguments]
        result = copy_context().run(CliRunner().invoke, app, words, input=stdin, env=environment)
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    assert "Traceback" not in result.output
    return result
