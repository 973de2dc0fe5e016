"""The client of the A2A protocol's own SDK, in an environment of its own, at our server."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.tools.mcp.server import build_http_app
from tests.features.a2a.test_routes import planner, site
from tests.support.redis.servers import free_port
from tests.system.hosting.environments import A2A, WANTED, WHY_NOT
from tests.tools.calls import serving

__all__ = ["planner", "site"]

pytestmark = pytest.mark.skipif(not WANTED, reason=WHY_NOT)


def test_the_client_of_the_protocols_sdk_starts_a_run_and_gets_its_output(
    replica: Callable[..., Application], planner: str
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    only = replica(auth="keys", a2a_workflows=("a2a-echo",), public_url=f"{url}/mcp")
    waiting = replica(auth="keys", a2a_workflows=("a2a-waits",), public_url=f"{url}/mcp")
    with serving(build_http_app(only), port):
        sdk = _sdk(url, planner, {"data": {"n": 21, "of": [1, 2]}})
        assert sdk["status"]["state"] == "TASK_STATE_COMPLETED"
        assert sdk["artifacts"][0]["parts"][0]["data"] == {"n": 21, "of": [1, 2]}
        assert _sdk(url, planner, {"get": sdk["id"]}) == sdk
        assert _sdk(url, planner, {"get": "no-such-run"})["raised"] == "TaskNotFoundError"
        assert _sdk(url, planner, {"cancel": sdk["id"]})["raised"] == "TaskNotCancelableError"
    with serving(build_http_app(waiting), port):
        begun = _sdk(url, planner, {"text": "work", "polling": True})
        assert begun["status"]["state"] == "TASK_STATE_WORKING"
        assert _sdk(url, planner, {"cancel": begun["id"]})["status"]["state"] == "TASK_STATE_CANCELED"


def _sdk(url: str, key: str, expected: dict[str, Any]) -> dict[str, Any]:
    program = Path(__file__).with_name("a2a_client.py")
    command = [str(A2A.python()), str(program), url, key]
    done = subprocess.run(command, input=json.dumps(expected), capture_output=True, text=True, check=True, timeout=60)
    document: dict[str, Any] = json.loads(done.stdout)
    return document
