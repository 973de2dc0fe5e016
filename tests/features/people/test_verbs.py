"""The tools with which people are asked and answer, through an MCP client and with API keys over real HTTP."""

import secrets
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import Answer, Tools, new_run, serving

pytestmark = pytest.mark.anyio

GIVEN = {"to": ["alice", {"group": "finance"}], "title": "Approve the order", "details": {"total": 7}}


def asking(**more: Any) -> dict[str, Any]:
    work = {"Type": "Task", "Next": "Ask"}
    ask_them = {"Type": "Task", "Resource": "dcf:human", "Parameters": {**GIVEN, **more}, "End": True}
    return {"asl": {"StartAt": "Work", "States": {"Work": work, "Ask": ask_them}}}


async def asked(tools: Tools, **more: Any) -> str:
    """A run that waits for people, after agent writer-1 worked."""
    agents = {"agents_map_json": {"Work": "writer-1"}}
    run = await new_run(tools, f"run-{secrets.token_hex(4)}", asking(**more), **agents)
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    holder = {"workflow_id": run, "state": "Work", "owner_agent_id": "writer-1"}
    answer = await tools.ok("acquire_state_lease", **holder)
    done = {"new_status": "succeeded", "output_json": {}, "lease_token": answer["lease"]["token"]}
    await tools.ok("update_workflow_control_plane", **holder, **done)
    return run


def person(*groups: str, name: str = "alice") -> Caller:
    scopes = frozenset({Scope.READ, Scope.ANSWER})
    return Caller(name=f"key:{secrets.token_hex(6)}", scopes=scopes, agent_id=name, groups=frozenset(groups))


async def test_a_task_is_found_by_person_group_and_run_and_shown_whole_by_its_state(operator: Tools) -> None:
    run = await asked(operator, to=["ann", {"group": "painters"}])
    for query in ({"person": "ann"}, {"group": "painters"}, {"workflow_id": run}):
        answer = await operator.ok("list_human_tasks", **query)
        (task,) = [task for task in answer["tasks"] if task["workflow_id"] == run]
        assert (task["state"], task["title"], task["choices"]) == ("Ask", "Approve the order", ["approve", "reject"])
        assert "details" not in task
    (whole,) = (await operator.ok("list_human_tasks", workflow_id=run, state="Ask"))["tasks"]
    assert whole["details"] == {"total": 7}
    assert (await operator.ok("list_human_tasks", workflow_id=run, person="bob"))["tasks"] == []
    await operator.refused("invalid_argument", "list_human_tasks", state="Ask")
    await operator.refused("invalid_argument", "list_human_tasks", cursor="nonsense")
    await operator.refused("unknown_run", "list_human_tasks", workflow_id="no-such-run")


async def test_an_answer_ends_the_state_once(operator: Tools) -> None:
    run = await asked(operator)
    (task,) = (await operator.ok("list_human_tasks", workflow_id=run))["tasks"]
    call = {"workflow_id": run, "state": "Ask", "choice": "approve", "agent_id": "alice", "epoch": task["epoch"]}
    done = await operator.ok("answer_human_task", **call, answer_json='{"a": 1}', comment="fine", request_id="r1")
    assert (done["run_status"], done["answered_by"], done["repeated"]) == ("succeeded", "alice", False)
    again = await operator.ok("answer_human_task", **call, answer_json={"a": 1}, comment="fine", request_id="r1")
    assert again["repeated"] is True
    late = await operator.refused("already_answered", "answer_human_task", **call)
    assert "'alice'" in late.error
    read = await operator.ok("read_workflow_control_plane", workflow_id=run)
    assert read["outputs"]["Ask"]["answer"] == {"a": 1}


async def test_two_people_answer_at_once_and_one_wins(operator: Tools) -> None:
    run = await asked(operator, to=["alice", "bob"])
    answers: list[Answer] = []

    async def go(name: str) -> None:
        call = {"workflow_id": run, "state": "Ask", "choice": "approve", "agent_id": name}
        answers.append(await operator.call("answer_human_task", **call))

    async with anyio.create_task_group() as group:
        group.start_soon(go, "alice")
        group.start_soon(go, "bob")
    (winner,) = [answer for answer in answers if answer.code == "ok"]
    (loser,) = [answer for answer in answers if answer.code == "already_answered"]
    assert f"'{winner['answered_by']}'" in loser.error


