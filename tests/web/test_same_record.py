"""The page answers with the same record as the tool: each action that it carries out, and each page that shows records.

The answer of a verb to an action or a page is noted at its arrival. Actions are driven as a browser does, confirmation
and all. Differences between things are put aside, as in `tests/cli/places/test_same_record.py`.
"""

import json
from collections.abc import Callable, Mapping
from html import unescape
from pathlib import Path
from typing import Any, Final

import pytest

from dcf.application.application import Application
from dcf.cli.places.here import ToolsHere
from dcf.core.access.model import Scope
from dcf.verbs.description.verb import VERBS
from dcf.verbs.envelope import Reply, call
from dcf.verbs.wording.languages import Labels, command_line
from dcf.verbs.wording.sentences import worded
from dcf.web import actions
from dcf.web.action_table import ACTIONS
from tests.support.scenario.calls import CALLS
from tests.support.scenario.records import differences, steady
from tests.support.scenario.things import TASK, Things
from tests.support.tables import rows
from tests.web.browsing import text_of
from tests.web.test_actions import logged_in, token_of
from tests.web.visitors import Visitor, form

pytestmark = pytest.mark.anyio

Ask = Callable[..., dict[str, Any]]
Made = Callable[[], Things]

CALLED: Final[Mapping[str, Callable[[Ask, Things], Mapping[str, Any]]]] = {
    "start_run": lambda ask, at: {"definition": _workflow(ask, at)},
}
"""How actions are called whose forms do not take what the scenario sends."""


def _workflow(ask: Ask, at: Things) -> str:
    """Keep a workflow, by starting a run of it; return its name and version."""
    name = f"release-{at.mark}"
    ask("start_run", workflow_json={**TASK, "workflow_name": name, "version": "1"})
    return f"{name}@1"


@pytest.fixture
def ask(application: Application) -> Ask:
    """Calls a tool as the local user does."""
    return ToolsHere(application).call


@pytest.fixture
def things(ask: Ask, tmp_path: Path) -> Callable[[], Things]:
    """Make things for one interface."""
    return lambda: Things(ask, tmp_path)


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Mapping[str, Any]]]:
    """The answers of tools to actions of the page: the tool, and its answer."""
    answers: list[tuple[str, Mapping[str, Any]]] = []

    async def noted(spec: Any, *more: Any) -> Reply:
        reply = await call(spec, *more)
        answers.append((spec.name, reply.payload))
        return reply

    monkeypatch.setattr(actions, "call", noted)
    return answers


def test_every_action_is_called() -> None:
    assert ACTIONS.keys() <= CALLS.keys()


