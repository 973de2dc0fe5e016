"""ToolClient: plain calls that outlive a server's restart."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest

from dcf.application.application import Application
from dcf.errors import ServerUnreachable, ToolCallFailed
from dcf.tools.calling.client import ToolClient, connect
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.tools.calls import ONE_TASK, serving

Replica = Callable[..., Application]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_a_call_returns_the_answer_and_a_refusal_too(replica: Replica, run_id: str) -> None:
    with serving(build_http_app(replica())) as url, connect(f"{url}/mcp", deadline_s=60) as tools:
        created = tools.call("create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id=run_id)
        assert created["code"] == "ok"
        lost = tools.call("renew_state_lease", workflow_id=run_id, state="A", lease_token="guess")
        assert lost["code"] == "lease_lost"


def test_a_wrong_call_is_raised_with_its_code_and_hint(replica: Replica) -> None:
    with serving(build_http_app(replica())) as url, connect(f"{url}/mcp", deadline_s=60) as tools:
        with pytest.raises(ToolCallFailed) as failed:
            tools.call("read_workflow_control_plane", workflow_id="nobody")
        assert (failed.value.code, failed.value.message) == ("unknown_run", "There is no run 'nobody'.")
        assert "`list_runs`" in failed.value.hint


def test_a_tool_that_is_not_served_is_raised_in_words(replica: Replica) -> None:
    with serving(build_http_app(replica(read_only=True))) as url, connect(f"{url}/mcp", deadline_s=60) as tools:
        with pytest.raises(ToolCallFailed) as failed:
            tools.call("finalize_workflow", workflow_id="x")
        assert "finalize_workflow" in failed.value.message


def test_a_call_outlives_the_server_it_was_made_to(replica: Replica, run_id: str) -> None:
    """The server stops while an agent waits; on the same port another one answers the same call."""
    port = _free_port()
    answers: list[str | None] = []
    paused = threading.Event()
    go_on = threading.Event()

    def pause(_: float) -> None:
        paused.set()
        assert go_on.wait(60)

    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        url = first.enter_context(serving(build_http_app(replica()), port))
        tools = ToolClient(f"{url}/mcp", 60, wait=pause)
        stack.callback(tools.close)
        tools.call("create_workflow_control_plane", workflow_json=ONE_TASK, workflow_id=run_id)
        waiting = threading.Thread(
            target=lambda: answers.append(
                str(tools.call("await_workflow_event", lease=False, agent_id=f"agent-{run_id}", timeout_s=1)["status"])
            )
        )
        first.close()
        waiting.start()
        assert paused.wait(60)
        stack.enter_context(serving(build_http_app(replica()), port))
        go_on.set()
        waiting.join(60)
        assert answers == ["timeout"]


def test_a_call_that_waits_is_repeated_when_its_server_goes(replica: Replica, run_id: str) -> None:
    """As above, with the request on its way when the server stops."""
    port = _free_port()
    answers: list[object] = []
    with ExitStack() as stack:
        first = stack.enter_context(ExitStack())
        url = first.enter_context(serving(build_http_app(replica()), port))
        tools = stack.enter_context(connect(f"{url}/mcp", deadline_s=60))
        agent = f"agent-{run_id}"
        arguments = {"workflow_json": ONE_TASK, "workflow_id": run_id, "agents_map_json": {"A": agent}}
        tools.call("create_workflow_control_plane", **arguments)
        waiting = threading.Thread(
            target=lambda: answers.append(
                tools.call("await_workflow_event", lease=False, agent_id=agent, timeout_s=50)["event"]
            )
        )
        waiting.start()
        first.close()
        second = stack.enter_context(serving(build_http_app(replica()), port))
        with connect(f"{second}/mcp") as other:
            other.call("notify_next_worker_agent", workflow_id=run_id)
        waiting.join(60)
        assert not waiting.is_alive()
    (event,) = answers
    assert isinstance(event, dict)
    assert event["workflow_id"] == run_id


class _Pauses(list[float]):
    """How long a client paused between two tries; its time passes in pauses only, however slow the machine is."""

    def monotonic(self) -> float:
        return sum(self)


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> _Pauses:
    result = _Pauses()
    monkeypatch.setattr("dcf.tools.calling.repeating.time", SimpleNamespace(monotonic=result.monotonic))
    return result


def test_a_server_that_never_answers_is_given_up_at_the_deadline(pauses: _Pauses) -> None:
    tools = ToolClient(f"http://127.0.0.1:{_free_port()}/mcp", 3, wait=pauses.append)
    with pytest.raises(ServerUnreachable) as failed:
        tools.call("read_workflow_control_plane", workflow_id="x")
    tools.close()
    assert pauses == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert "DCF_SERVER_URL" in failed.value.hint


@contextmanager
def before_mcp(status: HTTPStatus) -> Iterator[str]:
    """A server that answers each request as what stands before MCP does: with JSON that is no message of it."""

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b'{"error": "in words"}')

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/mcp"
        server.shutdown()
        thread.join()


@rows("status", [HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.BAD_GATEWAY, HTTPStatus.TOO_MANY_REQUESTS])
def test_a_server_that_is_not_ready_is_waited_for(status: HTTPStatus, pauses: _Pauses) -> None:
    with before_mcp(status) as url:
        tools = ToolClient(url, 0.2, wait=pauses.append)
        with pytest.raises(ServerUnreachable):
            tools.call("read_workflow_control_plane", workflow_id="x")
        tools.close()
    assert pauses


@rows("status", [HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.NOT_FOUND])
def test_a_request_that_is_refused_before_mcp_is_not_repeated(status: HTTPStatus, pauses: _Pauses) -> None:
    with before_mcp(status) as url:
        tools = ToolClient(url, 5, wait=pauses.append)
        with pytest.raises(ToolCallFailed, match=f"refuses the request: {status.value}"):
            tools.call("read_workflow_control_plane", workflow_id="x")
        tools.close()
    assert pauses == []
