"""The tools called in this process: what a server on standard input and output would answer, without one."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.errors import ToolCallFailed
from dcf.tools.calling.client import connect
from dcf.tools.calling.direct import ControlPlaneHere, DirectTools, control_plane_here
from dcf.tools.mcp.server import build_http_app
from tests.support.waiting import wait_until
from tests.tools.calls import ONE_TASK, TWO_TASKS, serving

Replica = Callable[..., Application]


@pytest.fixture(autouse=True)
def _no_clock_here(monkeypatch: pytest.MonkeyPatch) -> None:
    async def stand_still(_: Application) -> None:
        return

    monkeypatch.setattr("dcf.tools.calling.direct.keep_pulse", stand_still)


@pytest.fixture
def here(replica: Replica) -> Iterator[ControlPlaneHere]:
    with control_plane_here(replica()) as result:
        yield result


@pytest.fixture
def direct(here: ControlPlaneHere) -> DirectTools:
    return DirectTools(here, deadline_s=60)


def failure(tools: Any, tool: str, **arguments: Any) -> tuple[str, str, str]:
    with pytest.raises(ToolCallFailed) as failed:
        tools.call(tool, **arguments)
    return failed.value.code, failed.value.message, failed.value.hint


def test_answers_and_refusals_are_those_of_a_server(replica: Replica, direct: DirectTools, run_id: str) -> None:
    """Each call is made at a server and here, on the same run; what either did the other sees."""
    with serving(build_http_app(replica())) as url, connect(f"{url}/mcp", deadline_s=60) as served:
        for tools in (served, direct):
            made = tools.call("create_workflow_control_plane", workflow_json=TWO_TASKS, workflow_id=run_id)
            assert made["code"] == "ok"
        lease: dict[str, Any] = {"workflow_id": run_id, "state": "A", "lease_token": "mine", "owner_agent_id": "me"}
        assert direct.call("acquire_state_lease", **lease)["code"] == "ok"
        request = [
            ("acquire_state_lease", lease),
            ("acquire_state_lease", lease | {"state": "B"}),
            ("renew_state_lease", {"workflow_id": run_id, "state": "A", "lease_token": "guess"}),
            ("claim_ready_state", {"workflow_id": run_id, "owner_agent_id": "me"}),
            ("notify_next_worker_agent", {"workflow_id": run_id}),
            ("get_my_assignment", {"workflow_id": run_id, "agent_id": "me"}),
        ]
        for tool, arguments in request:
            here, there = (with_ids(item.call(tool, **arguments)) for item in (direct, served))
            assert here == there, tool


def with_ids(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with the ids that are drawn for each wait made equal."""
    for step in answer.get("next", ()):
        step["arguments"] = {
            name: "id" if name == "request_id" else argument for name, argument in step["arguments"].items()
        }
    return answer


def test_a_wrong_call_is_told_as_a_server_tells_it(replica: Replica, direct: DirectTools) -> None:
    with serving(build_http_app(replica())) as url, connect(f"{url}/mcp", deadline_s=60) as served:
        wrong: list[tuple[str, dict[str, Any]]] = [
            ("read_workflow_control_plane", {"workflow_id": "nobody"}),
            ("acquire_state_lease", {"workflow_id": "x", "state": "A"}),
            ("acquire_state_lease", {"workflow_id": "x", "state": "A", "owner_agent_id": "me", "lease_ttl_s": "7"}),
            ("finalize_workflow", {"workflow_id": "x", "everything": True}),
            ("create_workflow_control_plane", {"workflow_json": {"asl": {}}}),
        ]
        for tool, arguments in wrong:
            assert failure(direct, tool, **arguments) == failure(served, tool, **arguments), tool
    assert "no_such_tool" in failure(direct, "no_such_tool")[1]


def test_an_agent_waits_here_and_is_woken_from_another_thread(direct: DirectTools, run_id: str) -> None:
    agent = f"agent-{run_id}"
    direct.call(
        "create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id=run_id, agents_map_json={"A": agent}
    )
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(direct.call, "await_workflow_event", lease=False, agent_id=agent, timeout_s=50)
        direct.call("notify_next_worker_agent", workflow_id=run_id)
        result = waiting.result(20)
    assert (result["status"], result["event"]["workflow_id"]) == ("event", run_id)


def test_the_caller_is_the_local_user_who_is_no_operator_unless_asked_for(
    replica: Replica, direct: DirectTools, run_id: str
) -> None:
    direct.call("create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id=run_id)
    force = {"workflow_id": run_id, "state": "A", "force": True}
    assert failure(direct, "release_state_lease", **force)[:1] == ("forbidden",)
    with control_plane_here(replica(allow_operator=True)) as here:
        assert DirectTools(here).call("release_state_lease", **force)["code"] != "forbidden"


def test_what_a_server_is_told_to_leave_out_is_served_here(replica: Replica, run_id: str) -> None:
    """Those settings are for the clients of a server; a worker here would be locked out of its own process."""
    with control_plane_here(replica(read_only=True, toolsets=("planning",), profile="planner")) as here:
        made = DirectTools(here).call("create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id=run_id)
    assert made["code"] == "ok"


def test_closing_ends_what_waits_and_refuses_what_comes_later(replica: Replica, run_id: str) -> None:
    """No call may touch Redis once the application is closed: it might start an embedded one again."""
    ended: list[str] = []
    began = threading.Event()

    def wait(tools: DirectTools) -> None:
        began.set()
        ended.append(failure(tools, "await_workflow_event", lease=False, agent_id=f"agent-{run_id}", timeout_s=50)[0])

    with control_plane_here(replica()) as here:
        tools = DirectTools(here)
        thread = threading.Thread(target=wait, args=(tools,))
        thread.start()
        assert began.wait(60)
        wait_until(lambda: here.waiting == 1)
    thread.join(60)
    assert ended == ["closed"]
    assert failure(tools, "read_workflow_control_plane", workflow_id=run_id)[0] == "closed"
    assert failure(tools, "await_workflow_event", lease=False, agent_id="me", timeout_s=0)[0] == "closed"
