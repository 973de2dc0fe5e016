"""A2A clients start the workflows that a server names, and see their runs as tasks."""

import secrets
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.definitions.model import read_definition
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.tools.calls import serving

ECHO = {"StartAt": "Echo", "States": {"Echo": {"Type": "Pass", "End": True}}, "Comment": "Gives back what it is given."}
WAITS = {"StartAt": "Ask", "States": {"Ask": {"Type": "Task", "End": True}}}
FAILS = {"StartAt": "No", "States": {"No": {"Type": "Fail", "Error": "OutOfStock", "Cause": "there are none left"}}}
SERVED = ("a2a-echo", "a2a-waits", "a2a-fails", "a2a-never-started")


@pytest.fixture(scope="module")
def site(replica: Callable[..., Application]) -> Application:
    application = replica(auth="keys", a2a_workflows=SERVED)
    for name, asl in zip(SERVED, (ECHO, WAITS, FAILS), strict=False):
        assert application.starting.keep(read_definition({"workflow_name": name, "asl": asl})) is None
    return application


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


@pytest.fixture(scope="module")
def planner(site: Application) -> str:
    return site.keys.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=None).text


def rpc(url: str, key: str | None, method: Any, params: Any, **headers: str) -> dict[str, Any]:
    named = {} if key is None else {"Authorization": f"Bearer {key}"}
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    answered = httpx2.post(f"{url}/a2a", json=body, headers=named | headers)
    assert answered.status_code == 200, answered.text
    result: dict[str, Any] = answered.json()
    assert result["id"] == 7
    return result


def message(workflow: str | None, *parts: Any, **more: Any) -> dict[str, Any]:
    metadata = {} if workflow is None else {"metadata": {"workflow": workflow}}
    return {
        "message": {"messageId": secrets.token_hex(8), "role": "ROLE_USER", "parts": list(parts), **metadata, **more}
    }


def task(details: dict[str, Any]) -> dict[str, Any]:
    task: dict[str, Any] = details["result"].get("task", details["result"])
    return task


def test_the_card_names_what_can_be_started_and_how_to_log_in(url: str) -> None:
    card = httpx2.get(f"{url}/.well-known/agent-card.json").json()
    about = {skill["id"]: skill["description"] for skill in card["skills"]}
    assert set(about) == {"a2a-echo", "a2a-waits", "a2a-fails"}
    assert about["a2a-echo"] == "Gives back what it is given."
    assert card["securitySchemes"]["apiKey"]["httpAuthSecurityScheme"]["scheme"] == "bearer"
    assert card["supportedInterfaces"][0]["protocolVersion"] == "1.0"
    assert not card["capabilities"]["streaming"]


def test_a_server_that_names_no_workflow_has_neither_card_nor_endpoint(replica: Callable[..., Application]) -> None:
    with serving(build_http_app(replica(auth="keys"))) as bare:
        assert httpx2.get(f"{bare}/.well-known/agent-card.json").status_code == 404
        assert httpx2.post(f"{bare}/a2a", json={}).status_code == 404


@rows("narrowed", [{"read_only": True}, {"toolsets": ("people", "execution")}])
def test_a_server_that_does_not_serve_the_tools_has_no_such_address(
    replica: Callable[..., Application], narrowed: dict[str, Any]
) -> None:
    with serving(build_http_app(replica(auth="off", a2a_workflows=SERVED, **narrowed))) as bare:
        assert httpx2.get(f"{bare}/.well-known/agent-card.json").status_code == 404
        assert httpx2.post(f"{bare}/a2a", json={}).status_code == 404


def test_a_message_starts_a_run_and_its_output_is_the_artifact(site: Application, url: str, planner: str) -> None:
    data = {"amount": 21, "price": 1.5}
    result = task(rpc(url, planner, "SendMessage", message("a2a-echo", {"data": data}, contextId="talk-1")))
    assert (result["status"]["state"], result["contextId"]) == ("TASK_STATE_COMPLETED", "talk-1")
    assert result["artifacts"][0]["parts"] == [{"data": data}]
    assert task(rpc(url, planner, "GetTask", {"id": result["id"]})) == result
    assert site.runs.read(result["id"]).word == "succeeded"


