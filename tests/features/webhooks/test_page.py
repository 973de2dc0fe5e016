"""docs/agents/webhooks.md: the receiver on the page runs unchanged, against a server, over HTTP."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

import dcf
from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from tests.support.paths import ROOT
from tests.support.redis.restricted import RestrictedRedis
from tests.support.redis.servers import free_port
from tests.support.waiting import PATIENCE_S
from tests.tools.calls import serving

PAGE = (ROOT / "docs" / "agents" / "webhooks.md").read_text("utf-8")
(RECEIVER,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
DOUBLING = {"asl": {"StartAt": "Double", "States": {"Double": {"Type": "Task", "End": True}}}}


@pytest.fixture
def site(server: RestrictedRedis) -> Iterator[tuple[Application, str, str]]:
    """A server on loopback that asks for keys, its URL, and the URL of the receiver to be."""
    port, hook = free_port(), f"http://127.0.0.1:{free_port()}/dcf"
    url = f"http://127.0.0.1:{port}"
    settings = Settings(redis_url=server.url, webhook_endpoints=(hook,), server_url=f"{url}/mcp", pulse_interval_s=0.2)
    with open_application(settings) as application, serving(build_http_app(application, f"{url}/mcp"), port):
        yield application, url, hook


def test_the_receiver_of_the_page_does_the_work_of_a_run(site: tuple[Application, str, str]) -> None:
    application, url, hook = site
    names: dict[str, Any] = {}
    exec(RECEIVER, names)
    agent = application.registration.register("doubling-hook", hook, created_by="test")
    names["SECRET"] = agent.secret
    keys = application.keys
    names["API_KEY"] = keys.create((Scope.READ, Scope.WORK), agent_id=None, label=None, life_s=600).text
    planner = keys.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=600).text
    with (
        serving(names["app"], int(hook.split(":")[2].split("/")[0])),
        dcf.connect(f"{url}/mcp", api_key=planner) as client,
    ):
        run = client.start(DOUBLING, {"amount": 21}, agents="doubling-hook")
        assert client.result(run.workflow_id, timeout_s=PATIENCE_S) == {"total": 42}
    assert len(names["taken"]) == 1
    application.registration.forget("doubling-hook")


def test_the_receiver_of_the_page_does_nothing_for_whoever_cannot_sign(site: tuple[Application, str, str]) -> None:
    import httpx2  # noqa: PLC0415 - as the page does

    _, _, hook = site
    names: dict[str, Any] = {}
    exec(RECEIVER, names)
    names["SECRET"] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    with serving(names["app"], int(hook.split(":")[2].split("/")[0])):
        forged = httpx2.post(hook, json={"type": "work", "data": {}}, headers={"webhook-id": "a"})
    assert (forged.status_code, names["taken"]) == (401, set())


def test_the_page_is_one_page_and_its_program_is_short() -> None:
    assert len(PAGE.splitlines()) <= 110
    assert len([line for line in RECEIVER.splitlines() if line.strip()]) <= 30
