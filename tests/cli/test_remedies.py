"""What a diagnosis advises exists: every tool call has right arguments, and every command is one of dcf's."""

import inspect
import shlex
from typing import Final

import pytest
import typer.main

from dcf.cli.app import app
from dcf.core import remedies
from dcf.core.findings import Remedy
from dcf.tools import profiles  # noqa: F401 - importing it registers all tools
from dcf.tools.registry import TOOLS

GIVEN: Final = {"run": "order-42", "state": "Each/17/It's done", "agent_id": "a-1", "advice": "Free memory."}

ALL: Final = {
    name: make(**{argument: GIVEN[argument] for argument in inspect.signature(make).parameters})
    for name, make in inspect.getmembers(remedies, inspect.isfunction)
    if make.__module__ == remedies.__name__
}
"""Every remedy there is, for a state whose name a shell would take apart."""

TO_COME: Final = frozenset(
    {"resume_run", "cancel_run", "resolve_state", "notify", "release", "resume", "cancel", "resolve"}
)


@pytest.mark.parametrize("remedy", ALL.values(), ids=ALL)
def test_the_advised_call_is_a_call_of_a_tool(remedy: Remedy) -> None:
    if remedy.tool is None or (remedy.tool in TO_COME and remedy.tool not in TOOLS):
        return
    TOOLS[remedy.tool].arguments.model_validate(dict(remedy.arguments))


@pytest.mark.parametrize("remedy", ALL.values(), ids=ALL)
def test_the_advised_command_is_a_command_with_these_arguments(remedy: Remedy) -> None:
    if remedy.command is None:
        return
    dcf, name, *words = shlex.split(remedy.command)
    assert dcf == "dcf"
    found = typer.main.get_command(app).commands.get(name)  # type: ignore[attr-defined]
    if found is None and name in TO_COME:
        return
    assert found is not None, name
    found.make_context(name, words)
