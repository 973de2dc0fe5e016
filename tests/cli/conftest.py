"""The command line in this process, on the session's Redis, on one of its own, or on one it cannot use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from dcf.values.json_text import Json
from tests.support.command_line import call
from tests.support.redis.restricted import RestrictedRedis
from tests.support.redis.servers import listens, running
from tests.support.waiting import wait_until
from tests.support.world import World

Dcf = Callable[..., Result]
Seed = Callable[..., str]


@pytest.fixture
def dcf(server: RestrictedRedis, monkeypatch: pytest.MonkeyPatch) -> Dcf:
    """Call `dcf` with arguments, on the session's Redis; named arguments are environment variables."""
    monkeypatch.setenv("REDIS_URL", server.url)
    return call


@pytest.fixture
def dcf_alone(short_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dcf:
    """Call `dcf` on an embedded Redis of its own, which each call starts and stops."""
    monkeypatch.delenv("REDIS_URL", raising=False)
    monkeypatch.setenv("DCF_DATA_DIR", str(tmp_path / "data"))
    return call


@pytest.fixture
def world(worlds: Callable[..., World]) -> Iterator[World]:
    """The work of another process of dcf on the session's Redis."""
    made = worlds()
    yield made
    made.close()


@pytest.fixture
def seed(world: World) -> Seed:
    """Create a run of one state: a Pass, over at once with its input as output, or a Task that waits for an agent."""

    def make(given: Json = None, *, name: str = "Sample", state: str = "Only", agent: str | None = None) -> str:
        body: dict[str, Any] = {"Type": "Pass" if agent is None else "Task", "End": True}
        document = {"workflow_name": name, "asl": {"StartAt": state, "States": {state: body}}}
        agents = {} if agent is None else {state: agent}
        wish = world.wish(document, run_input=given, agents=agents)
        world.plane.create(wish)
        return wish.workflow_id

    return make


@contextmanager
def plain_redis(folder: Path, *options: str) -> Iterator[Path]:
    """Run a redis-server without any module; its socket."""
    path = folder / f"plain-{len(list(folder.iterdir()))}.sock"
    with running("--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(folder), *options):
        wait_until(lambda: listens(path))
        yield path