@rows("name", sorted(ACTIONS))
async def test_an_action_of_the_page_receives_the_record_of_the_tool(
    keyed: Application,
    ask: Ask,
    things: Made,
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
    received.clear()
    shown = await acted(visitor, name, CALLED[name](ask, other) if name in CALLED else CALLS[name](other))
    ((tool, payload),) = received
    assert (tool, payload["code"]) == (name, "ok"), payload
    details = steady({member: payload[member] for member in fields if member in payload}, other)
    assert list(differences(details, record)) == []
    text = worded(str(payload["status"] or "done"), Labels(), name, {}).replace("_", " ")
    assert f"✔ {ACTIONS[name].title}: {text[:200]}" in unescape(shown)


async def acted(visitor: Visitor, name: str, sent: Mapping[str, Any]) -> str:
    """Ask for an action and confirm it, with these arguments; return the page that tells how it went."""
    action, address = ACTIONS[name], f"/ui/act/{name}"
    writtens = {item.name: written(item.kind, sent[item.name]) for item in action.given if item.name in sent}
    assert sent.keys() <= writtens.keys() | action.always.keys(), "the form takes what the tool takes"
    token = await token_of(visitor)
    confirmation = await visitor.post(address, {**writtens, "_token": token, "_back": "/ui/runs"})
    assert confirmation.status_code == 200, confirmation.text
    return (await visitor.follow(await visitor.post(address, form(confirmation.text, address) | writtens))).text


def written(kind: str, value: Any) -> str:
    """Return a value as a form has it."""
    if kind == "flag":
        return "1" if value else ""
    return value if isinstance(value, str) else json.dumps(value)


async def shown_at(visitor: Visitor, address: str) -> str:
    """Return what a page shows, as text."""
    answer = await visitor.get(f"/ui/{address}")
    assert answer.status_code == 200, answer.text
    return " ".join(text_of(answer.text).split())


async def test_the_list_of_runs_shows_the_rows_of_list_runs(keyed: Application, ask: Ask, things: Made) -> None:
    run = things().half
    (row,) = (row for row in ask("list_runs", limit=20)["runs"] if row["workflow_id"] == run)
    text = await shown_at(await logged_in(keyed, *Scope), "runs")
    assert f"{run} ▶ {row['status']} {row['states_done']}/{row['states']} {row['workflow_name']}" in text


async def test_the_page_of_a_run_shows_the_states_of_its_documents(keyed: Application, ask: Ask, things: Made) -> None:
    run = things().half
    answer = ask("read_workflow_control_plane", workflow_id=run, states_json=["Only", "Then"])
    text = await shown_at(await logged_in(keyed, *Scope), f"runs/{run}?tab=table")
    statuses = [answer["states"][name]["status"] for name in ("Only", "Then")]
    assert statuses == ["succeeded", "pending"]
    assert f"states {statuses.count('succeeded')} of {len(answer['meta']['states'])} ended" in text
    assert all(f"{statuses.count(status)} {status}" in text for status in statuses)
    assert all(name in text for name in answer["meta"]["states"])


async def test_the_history_of_the_page_has_the_events_of_read_run_events(
    keyed: Application, ask: Ask, things: Made
) -> None:
    run = things().half
    events = ask("read_run_events", workflow_id=run, limit=100)["events"]
    answer = await (await logged_in(keyed, *Scope)).get(f"/ui/runs/{run}/history.json")
    assert list(differences(json.loads(answer.text)["events"], events)) == []
    assert len(events) > 5


async def test_why_a_run_stands_is_shown_as_explain_run_has_it(keyed: Application, ask: Ask, things: Made) -> None:
    run = things().paused
    (finding,) = ask("explain_run", workflow_id=run)["findings"]
    text, call = await shown_at(await logged_in(keyed, *Scope), f"why?run={run}"), finding["remedy"]["call"]
    assert finding["evidence"]["paused_at"] in text
    assert worded(finding["remedy"]["sentence"], Labels()) in text
    assert command_line(call["tool"], **call["arguments"]) in text


async def test_the_inbox_shows_the_rows_of_what_waits(keyed: Application, ask: Ask, things: Made) -> None:
    at, visitor = things(), await logged_in(keyed, *Scope)
    (task,) = ask("list_human_tasks", workflow_id=at.asking)["tasks"]
    text = await shown_at(visitor, f"inbox?run={at.asking}")
    assert all(word in text for word in (task["title"], task["state"], task["workflow_id"], *task["to"]))
    text = await shown_at(visitor, f"inbox?run={at.asking}&state=Only")
    assert all(choice in text for choice in task["choices"])
    (gate,) = ask("list_gates", workflow_id=at.gated, state="Only")["gates"]
    page = (await visitor.get(f"/ui/inbox?run={at.gated}&state=Only")).text
    assert all(word in page for word in (gate["name"], gate["author"], *gate["criteria"], gate["content_sha256"]))


async def test_the_page_of_agents_shows_the_lease_of_the_documents(keyed: Application, ask: Ask, things: Made) -> None:
    run = things().held
    result = ask("read_workflow_control_plane", workflow_id=run, states_json=["Only"])["states"]["Only"]
    text = await shown_at(await logged_in(keyed, *Scope), "agents")
    assert f"{result['lease']['owner_agent_id']} Only {run} {result['attempts']}" in text


async def test_the_page_of_a_workflow_shows_its_definition(keyed: Application, ask: Ask, things: Made) -> None:
    name = _workflow(ask, things()).partition("@")[0]
    definition = ask("get_definition", kind="workflow", name=name)["definition"]
    text = await shown_at(await logged_in(keyed, *Scope), f"workflows/{name}")
    assert f"version {definition['version']} hash {definition['sha256'][:12]}" in text


async def test_the_system_page_shows_the_checks_of_read_health(keyed: Application, ask: Ask) -> None:
    checks = [check for check in ask("read_health")["checks"] if check["topic"] == "durability" and check["remedy"]]
    text = await shown_at(await logged_in(keyed, *Scope), "system")
    assert checks
    assert all(check["sentence"] in text and check["remedy"] in text for check in checks)
