"""The server that `dcf run` starts answers its own workers alone, and its keys end with the run."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dcf.application.application import open_application
from dcf.core.access.model import Scope
from dcf.settings.process import Settings
from tests.support.waiting import wait_until
from tests.system.processes.site import HOOKED, LONG, Process, Site, descendants_in, finish, result_of

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to read another process's environment"),
]

LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
HEADERS = {"Accept": "application/json, text/event-stream"}
FINALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "finalize_workflow", "arguments": {"workflow_id": "held"}},
}


@pytest.fixture
def held(site: Site) -> Process:
    """A run in the middle of its first state."""
    site.hook("ValidateOrder.hold")
    started = site.run("--workers", str(HOOKED), "--id", "held")
    site.wait_entered("ValidateOrder")
    return started


def environment_of(pid: int) -> dict[str, str]:
    rows = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(row.split("=", 1) for row in rows if "=" in row)


def ask(url: str, message: Any = LIST_TOOLS, key: str | None = None) -> httpx2.Response:
    headers = HEADERS if key is None else HEADERS | {"Authorization": f"Bearer {key}"}
    return httpx2.post(url, json=message, headers=headers, trust_env=False)


def keys_in(site: Site) -> dict[str, tuple[Scope, ...]]:
    """The keys of the site's Redis: their scopes by label and id."""
    with open_application(Settings(redis_url=None, data_dir=site.data_dir)) as application:
        records, now = application.keys.all()
        assert all(record.standing(now) == "active" and record.expires_at is not None for record in records)
        return {f"{record.label} {record.key_id}": record.scopes for record in records}


def test_the_server_of_a_run_wants_its_key_which_is_in_no_file_and_no_command_line(site: Site, held: Process) -> None:
    worker = environment_of(site.entered("ValidateOrder")[0])
    url, key = worker["DCF_SERVER_URL"], worker["DCF_API_KEY"]
    assert ask(url).status_code == 401
    assert ask(url, key=f"{key[:-1]}{'A' if key[-1] != 'A' else 'B'}").status_code == 401
    assert ask(url, key=key).status_code == 200
    assert "forbidden" in ask(url, FINALIZE, key=key).text, "a worker's key plans nothing"
    scopes = [{"read", "work"}, {"read", "work", "plan"}]
    scopeses = keys_in(site)
    assert all(label.startswith("dcf run held ") for label in scopeses)
    assert sorted(map(set, scopeses.values()), key=len) == scopes

    assert not any(key in command for command in descendants_in(site.folder).values())
    files = [path for path in site.folder.rglob("*") if path.is_file()]
    assert any(path.suffix == ".aof" for path in files), "the log of Redis is searched too"
    assert not any(key.encode() in path.read_bytes() for path in files)

    site.hook("ValidateOrder.go")
    result, code = result_of(held)
    assert (code, result["status"]) == (0, "succeeded")
    assert keys_in(site) == {}


def test_an_interrupted_run_deletes_its_keys(site: Site, held: Process) -> None:
    os.killpg(held.pid, signal.SIGINT)
    assert finish(held)[1] == 130
    wait_until(lambda: not descendants_in(site.folder), LONG)
    assert keys_in(site) == {}