async def test_a_key_stands_for_its_person_and_its_groups_only(operator: Tools, alone: Application) -> None:
    run = await asked(operator)
    call = {"workflow_id": run, "state": "Ask", "choice": "approve"}
    other = await ask(alone, person(name="bob"), "answer_human_task", **call)
    assert other.code == "not_asked"
    posing = await ask(alone, person(name="bob"), "answer_human_task", **call, agent_id="alice")
    assert posing.code == "forbidden"
    joined = await ask(alone, person("sales", name="bob"), "answer_human_task", **call, group="finance")
    assert joined.code == "forbidden"
    worker = await ask(alone, key_of(Scope.READ, Scope.WORK, agent_id="alice"), "answer_human_task", **call)
    assert worker.code == "forbidden"
    reply = await ask(alone, key_of(Scope.READ, Scope.ANSWER), "answer_human_task", **call)
    assert reply.code == "invalid_argument"
    mine = await ask(alone, person("finance", name="bob"), "list_human_tasks", person="bob")
    assert run in {task["workflow_id"] for task in mine["tasks"]}
    done = await ask(alone, person("finance", name="bob"), "answer_human_task", **call)
    assert (done.code, done["answered_by"]) == ("ok", "bob")


async def test_who_did_the_work_does_not_approve_it(operator: Tools, alone: Application) -> None:
    run = await asked(operator, to=["writer-1", "alice"], not_by={"producers": True})
    call = {"workflow_id": run, "state": "Ask", "choice": "approve"}
    own = await ask(alone, person(name="writer-1"), "answer_human_task", **call)
    assert own.code == "excluded"
    assert (await ask(alone, person(), "answer_human_task", **call)).code == "ok"


async def test_who_starts_a_server_over_stdio_answers_for_nobody(tools: Tools) -> None:
    run = await asked(tools)
    call = {"workflow_id": run, "state": "Ask", "choice": "approve", "agent_id": "alice"}
    assert "answer_human_task" not in tools.listed
    result = await tools.client.call_tool("answer_human_task", call)
    assert "forbidden" in str(result.content)


async def test_who_is_asked_gets_an_event(operator: Tools) -> None:
    name = f"p-{secrets.token_hex(4)}"
    run = await asked(operator, to=name)
    event = (await operator.ok("await_workflow_event", lease=False, agent_id=name, timeout_s=50))["event"]
    assert (event["type"], event["workflow_id"], event["target_state"]) == ("human_task", run, "Ask")
    assert event["title"] == "Approve the order"


async def test_a_run_that_asks_people_is_explained(operator: Tools) -> None:
    run = await asked(operator)
    (finding,) = (await operator.ok("explain_run", workflow_id=run))["findings"]
    assert finding["cause"] == "waiting_for_person"
    assert finding["remedy"]["call"]["tool"] == "answer"
    arguments = finding["remedy"]["call"]["arguments"]
    assert (await operator.ok("answer", **arguments))["run_status"] == "succeeded"


async def test_pages_go_on(operator: Tools) -> None:
    name = f"p-{secrets.token_hex(4)}"
    runs = [await asked(operator, to=name) for _ in range(3)]
    first = await operator.ok("list_human_tasks", person=name, limit=2)
    rest = await operator.ok("list_human_tasks", person=name, limit=2, cursor=first["next_cursor"])
    assert [task["workflow_id"] for task in (*first["tasks"], *rest["tasks"])] == runs
    assert rest["next_cursor"] is None


@rows("state", ["Ask the boss", "Prüfung", "100% / done"])
async def test_pages_go_on_whatever_the_states_are_called(operator: Tools, state: str) -> None:
    name = f"p-{secrets.token_hex(4)}"
    ask_them = {"Type": "Task", "Resource": "dcf:human", "Parameters": {**GIVEN, "to": name}, "End": True}
    document = {"asl": {"StartAt": state, "States": {state: ask_them}}}
    runs = [await new_run(operator, f"run-{secrets.token_hex(4)}", document, agents_map_json={}) for _ in range(2)]
    first = await operator.ok("list_human_tasks", person=name, limit=1)
    rest = await operator.ok("list_human_tasks", person=name, limit=1, cursor=first["next_cursor"])
    assert [task["workflow_id"] for task in (*first["tasks"], *rest["tasks"])] == runs


# Over HTTP


@pytest.fixture(scope="module")
def site(replica: Callable[..., Application]) -> Application:
    return replica(auth="keys", profile="person")


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


@asynccontextmanager
async def session(url: str, key: str) -> AsyncIterator[Tools]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http)) as client,
    ):
        yield await Tools.of(client)


async def test_a_person_with_a_key_of_a_group_sees_two_tools_and_approves(
    operator: Tools, site: Application, url: str
) -> None:
    run = await asked(operator)
    scopes = (Scope.READ, Scope.ANSWER)
    key = site.keys.create(scopes, agent_id="carol", label=None, life_s=3600, groups=("finance",))
    async with session(url, key.text) as carol:
        assert carol.listed == {"list_asked", "answer"}
        mine = await carol.ok("list_asked", kind="task", agent_id="carol")
        assert run in {task["workflow_id"] for task in mine["tasks"]}
        done = await carol.ok("answer", workflow_id=run, state="Ask", choice="reject", comment="too dear")
        assert done["answered_by"] == "carol"
    events = await operator.ok("read_run_events", workflow_id=run, types_json=["StateConcluded"])
    (event,) = events["events"]
    assert (event["answered_by"], event["by"]) == ("carol", f"key:{key.record.key_id}")
