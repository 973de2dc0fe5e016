"""Claude Code, as its user sets it up: it connects to our server over stdio, and over HTTP with a good key only."""

import re
import sys
from collections.abc import Mapping

import pytest

from tests.support.paths import ROOT
from tests.support.waiting import wait_until
from tests.system.clients.node import Finished, Programs
from tests.system.processes.site import LONG, Server, Site

pytestmark = pytest.mark.processes

ALONE = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
    "MCP_TIMEOUT": f"{LONG * 1000:.0f}",
}
"""It calls only the servers that are configured, and waits for these as long as it takes."""

HASTY = "tools fetch failed"
"""Claude Code gives the list of tools five seconds, whatever its settings. A busy machine can take longer."""

STDIO = (sys.executable, "-m", "dcf", "serve", "--transport", "stdio")


@pytest.fixture(scope="module")
def statuses(
    programs: Programs, site: Site, keyed_server: Server, key: str, tmp_path_factory: pytest.TempPathFactory
) -> Mapping[str, str]:
    """The line of `claude mcp list` for every server added, by its name."""
    home = str(tmp_path_factory.mktemp("claude"))

    def claude(*arguments: str) -> Finished:
        done = programs.run("claude", "mcp", *arguments, CLAUDE_CONFIG_DIR=home, **ALONE)
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def add_http(name: str, *headers: str) -> None:
        claude("add", "--scope", "user", "--transport", "http", name, keyed_server.url, *headers)

    environment = (f"DCF_DATA_DIR={site.data_dir}", f"PYTHONPATH={ROOT}")
    claude(
        "add",
        "--scope",
        "user",
        "stdio",
        *(part for environment in environment for part in ("-e", environment)),
        "--",
        *STDIO,
    )
    add_http("good-key", "--header", f"Authorization: Bearer {key}")
    add_http("wrong-key", "--header", f"Authorization: Bearer {key[:-1]}")
    add_http("no-key")
    said = ""

    def is_in_time() -> bool:
        nonlocal said
        said = claude("list").stdout
        return HASTY not in said

    wait_until(is_in_time, LONG)
    return dict(re.findall(r"^([\w-]+): .* - ([✔✘].*)$", said, re.MULTILINE))


@pytest.mark.parametrize("name", ["stdio", "good-key"])
def test_it_connects(statuses: Mapping[str, str], name: str) -> None:
    assert statuses[name] == "✔ Connected"


def test_it_says_that_a_wrong_key_was_refused(statuses: Mapping[str, str]) -> None:
    assert "Failed to connect" in statuses["wrong-key"]
    assert "HTTP 401" in statuses["wrong-key"]


def test_it_does_not_connect_without_a_key(statuses: Mapping[str, str]) -> None:
    assert "Failed to connect" in statuses["no-key"]
