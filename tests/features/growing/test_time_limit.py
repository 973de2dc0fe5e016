"""A run that grows is paused at the end of its time limit. Its time starts again when it is resumed."""

import secrets

from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.creation import Create
from dcf.features.growing.definition import grown_definition
from dcf.features.growing.opening import OpenRequest
from dcf.features.growing.operations import Growing
from tests.support.ahead import let_pass
from tests.support.world import World


def _opened(world: World, timeout_s: int) -> str:
    run = f"limited-{secrets.token_hex(4)}"
    wish = Create(
        workflow_id=run,
        definition=grown_definition("work"),
        run_input={},
        agents={},
        planner_agent_id="planner",
        retention_s=None,
        max_attempts=10,
        created_by="local",
        tags=(),
    )
    Growing(world.plane).open_run(OpenRequest(wish=wish, timeout_s=timeout_s))
    return run


def _pass(world: World, run: str, seconds: int) -> None:
    let_pass(world, seconds)
    world.plane.time_out(run)


def test_a_run_is_paused_when_its_time_has_passed_and_not_failed(timely: World) -> None:
    run = _opened(timely, 60)
    _pass(timely, run, 59)
    assert timely.meta(run).get("paused_at") is None
    _pass(timely, run, 2)
    assert timely.run_status(run) is RunStatus.RUNNING
    assert timely.meta(run)["paused_at"] is not None
    assert [happening.type for happening in timely.history_of(run)].count("RunTimedOut") == 1


def test_clock_restarts(timely: World) -> None:
    run = _opened(timely, 60)
    _pass(timely, run, 61)
    assert isinstance(timely.lifecycle.resume(run), RunAnswer)
    _pass(timely, run, 59)
    assert timely.meta(run).get("paused_at") is None, "its time began anew"
    _pass(timely, run, 2)
    assert timely.meta(run)["paused_at"] is not None


def test_while_a_run_is_paused_its_time_stands_still(timely: World) -> None:
    run = _opened(timely, 60)
    assert isinstance(timely.lifecycle.pause(run, reason="pending"), RunAnswer)
    _pass(timely, run, 600)
    assert timely.meta(run)["paused_because"] == "pending"
    assert isinstance(timely.lifecycle.resume(run), RunAnswer)
    assert timely.meta(run).get("paused_at") is None
    _pass(timely, run, 61)
    assert timely.meta(run)["paused_at"] is not None
