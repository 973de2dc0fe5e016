"""The order pipeline with a webhook for one of its Tasks, whose receiver is away when the work comes."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from dcf.tools.calling.client import connect
from dcf.tools.mcp.server import build_http_app
from dcf.webhooks import WebhookEvent, verify
from tests.support.redis.restricted import RestrictedRedis
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.tools.calls import ORDER, ORDER_WORKFLOW, STEPS, serving

pytestmark = [pytest.mark.processes, pytest.mark.timeout(180)]

HOOK = "order-hook"
RUN = "order-by-webhooks"


class Away:
    """A receiver that may be started late: it does the work of whatever state it is sent."""

    def __init__(self, port: int, secret: str, key: str, sick: int) -> None:
        self.port, self._secret, self._key, self._sick = port, secret, key, sick
        self.events: list[WebhookEvent] = []

    def app(self) -> Starlette:
        return Starlette(routes=[Route("/dcf", self._take, methods=["POST"])])

    async def _take(self, request: Request) -> Response:
        self._sick -= 1
        if self._sick >= 0:
            return Response(status_code=500)
        event = verify(request.headers, await request.body(), self._secret)
        self.events.append(event)
        if event.work is not None:
            threading.Thread(target=self._work, args=(event,)).start()
        return Response(status_code=202)

    def _work(self, event: WebhookEvent) -> None:
        body: dict[str, Any] = {"task_token": event.task_token, "output": STEPS[event.state or ""]}
        headers = {"Authorization": f"Bearer {self._key}"}
        httpx2.post(event.answer_at["success"], json=body, headers=headers).raise_for_status()


@pytest.fixture
def site(server: RestrictedRedis, tmp_path: Path) -> Iterator[tuple[Application, str, int]]:
    """A server with a clock, its URL, and the port of the receiver to be."""
    port, hook = free_port(), free_port()
    url = f"http://127.0.0.1:{port}/mcp"
    settings = Settings(
        redis_url=server.url,
        webhook_endpoints=(f"http://127.0.0.1:{hook}/",),
        server_url=url,
        pulse_interval_s=0.2,
        data_dir=tmp_path,
    )
    with open_application(settings) as application, serving(build_http_app(application, url), port):
        yield application, url, hook


def test_the_order_pipeline_ends_though_the_receiver_is_away_when_the_work_comes(
    site: tuple[Application, str, int],
) -> None:
    application, url, port = site
    hook = application.registration.register(HOOK, f"http://127.0.0.1:{port}/dcf", created_by="test")
    keys = application.keys
    worker = keys.create((Scope.READ, Scope.WORK), agent_id=None, label=None, life_s=600).text
    planner = keys.create((Scope.READ, Scope.PLAN), agent_id=None, label=None, life_s=600).text
    receiver = Away(port, str(hook.secret), worker, sick=1)
    with connect(url, api_key=planner) as tools:
        arguments = {"workflow_id": RUN, "input_json": ORDER, "agents_map_json": dict.fromkeys(STEPS, HOOK)}
        tools.call("start_run", workflow_json=ORDER_WORKFLOW, **arguments)
        wait_until(lambda: _rest(application) is not None)
        with serving(receiver.app(), port):
            wait_until(lambda: application.runs.read(RUN).word == "succeeded", 120)
    states = application.control_plane.read(RUN).states
    assert {name: doc.attempts for name, doc in states.items() if name in STEPS} == dict.fromkeys(STEPS, 1)
    assert [event.state for event in receiver.events if event.work] == list(STEPS)
    application.registration.forget(HOOK)


def _rest(application: Application) -> object:
    return next((item.rest for item in application.registration.all() if item.agent_id == HOOK), None)
