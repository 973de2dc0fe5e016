"""`dcf workflows stub` in a process."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from tests.support.paths import ROOT


def dcf_stub(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "dcf", "workflows", "stub", "--port", "0", "--json", "--leash", *arguments]
    return subprocess.Popen(
        command, cwd=ROOT, env=os.environ | environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


@pytest.fixture
def stub() -> Iterator[str]:
    """The shipped tools, served by a process of their own; ends when its standard input does."""
    with dcf_stub() as process:
        assert process.stdout is not None
        assert process.stdin is not None
        yield json.loads(process.stdout.readline())["url"].removesuffix("/mcp")
        process.stdin.close()
        process.wait(60)


def test_stub_serves_the_shipped_tools_on_loopback(stub: str) -> None:
    assert stub.startswith("http://127.0.0.1:")
    health: dict[str, Any] = httpx2.get(f"{stub}/healthz").json()
    assert (health["ok"], health["servers"], health["tools"], health["config_problem"]) == (True, 5, 13, None)
    assert httpx2.get(f"{stub}/metrics").json()["totals"]["tool_calls"] == 0
    for host, status in (("stub-mcp:8765", 200), ("evil.example", 421)):
        assert httpx2.get(f"{stub}/healthz", headers={"Host": host}).status_code == status
