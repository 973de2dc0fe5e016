"""Other people's checks of a server's surface: the inspector's of the schemas, mcpcheck's of what is sent."""

import json
import subprocess
import sys

import pytest

from dcf.tools.profiles import select_tools
from tests.clients.node import Programs
from tests.processes.site import LONG, Server

pytestmark = [pytest.mark.processes, pytest.mark.timeout(400)]  # the first test of a session installs the programs

EVERY_TOOL = [spec.name for spec in select_tools((), read_only=False)]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_schema_is_portable(programs: Programs, keyed_server: Server, key: str, era: str) -> None:
    how = ("--protocol-era", era, "--header", f"Authorization: Bearer {key}")
    done = programs.run("inspector", "--cli", keyed_server.url, *how, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert [tool["name"] for tool in json.loads(done.stdout)["tools"]] == EVERY_TOOL


def test_nothing_is_wrong_with_what_is_sent(keyed_server: Server, key: str) -> None:
    """No check warns or remains without a result; each tool that may be called safely is, with wrong arguments."""
    how = ("--token", key, "--strict", "--max-tools", str(len(EVERY_TOOL)), "--json")
    command = [sys.executable, "-m", "mcpcheck", keyed_server.url, *how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [check["status"] for check in json.loads(done.stdout)["checks"]] == ["pass"] * 8
