"""A server with agents on a remote platform: its timer loop neither waits for it nor calls it too often."""

import secrets
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from dcf.application.application import Application, open_application
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.creation import Create
from dcf.runs.notifying.notifications import STALLED_S
from dcf.settings.process import Settings
from dcf.store.keys.table import RunKeys
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.support.redis.servers import free_port
from tests.tools.calls import ONE_TASK


@pytest.fixture(scope="module")
def redis_alone(short_directory: Path) -> Iterator[RestrictedRedis]:
    """A Redis without the runs of other tests, since a clock looks at all there are."""
    with restricted_redis(short_directory / "remote") as result:
        yield result


@pytest.fixture
def opened(redis_alone: RestrictedRedis) -> Iterator[Callable[..., Application]]:
    """Opens applications on that Redis, closed at the end of the test; settings may differ."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            open_application(Settings.model_validate({"redis_url": redis_alone.url, **settings}))
        )


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers, until the test ends."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def owing(app: Application) -> str:
    """A run that owes an agent of its own a notification; by its id it is one of Letta's."""
    run = f"run-{secrets.token_hex(6)}"
    wish = Create(
        workflow_id=run,
        definition=read_definition(ONE_TASK),
        run_input={},
        agents={"A": (f"agent-{uuid.uuid4()}",)},
        planner_agent_id=None,
        retention_s=None,
        max_attempts=10,
    )
    app.control_plane.create(wish)
    app.control_plane.kick_off(run, "initial")
    return run


def failures(app: Application, run: str) -> list[object]:
    return [event.data["failure"] for event in app.history.after(run) if event.type == "NotificationFailed"]


def test_a_look_of_the_clock_ends_before_a_platform_that_is_silent_answers(
    opened: Callable[..., Application], silent: str
) -> None:
    app = opened(letta_base_url=silent)
    run = owing(app)
    app.clock.pulse()
    assert failures(app, run) == [], "the delivery is still under way"


def test_a_platform_that_failed_several_times_is_left_alone(opened: Callable[..., Application]) -> None:
    app = opened(letta_base_url=f"http://127.0.0.1:{free_port()}")
    errors = [app.notifications.deliver(owing(app))[0].delivery.error or "" for _ in range(4)]
    assert "cannot be reached" in errors[2]
    assert "left alone" in errors[3]


def test_the_clock_delivers_what_a_process_took_before_it_died(
    redis_alone: RestrictedRedis, opened: Callable[..., Application]
) -> None:
    app = opened()
    outbox = RunKeys(owing(app)).outbox
    raw_redis = redis.Redis.from_url(redis_alone.admin_url)
    raw_redis.xgroup_create(outbox, "relay", id="0")
    taken: Any = raw_redis.xreadgroup("relay", "dead", {outbox: ">"})
    ((_, ((entry, _),)),) = taken
    raw_redis.xclaim(outbox, "relay", "dead", 0, [entry], idle=int(STALLED_S * 1000) + 1)
    app.clock.pulse()
    app.clock.finish(10)
    assert raw_redis.xlen(outbox) == 0
    raw_redis.close()
