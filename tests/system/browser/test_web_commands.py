"""`dcf web` and `dcf serve --web` as processes: where they serve the page, and where they refuse to."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.support.paths import ROOT
from tests.support.tables import rows

DCF = (sys.executable, "-m", "dcf")
WORKFLOW = ROOT / "workflows" / "order_processing.json"
SERVE = ("serve", "--transport", "http", "--web")


def environment(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "DCF_DATA_DIR": str(folder / "data")}


def dcf(folder: Path, *arguments: str) -> Any:
    """The JSON that a command prints."""
    done = subprocess.run([*DCF, *arguments], env=environment(folder), capture_output=True, check=True, timeout=60)
    return json.loads(done.stdout)


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[str]:
    """The command while the context lasts; yields the address that it prints."""
    command = [*DCF, *arguments, "--port", "0", "--json"]
    with subprocess.Popen(command, env=environment(folder), stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield str(json.loads(process.stdout.readline())["url"])
        finally:
            process.terminate()
            process.wait(60)


@pytest.mark.processes
@rows(
    "arguments",
    [
        ("web",),
        SERVE,
    ],
    ids=["alone", "beside mcp"],
)
def test_the_page_is_served_on_loopback_where_no_keys_are_asked_for(
    short_directory: Path, arguments: tuple[str, ...]
) -> None:
    with started(short_directory / f"started-{arguments[0]}", *arguments, "--auth", "off") as url:
        page = httpx2.get(httpx2.URL(url).join("/ui/runs"))
        assert (page.status_code, "<h1>Runs</h1>" in page.text) == (200, True)


@pytest.fixture(scope="module")
def keyed(short_directory: Path) -> tuple[Path, str, str]:
    """A data directory with a key and a run: the directory, the key and the id of the run."""
    folder = short_directory / "web-commands"
    key = dcf(folder, "keys", "add", "--scope", "plan", "--any-agent", "--json")["key"]
    run = dcf(folder, "start", str(WORKFLOW), "--json")["workflow_id"]
    return folder, key, run


@pytest.mark.processes
@rows(
    ("arguments", "acts"),
    [
        (("web", "--allow-actions"), True),
        (
            ("web",),
            False,
        ),
        ((*SERVE, "--allow-actions"), True),
    ],
)
def test_with_keys_one_logs_in_and_acts_only_if_the_server_lets_its_page_act(
    keyed: tuple[Path, str, str], arguments: tuple[str, ...], acts: bool
) -> None:
    folder, key, run = keyed
    with started(folder, *arguments) as address, httpx2.Client() as client:
        at = httpx2.URL(address)
        own = {"Origin": f"http://{at.host}:{at.port}", "Sec-Fetch-Site": "same-origin"}
        assert client.get(at.join("/ui/runs")).headers["location"] == "/ui/login?next=%2Fui%2Fruns"
        assert client.post(at.join("/ui/login"), data={"key": key}, headers=own).status_code == 303
        page = client.get(at.join(f"/ui/runs/{run}")).text
        assert "Log out" in page
        assert ('action="/ui/act/cancel_run"' in page) is acts


def test_where_the_page_would_be_open_to_others_it_is_refused(short_directory: Path) -> None:
    """The other cases are in the first tier: tests/cli/processes/test_web_exposure.py."""
    command = [*DCF, "web"]
    done = subprocess.run(
        command,
        env=environment(short_directory / "refused"),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert "--auth off" in done.stderr