def test_text_is_read_as_json_where_it_is_an_object(url: str, planner: str) -> None:
    no_values = ("two words", '{"a": NaN}', '{"a": ' + "[" * 5000 + "]" * 5000 + "}")
    for text, data in (('{"a": 1}', {"a": 1}), *((text, {"text": text}) for text in no_values)):
        result = task(rpc(url, planner, "SendMessage", message("a2a-echo", {"text": text})))
        assert result["artifacts"][0]["parts"] == [{"data": data}]


def test_the_same_message_again_is_the_same_run(url: str, planner: str) -> None:
    params = message("a2a-echo", {"data": {"n": 1}})
    assert task(rpc(url, planner, "SendMessage", params)) == task(rpc(url, planner, "SendMessage", params))


def test_a_run_that_goes_on_is_a_working_task_and_can_be_cancelled(url: str, planner: str) -> None:
    params = message("a2a-waits", {"data": {}}) | {"configuration": {"returnImmediately": True}}
    result = task(rpc(url, planner, "SendMessage", params))
    assert result["status"]["state"] == "TASK_STATE_WORKING"
    assert "artifacts" not in result
    over = task(rpc(url, planner, "CancelTask", {"id": result["id"]}))
    assert over["status"]["state"] == "TASK_STATE_CANCELED"
    done = task(rpc(url, planner, "SendMessage", message("a2a-echo", {"data": 1})))
    assert rpc(url, planner, "CancelTask", {"id": done["id"]})["error"]["code"] == -32002


def test_a_run_that_fails_says_why(url: str, planner: str) -> None:
    result = task(rpc(url, planner, "SendMessage", message("a2a-fails", {"text": "x"})))
    assert result["status"]["state"] == "TASK_STATE_FAILED"
    assert result["status"]["message"]["parts"] == [
        {"text": "OutOfStock: there are none left"},
        {"data": {"error": "OutOfStock", "cause": "there are none left"}},
    ]


@rows(
    ("method", "params", "code"),
    [
        ("GetTask", {"id": "no-such-run"}, -32001),
        ("GetTask", {}, -32602),
        ("GetTask", [], -32602),
        ("SendMessage", {"message": {"parts": []}}, -32602),
        ("SendMessage", {"message": {"messageId": "m", "parts": "text"}}, -32602),
        ("SendMessage", message(None, {"text": "which?"}), -32602),
        ("SendMessage", message("another", {"text": "x"}), -32602),
        ("SendMessage", message("a2a-never-started", {"text": "x"}), -32602),
        ("SendMessage", message("a2a-echo", {"text": "x"}, taskId="run-1"), -32602),
        ("SendStreamingMessage", {}, -32004),
        ("ListTasks", {}, -32004),
        ("start_run", {}, -32601),
        (["GetTask"], {}, -32601),
        (None, {}, -32601),
    ],
)
def test_what_cannot_be_done_is_said_with_the_codes_of_the_protocol(
    url: str, planner: str, method: Any, params: Any, code: int
) -> None:
    error = rpc(url, planner, method, params)["error"]
    assert error["code"] == code
    assert error["message"]


def test_another_version_of_the_protocol_is_refused(url: str, planner: str) -> None:
    assert rpc(url, planner, "GetTask", {"id": "x"}, **{"A2A-Version": "2.0"})["error"]["code"] == -32009


def test_keys_and_scopes_hold_as_for_tools(site: Application, url: str, planner: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": message("a2a-echo", {"data": 1})}
    assert httpx2.post(f"{url}/a2a", json=body).status_code == 401
    reader = site.keys.create((Scope.READ,), agent_id=None, label=None, life_s=None).text
    refused = rpc(url, reader, "SendMessage", body["params"])["error"]
    assert refused["data"]["code"] == "forbidden"
    bound = {"Authorization": f"Bearer {planner}"}
    assert httpx2.post(f"{url}/a2a", json=body, headers=bound | {"Origin": "https://evil.example"}).status_code == 403
    assert httpx2.post(f"{url}/a2a", json=body, headers=bound | {"Host": "evil.example"}).status_code == 421
    wrong = httpx2.post(f"{url}/a2a", content=b"[1]", headers=bound | {"Content-Type": "application/json"})
    assert wrong.json()["error"]["code"] == -32602
