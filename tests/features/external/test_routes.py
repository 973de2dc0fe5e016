"""Task tokens over plain HTTP: permitted callers, answers, and limits."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.tools.mcp.server import build_http_app
from tests.support.tables import rows
from tests.tools.calls import serving

Replica = Callable[..., Application]
ASKS = {"Type": "Task", "Resource": "dcf:callback.waitForTaskToken", "Parameters": {"token.$": "$$.Task.Token"}}
DOCUMENT = {"workflow_name": "asks", "asl": {"StartAt": "A", "States": {"A": {**ASKS, "End": True}}}}
HEADERS = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def site(replica: Replica) -> Application:
    return replica(auth="keys")


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


@pytest.fixture(scope="module")
def alone(replica: Replica) -> Iterator[str]:
    with serving(build_http_app(replica(auth="keys", task_tokens="alone"))) as server_url:
        yield server_url


@pytest.fixture
def token(site: Application, request: pytest.FixtureRequest) -> str:
    """The token of a new run that waits for a callback."""
    run = f"t-{abs(hash(request.node.nodeid)):x}"
    wish = Create(
        workflow_id=run, definition=read_definition(DOCUMENT), run_input={}, agents={}, planner_agent_id=None,
        retention_s=None, max_attempts=10,
    )  # fmt: skip
    site.control_plane.create(wish)
    token: str = site.control_plane.read(run, ("A",)).inputs["A"]["token"]
    return token


def key(site: Application, *scopes: Scope) -> dict[str, str]:
    text = site.keys.create((Scope.READ, *scopes), agent_id=None, label=None, life_s=None).text
    return {"Authorization": f"Bearer {text}"}


def post(url: str, verb: str, body: Any, **headers: str) -> httpx2.Response:
    content = body if isinstance(body, bytes) else json.dumps(body)
    return httpx2.post(f"{url}/task-tokens/{verb}", content=content, headers=HEADERS | headers)


def test_with_a_key_a_token_is_answered_once(site: Application, url: str, token: str) -> None:
    worker = key(site, Scope.WORK)
    alive = post(url, "heartbeat", {"task_token": token}, **worker)
    assert (alive.status_code, alive.json()["state"]) == (200, "A")
    spent = {"tokens_in": 7, "cost": "0.5", "currency": "EUR"}
    wrong = post(url, "success", {"task_token": token, "output": "a plain text", "usage": {"tokens": 7}}, **worker)
    assert (wrong.status_code, wrong.json()["code"]) == (400, "invalid_argument")
    done = post(url, "success", {"task_token": token, "output": "a plain text", "usage": spent}, **worker)
    assert (done.status_code, done.json()["state_status"]) == (200, "succeeded")
    assert site.usages.of_run(done.json()["workflow_id"]).total["tokens_in"] == 7
    assert site.control_plane.read(done.json()["workflow_id"], ("A",)).outputs["A"] == "a plain text"
    again = post(url, "success", {"task_token": token, "output": "a plain text"}, **worker)
    assert again.json()["repeated"] is True
    used = post(url, "failure", {"task_token": token, "error": "No"}, **worker)
    assert (used.status_code, used.json()["code"]) == (409, "task_token_used")
    answered = post(url, "heartbeat", {"task_token": token}, **worker)
    assert (answered.status_code, answered.json()["code"]) == (410, "task_token_outdated")
    assert all(result.headers["cache-control"] == "no-store" for result in (done, used, answered))
    assert all(token not in result.text for result in (done, used, answered))


def test_a_failure_names_its_error(site: Application, url: str, token: str) -> None:
    document = post(
        url, "failure", {"task_token": token, "error": "No", "cause": "why"}, **key(site, Scope.WORK)
    ).json()
    assert (document["state_status"], document["run_status"]) == ("failed", "failed")


def test_without_a_key_or_its_scope_nothing_is_served(site: Application, url: str, token: str) -> None:
    missing = post(url, "success", {"task_token": token})
    assert missing.status_code == 401
    assert "Bearer" in missing.headers["www-authenticate"]
    assert post(url, "success", {"task_token": token}, Authorization="Bearer dcf_nothing").status_code == 401
    assert post(url, "success", {"task_token": token}, **key(site)).status_code == 403
    assert post(url, "success", {"task_token": token}, **key(site, Scope.PLAN)).status_code == 403
    assert post(url, "heartbeat", {"task_token": token}, **key(site, Scope.WORK)).status_code == 200


def test_a_token_alone_suffices_where_the_server_says_so(site: Application, alone: str, token: str) -> None:
    assert post(alone, "heartbeat", {"task_token": "nothing"}).status_code == 404
    assert post(alone, "success", {"task_token": token}, Authorization="Bearer dcf_nothing").status_code == 401
    done = post(alone, "success", {"task_token": token, "output": [1]})
    assert done.status_code == 200
    run = done.json()["workflow_id"]
    authors = {event.by for event in site.history.after(run) if event.type == "StateConcluded"}
    assert authors == {"task-token:127.0.0.1"}
    listing = httpx2.post(f"{alone}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert listing.status_code == 401, "a token opens nothing else"


def test_a_body_without_a_key_is_short(alone: str, token: str) -> None:
    long = post(alone, "success", {"task_token": token, "output": "x" * 100_000})
    assert long.status_code == 413
    assert post(alone, "heartbeat", {"task_token": token}).status_code == 200


@rows(
    ("body", "status"),
    [
        (b"", 400),
        (b"[]", 400),
        (b"\xff", 400),
        (b'{"task_token": 1}', 400),
        (b"{}", 400),
        (b'{"task_token": "a", "unknown": 1}', 400),
        (b'{"task_token": "a", "task_token": "b"}', 400),
        (b'{"task_token": "a"}', 404),
    ],
)
def test_a_body_that_is_wrong_is_refused_in_words(site: Application, url: str, body: bytes, status: int) -> None:
    answered = post(url, "success", body, **key(site, Scope.WORK))
    assert answered.status_code == status, answered.text
    assert answered.json()["error"]
    assert answered.json()["hint"]


def test_it_is_checked_where_a_request_comes_from_and_what_it_is(site: Application, url: str, token: str) -> None:
    worker = key(site, Scope.WORK)
    body = {"task_token": token}
    assert post(url, "heartbeat", body, **worker, Origin="https://evil.example").status_code == 403
    assert post(url, "heartbeat", body, **worker, Host="evil.example").status_code == 421
    as_form = httpx2.post(f"{url}/task-tokens/heartbeat", content=json.dumps(body), headers=worker)
    assert as_form.status_code == 400
    assert httpx2.get(f"{url}/task-tokens/heartbeat", headers=worker).status_code == 405
    assert httpx2.post(f"{url}/task-tokens/{token}", headers=worker | HEADERS, content="{}").status_code == 404


def test_calls_beyond_the_rate_are_refused(replica: Replica, token: str) -> None:
    with serving(build_http_app(replica(auth="keys", task_tokens="alone", rate_per_s=0.001, rate_burst=2))) as slow:
        answers = [post(slow, "heartbeat", {"task_token": token}) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[2].headers["retry-after"]) >= 1


@rows("settings", [{"read_only": True}, {"toolsets": ("execution",)}])
def test_a_server_that_does_not_offer_the_tools_has_no_such_address(replica: Replica, settings: dict[str, Any]) -> None:
    with serving(build_http_app(replica(auth="keys", task_tokens="alone", **settings))) as server_url:
        assert post(server_url, "heartbeat", {"task_token": "a"}).status_code == 404


def test_on_loopback_without_keys_the_local_user_is_served(replica: Replica, token: str) -> None:
    with serving(build_http_app(replica(auth="off"))) as server_url:
        assert post(server_url, "success", {"task_token": token}).status_code == 200
