"""A verb is described once: the tool, the command, the client's method and the page's action follow from that."""

import inspect
from typing import Any

import pytest

from dcf.cli.commands.derived import command_of_verb
from dcf.client import AsyncClient, Client
from dcf.tools.mcp import selection
from dcf.verbs.description.table import TABLE
from dcf.verbs.description.verb import VERBS, Verb
from dcf.verbs.registry import TOOLS
from dcf.web.action_table import ACTIONS
from interfaces.client_methods import method_of
from tests.support.tables import rows

DESCRIBED = sorted(VERBS.values(), key=lambda verb: verb.name)
BY_NAME = {verb.name: verb for verb in DESCRIBED}


def test_the_table_has_every_tool() -> None:
    assert set(TABLE) == set(TOOLS)
    assert {row.module for row in TABLE.values()} <= {*selection.MODULES}


@rows("name", BY_NAME)
def test_a_verb_has_the_same_arguments_everywhere(name: str) -> None:
    verb = BY_NAME[name]
    arguments = {item.name for item in verb.parameters}
    assert {item.tool_name for item in verb.parameters} == set(TOOLS[name].arguments.model_fields) - {"redis_url"}
    of_pages = {"limit", "cursor", "offset"} if verb.pages else set()
    for client in (Client, AsyncClient):
        method = inspect.signature(getattr(client, method_of(verb)))
        assert verb.steps is not None or set(method.parameters) - {"self"} == arguments - of_pages
    for command in (command for command in verb.commands if command.function is None):
        options = {parameter.name for parameter in command_of_verb(name, command.name).params}
        assert options - {"as_json", "yes", "help"} == arguments - set(command.fixed)
    if verb.page is not None:
        names = [item.name for item in ACTIONS[name].given]
        assert set(names) <= {item.tool_name for item in verb.parameters}
        assert len(names) == len(set(names)), "a form asks for each argument once"
        needed = {item.tool_name for item in verb.parameters if item.is_required or item.name in verb.page.needed}
        assert {item.name for item in ACTIONS[name].given if item.needed} == needed.intersection(names)


@rows("name", BY_NAME)
def test_a_verb_has_the_same_answer_everywhere(name: str) -> None:
    verb = BY_NAME[name]
    members = set(verb.record.__dataclass_fields__)
    assert members <= set(TOOLS[name].answer.model_fields)
    refused = TOOLS[name].answer(code="refused", error="Check.").payload()
    assert verb.pages is None or refused.get(verb.pages, []) == [], "a refusal has an empty page"
    names_a_run = any(item.name == "workflow_id" and item.is_required for item in verb.parameters)
    assert members >= {"workflow_id"} or not names_a_run


@rows("name", BY_NAME)
def test_what_comes_next_is_a_verb(name: str) -> None:
    assert {item.verb for item in BY_NAME[name].next} <= set(TABLE)


@rows("name", BY_NAME)
def test_what_destroys_asks_before(name: str) -> None:
    verb = BY_NAME[name]
    asks = all(command.question is not None or command.before is not None for command in verb.commands)
    assert asks or verb.effect != "destroys"


def test_an_unknown_field_of_a_description_is_refused() -> None:
    def wrong(on: Any) -> None:
        """Do nothing."""

    with pytest.raises(TypeError, match="colour"):
        Verb(function=wrong, toolset="operations", scope="plan", says=str, colour="red")  # type: ignore[call-arg]
