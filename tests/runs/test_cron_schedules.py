"""Schedules on the real server: each tick starts its run once, whoever looks and whoever dies; the rest is noted."""

from collections.abc import Iterator

import pytest

from dcf.core.schedules import Schedule
from dcf.store.connection import Connections
from dcf.values.instants import SECOND, to_text
from tests.support.ahead import Ahead
from tests.support.machines import chain
from tests.support.trouble import Killer
from tests.support.world import World

MINUTE = 60


@pytest.fixture
def world(real_connections: Connections, onlooker: Connections) -> Iterator[World]:
    """dcf on the real server, with time that a test lets pass, and a killer before every commit."""
    found = World(connections=real_connections, onlooker=onlooker, clock=Ahead(), before_commit=Killer())
    yield found
    found.close()


def outcomes(world: World, name: str) -> list[tuple[str, str | None]]:
    return [(record.outcome, record.why) for record in world.schedules.read(name).records]


def at_tick(world: World, schedule: Schedule) -> None:
    """Let time pass to just after the next tick."""
    assert world.clock is not None
    at = world.schedules.read(schedule.name).next_at
    seconds, micros = world.ask("TIME")
    world.clock.passed = (at or 0) - int(seconds) * SECOND - int(micros) + SECOND


def test_a_tick_starts_a_run_that_names_its_schedule(world: World) -> None:
    made = world.plan(chain("A"), run_input={"n": 1}, agents={"A": "w"}, tags=("nightly",))
    world.schedules.look(made.name)
    assert world.runs_of(made.name) == []
    at_tick(world, made)
    assert world.schedules.look(made.name) == 1
    (run,) = world.runs_of(made.name)
    assert run == made.run_at(made.next_at or 0)
    meta = world.meta(run)
    assert (meta["input"], meta["tags"], meta["created_by"]) == (
        {"n": 1},
        ["nightly", f"schedule:{made.name}"],
        "local",
    )
    (created,) = [event for event in world.events(run) if event.type == "RunCreated"]
    assert created.data["reason"] == f"Schedule {made.name}, tick {to_text(made.next_at or 0)[:19]}Z."
    after = world.schedules.read(made.name)
    assert (after.next_at, after.started) == ((made.next_at or 0) + MINUTE * SECOND, 1)
    assert [(one.outcome, one.tick, one.run) for one in after.records] == [("started", made.next_at, run)]
