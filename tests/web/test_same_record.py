"""The page answers with the same record as the tool: each action that it carries out, and each page that shows records.

What an action or a page gets of a verb is noted where it gets it. Actions are driven as a browser does, confirmation
and all. What differs from thing to thing is put aside, as in `tests/cli/places/test_same_record.py`.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from dcf.application.application import Application
from dcf.cli.places.here import ToolsHere
from dcf.core.access.model import Scope
from dcf.verbs.description.verb import VERBS
from dcf.verbs.envelope import Reply, call
from dcf.verbs.wording.languages import Labels
from dcf.verbs.wording.sentences import worded
from dcf.web import actions
from dcf.web.action_table import ACTIONS
from dcf.web.visit import Visit
from tests.support.scenario.calls import CALLS
from tests.support.scenario.interfaces import record_of_tool
from tests.support.scenario.records import differences, steady
from tests.support.scenario.things import TASK, Things
from tests.support.tables import rows
from tests.web.test_actions import logged_in, token_of
from tests.web.visitors import Visitor, form

pytestmark = pytest.mark.anyio

Ask = Callable[..., dict[str, Any]]

CALLED: Final[Mapping[str, Callable[[Ask, Things], Mapping[str, Any]]]] = {
    "start_run": lambda ask, at: {"definition": _workflow(ask, at)},
}
"""How actions are called whose forms do not take what the scenario sends."""

PAGES: Final[Mapping[str, Callable[[Things], str]]] = {
    "list_runs": lambda at: f"/ui/agents?at={at.run}",
    "explain_run": lambda at: f"/ui/why?run={at.paused}",
    "list_human_tasks": lambda at: f"/ui/inbox?run={at.asking}",
    "list_gates": lambda at: f"/ui/inbox?run={at.gated}&state=Only",
    "get_definition": lambda at: f"/ui/workflows/{quote(_workflow(at._ask, at))}",
    "read_health": lambda _: "/ui/system",
}


def _workflow(ask: Ask, at: Things) -> str:
    name = f"sample-{at.mark}"
    ask("put_definition", kind="workflow", name=name, content=json.dumps(TASK))
    return name


@pytest.fixture
def ask(application: Application) -> Ask:
    """Calls a tool as the local user does."""
    return ToolsHere(application).call


@pytest.fixture
def things(ask: Ask, tmp_path: Path) -> Callable[[], Things]:
    """Make things for one interface."""
    return lambda: Things(ask, tmp_path)


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, Mapping[str, Any]]]]:
    """What actions of the page get of tools: the tool, and its answer."""
    answers: list[tuple[str, Mapping[str, Any]]] = []

    async def noted(spec: Any, *more: Any) -> Reply:
        reply = await call(spec, *more)
        answers.append((spec.name, reply.payload))
        return reply

    monkeypatch.setattr(actions, "call", noted)
    yield answers


def test_every_action_is_called() -> None:
    assert ACTIONS.keys() <= CALLS.keys()


@rows("name", sorted(ACTIONS))
async def test_an_action_of_the_page_receives_the_record_of_the_tool(
    keyed: Application,
    ask: Ask,
    things: Callable[[], Things],
    received: list[tuple[str, Mapping[str, Any]]],
    name: str,
) -> None:
    verb, at, other = VERBS[name], things(), things()
    sent = CALLED[name](ask, at) if name in CALLED else CALLS[name](at)
    answer = ask(name, **sent)
    assert answer["code"] == "ok"
    fields = verb.record.__dataclass_fields__
    record = steady({member: answer[member] for member in fields if member in answer}, at)
    visitor = await logged_in(keyed, *Scope)
    shown = await acted(visitor, name, CALLED[name](ask, other) if name in CALLED else CALLS[name](other))
    ((tool, payload),) = received
    assert (tool, payload["code"]) == (name, "ok"), payload
    told = steady({member: payload[member] for member in fields if member in payload}, other)
    assert list(differences(told, record)) == []
    said = worded(str(payload["status"] or "done"), Labels(), name, {}).replace("_", " ")
    assert f"✔ {ACTIONS[name].title}: {said[:200]}" in unescape(shown)
