"""Recorded data of each earlier version works with this one: listed, explained, exported, and continued to its end."""

import json
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest
import redis

from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections, open_pool
from lab.extras import Calls
from tests.support.command_line import call
from tests.support.redis.dumps import lines_of
from tests.support.waiting import wait_until
from tests.system.upgrades.conftest import Restored
from tests.system.upgrades.servers import served
from tests.system.upgrades.team import LONG_S, Team
from tests.system.upgrades.waiting_stages import STAGES

OF_THE_MOMENT = {"ready", "ready_since"}
"""The changes of time alone: a lease has expired, or a wait has ended."""

pytestmark = pytest.mark.processes


@pytest.fixture
def calls(restored: Restored, tmp_path: Path) -> Iterator[Calls]:
    """Calls to a server of this version."""
    with served(restored.port, tmp_path / "server.log") as server:
        yield server.calls


def answer_of(restored: Restored, *arguments: str) -> Any:
    """The JSON of a command of this version."""
    result = call(*arguments, "--json", REDIS_URL=restored.url)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_dump_holds_every_stage_and_is_restored_as_it_was(restored: Restored) -> None:
    assert {*restored.facts} == {*STAGES}
    with redis.Redis(port=restored.port) as client:
        lines = {line["key"]: line for line in lines_of(client)}
    for line in restored.lines:
        again = lines.pop(line["key"])
        assert {**again, "life_s": None} == {**line, "life_s": None}
        assert ("life_s" in again) == ("life_s" in line)
    assert lines == {}


def test_every_run_is_listed_shown_explained_and_exported(restored: Restored) -> None:
    listed = {run["workflow_id"] for run in answer_of(restored, "ls", "--limit", "100")}
    assert {*STAGES, "parent-model", restored.facts["parent"]["child"]} <= listed
    for run in STAGES:
        assert answer_of(restored, "show", run)["meta"]["workflow_id"] == run
        assert answer_of(restored, "why", run)["workflow_id"] == run
        assert answer_of(restored, "runs", "export", run)["workflow_id"] == run
        events = call("runs", "events", run, "--json", REDIS_URL=restored.url).stdout.splitlines()
        assert json.loads(events[0])["type"] in {"RunCreated", "RunOpened"}


def test_every_run_is_shown_as_the_version_showed_it_that_wrote_it(restored: Restored) -> None:
    for run, before in restored.shown.items():
        now = answer_of(restored, "show", run)
        assert now["outputs"] == before["outputs"], run
        assert {name: now["meta"].get(name) for name in before["meta"]} == before["meta"], run
        assert now["states"].keys() == before["states"].keys(), run
        for name, state in before["states"].items():
            stored = state.keys() - OF_THE_MOMENT
            assert {item: now["states"][name].get(item) for item in stored} == {item: state[item] for item in stored}, (
                run,
                name,
            )


def test_doctor_finds_nothing_wrong(restored: Restored, calls: Calls) -> None:
    reports: list[Any] = []

    def is_well() -> bool:
        result = call("doctor", "--json", REDIS_URL=restored.url)
        reports.append(json.loads(result.stdout))
        return result.exit_code == 0

    wait_until(is_well, LONG_S)  # the clock of the server has much to do
    lists = reports[0]["lists"]
    assert (lists["missing"], lists["dangling"]) == ({}, {})


def test_every_run_is_continued_to_its_end(restored: Restored, calls: Calls) -> None:
    for name, stage in STAGES.items():
        team = Team(name, repeat(calls), is_prompt=False)
        for _ in stage.go_on(team, restored.facts[name]):
            pass
        assert (team.status(), team.output()) == ("succeeded", stage.output), name
    for run in STAGES:
        assert answer_of(restored, "runs", "export", run)["workflow_id"] == run


def test_what_is_of_no_run_is_there_and_works(restored: Restored, calls: Calls) -> None:
    def ask(tool: str, **arguments: Any) -> Any:
        answer = calls.surely(tool, **arguments)
        assert answer["code"] == "ok", answer
        return answer

    assert [schedule["name"] for schedule in ask("list_schedules")["schedules"]] == ["nightly"]
    run = ask("operate_schedule", name="nightly", action="trigger")["workflow_id"]
    assert ask("read_workflow_control_plane", workflow_id=run)["meta"]["status"] == "running"
    assert "hook" in {agent["agent_id"] for agent in ask("list_registered_agents")["agents"]}
    assert ask("get_project", project="shop")["project"]["name"] == "Shop"
    assert [finding["title"] for finding in ask("search_findings", text="currency")["findings"]] == ["No currency"]
    assert "Read it twice." in ask("get_definition", kind="rule", name="review")["definition"]["content"]
    assert json.loads(ask("json_read", redis_key="doc:notes")["value_json"]) == {"seen": [1, 2.5, None, "ü"]}
    assert ask("await_workflow_event", agent_id="pia", timeout_s=0)["event"]["type"]


def test_an_api_key_still_opens(restored: Restored) -> None:
    connections = Connections(open_pool(restored.url))
    keys = AccessKeys(connections)
    assert keys.admit(restored.api_key)
    connections.close()
