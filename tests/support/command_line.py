"""The command line in this process."""

from functools import cache

import pytest
import typer.main
import typer.testing
from typer.testing import CliRunner, Result

from dcf.cli.app import app

_command_of = cache(typer.main.get_command)


def call(*arguments: object, stdin: str | None = None, **environment: str) -> Result:
    """Call `dcf`. It may print an error, but it may raise none.

    Typer builds all commands at each call, which takes 50 ms; here it builds them once.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(typer.testing, "_get_command", _command_of)
        result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin, env=environment)
    if not isinstance(result.exception, SystemExit | None):
        raise result.exception
    assert "Traceback" not in result.output
    return result
