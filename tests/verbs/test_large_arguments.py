"""Arguments made to be costly: they delay no other caller, and are not answered one by one."""

import threading
from collections.abc import Iterator
from typing import Any

import anyio
import pytest
from pydantic import Field, model_validator

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.verbs.argument_checks import is_large
from dcf.verbs.registry import TOOLS, Answer, Arguments
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.registering import tool

pytestmark = pytest.mark.anyio

READER = key_of(Scope.READ)
MANY = 350_000


class _Gate:
    """Stops the check of arguments until it is opened."""

    def __init__(self) -> None:
        self.entered, self.opened, self.checks = threading.Event(), threading.Event(), 0

    def pass_through(self, pass_through: Any) -> Any:
        self.checks += 1
        self.entered.set()
        assert self.opened.wait(60), "nobody else was served meanwhile"
        return pass_through


@pytest.fixture
def gate() -> Iterator[_Gate]:
    result = _Gate()

    class GatedTool(Arguments):
        """Check: a tool for one test."""

        payload: Any = Field(default=None, description="Anything.")
        name: str = Field(default="", max_length=10, description="A name.")

        @model_validator(mode="before")
        @classmethod
        def _wait(cls, given: Any) -> Any:
            return result.pass_through(given)

    @tool(Scope.READ, GatedTool)
    def gated_tool(app: Application, args: GatedTool) -> Answer:
        return Answer(status=f"{len(args.payload)} values")

    yield result
    result.opened.set()
    del TOOLS._specs["gated_tool"]


async def test_others_are_answered_while_large_arguments_are_checked(gate: _Gate, application: Application) -> None:
    answers = []

    async def call() -> None:
        answers.append(await ask(application, READER, "gated_tool", payload=[1] * MANY))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(call)
        with anyio.fail_after(60):
            await anyio.to_thread.run_sync(gate.entered.wait)
            other = await ask(application, key_of(Scope.READ, name="key:other"), "get_skillset")
        assert (other.code, answers) == ("ok", [])
        gate.opened.set()
    assert answers[0]["status"] == f"{MANY} values"


async def test_what_is_wrong_with_large_arguments_is_told_as_ever(gate: _Gate, application: Application) -> None:
    gate.opened.set()
    answer = await ask(application, READER, "gated_tool", payload=[1] * MANY, name="longer than ten")
    assert answer.error == "invalid_argument: name must be a string of at most 10 characters."


async def test_names_that_a_tool_does_not_have_are_counted_and_not_checked(
    gate: _Gate, application: Application
) -> None:
    unknown = {f"a{number}": 1 for number in range(MANY)}
    answer = await ask(application, READER, "gated_tool", name="n", **unknown)
    assert answer.error == "invalid_argument: There is no argument 'a0', nor 349999 more that were sent."
    assert answer.hint == "The arguments are: payload, name."
    assert gate.checks == 0, "pydantic would build an error for each"


@rows(
    ("arguments", "large"),
    [
        ({}, False),
        ({"a": "x" * 60_000}, False),
        ({"a": "x" * 70_000}, True),
        ({f"a{number}": 1 for number in range(1000)}, True),
        ({"a": [0] * 999, "b": [0]}, True),
        ({"a": {"b": [{"c": [0] * 2000}]}}, True),
        ({"a": {"b": [{"c": [0] * 900}]}}, False),
        ({"a": 10**400}, False),
    ],
)
def test_large_is_what_has_many_values_or_long_text_at_any_depth(arguments: dict[str, Any], large: bool) -> None:
    assert is_large(arguments) is large
