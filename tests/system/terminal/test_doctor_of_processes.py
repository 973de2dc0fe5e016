"""`dcf serve` and `dcf run` print what `dcf doctor` reports."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.features.health.test_commands import own
from tests.support.redis.alone import url_of
from tests.support.tables import rows
from tests.support.world import World

__all__ = ["own"]


@rows("transport", ["stdio", "http"])
def test_serve_tells_at_its_start_what_is_not_as_asked(own: World, transport: str) -> None:
    own.ask("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    own.ask("CONFIG", "SET", "min-replicas-to-write", "1")
    options = ["--transport", "http", "--auth", "off", "--port", "0"] if transport == "http" else []
    with _started("serve", *options, REDIS_URL=url_of(own)) as process:
        assert process.stderr is not None
        server, *text = [process.stderr.readline() for _ in range(3)]
        process.terminate()
    assert "; documents " in server
    assert text[0].startswith("dcf: failing: Redis refuses writes: too few of its replicas are connected (NOREPLICAS).")
    assert text[1].startswith("dcf: warning: maxmemory-policy is allkeys-lru: Redis may drop documents")
    assert text[1].endswith("Set maxmemory-policy noeviction in its configuration.\n")


WAITING = (
    "dcf: waiting: Redis refuses writes: its memory is full (OOM). Delete runs that are over"
    " (dcf runs prune --older-than 7d), cancel some (dcf cancel RUN), or raise maxmemory.\n"
)
GREET = """
import pathlib, time
from dcf.worker import task

@task("Greet")
def greet(given):
    while not pathlib.Path(given).exists():
        time.sleep(0.01)
    return "Hello"
"""


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """A workflow whose only state is done when the file exists whose name is its input."""
    (tmp_path / "hello.py").write_text(GREET)
    states = {"Greet": {"Type": "Task", "End": True}}
    workflow = tmp_path / "hello.json"
    workflow.write_text(json.dumps({"workflow_name": "hello", "asl": {"StartAt": "Greet", "States": states}}))
    return workflow


def test_run_says_when_redis_fills_up_under_it(own: World, hello: Path, tmp_path: Path) -> None:
    """The documents of the run look as if the worker took its time."""
    go = tmp_path / "go"
    options = ["--json", "--input", json.dumps(str(go))]
    with _started("run", str(hello), *options, REDIS_URL=url_of(own)) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line == "dcf: Greet: running\n":
                break
        own.ask("CONFIG", "SET", "maxmemory", "1000")
        assert process.stderr.readline() == WAITING
        own.ask("CONFIG", "SET", "maxmemory", "0")
        assert process.stderr.readline() == "dcf: continuing: Redis accepts writes again.\n"
        go.touch()
        _, text = process.communicate(timeout=90)
    assert (process.returncode, "waiting" in text) == (0, False)


def test_run_says_what_it_waits_for_and_goes_on_when_it_is_over(own: World, hello: Path, tmp_path: Path) -> None:
    """Before the run is created, when everything can be read and nothing written."""
    own.ask("CONFIG", "SET", "maxmemory", "1000")
    options = ["--json", "--input", json.dumps(str(tmp_path))]
    with _started("run", str(hello), *options, REDIS_URL=url_of(own)) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("dcf: starting run hello-")
        assert "; documents " in process.stderr.readline()
        assert process.stderr.readline() == WAITING
        own.ask("CONFIG", "SET", "maxmemory", "0")
        result, text = process.communicate(timeout=90)
    assert text.count("dcf: continuing: Redis accepts writes again.\n") == 1
    assert "waiting" not in text
    assert (process.returncode, json.loads(result)["output"]) == (0, "Hello")


def _started(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "dcf", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )
