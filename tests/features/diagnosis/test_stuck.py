"""`why`, the lists, their counts and the metrics agree on which runs are stuck: whatever happened to a run."""

from collections.abc import Callable
from typing import Any

import pytest

from dcf.core.leasing.stuck import STUCK_REMINDERS
from dcf.core.listing.runs import RunQuery
from dcf.features.health.gauges import GaugeReader
from dcf.features.journal.writing import ResolveIssue
from dcf.runs.views.lists import RunList
from dcf.store.keys import table as keys
from dcf.store.lists.pages import Catalog
from tests.features.diagnosis.test_operations import clock_looked
from tests.support.tables import rows
from tests.support.workflows.machines import workflow
from tests.support.workflows.scopes import parallel, retrying, task
from tests.support.world import World
from tests.web import stuck_runs


@pytest.fixture(autouse=True)
def _clock(world: World) -> None:
    clock_looked(world)


def reminded(world: World, run: str, state: str = "A", times: int = STUCK_REMINDERS) -> str:
    for _ in range(times):
        world.make_due(run, state)
        world.notifications.pulse()
    return run


def explained(world: World, run: str) -> bool:
    return world.diagnosis.explain(run).is_stuck


def listed(world: World, run: str) -> bool:
    page = RunList(Catalog(world.connections)).list_runs(RunQuery(limit=1000, stuck=True))
    return run in [row.workflow_id for row in page.rows]


def shown(world: World, run: str) -> bool:
    page = RunList(Catalog(world.connections)).list_runs(RunQuery(limit=1000))
    return next(row.stuck for row in page.rows if row.workflow_id == run)


def counted(world: World, run: str) -> bool:
    """The index that the tile and `dcf_runs_stuck` count."""
    world.notifications.pulse()
    return world.ask("ZSCORE", world.list_of(keys.STUCK, run), run) is not None


def agree(world: World, run: str, *, stuck: bool) -> None:
    verdicts = {view.__name__: view(world, run) for view in (explained, listed, shown, counted)}
    assert verdicts == dict.fromkeys(verdicts, stuck)


def failing(world: World, times: int) -> str:
    again = retrying("States.ALL", IntervalSeconds=3600, MaxAttempts=9)
    run = stuck_runs.started(world, workflow({"A": {**task(), "Retry": again}}), agents={"A": "a-1"})
    for _ in range(times):
        stuck_runs.put(world, run, "A", "not_before", None)
        world.fail(run, "A", world.acquire(run, "A", "a-1"), "Broken", "why")
    return run


def dying(world: World, times: int) -> str:
    run = stuck_runs.not_taken(world, "a-1")
    for _ in range(times):
        world.acquire(run, "A", "a-1")
        world.expire_lease(run, "A")
    return reminded(world, run, times=1)


def hanging(world: World) -> str:
    run = stuck_runs.not_taken(world, "a-1")
    token = world.acquire(run, "A", "a-1")
    stuck_runs.put(world, run, "A", "started_at", stuck_runs.LONG_AGO)
    world.renew(run, "A", token)
    return run


def blocked_and_reminded(world: World) -> str:
    return reminded(world, stuck_runs.blocked(world))


def paused_while_blocked(world: World) -> str:
    run = stuck_runs.blocked(world)
    world.lifecycle.pause(run)
    return run


STUCK: dict[str, Callable[[World], str]] = {
    "not taken": lambda world: reminded(world, stuck_runs.not_taken(world)),
    "nobody assigned": lambda world: reminded(world, stuck_runs.nobody_assigned(world)),
    "delivery failed": lambda world: reminded(world, stuck_runs.delivery_failed(world)),
    "lease expired": lambda world: reminded(world, stuck_runs.lease_expired(world)),
    "not started": lambda world: reminded(world, stuck_runs.not_started(world), times=1),
    "keeps failing": lambda world: failing(world, 2),
    "workers die": lambda world: dying(world, 3),
    "worker hangs": hanging,
    "blocked": stuck_runs.blocked,
    "blocked, and its agent was not there": blocked_and_reminded,
    "on hold": stuck_runs.killed_process,
}
GOES_ON: dict[str, Callable[[World], str]] = {
    "just told": stuck_runs.not_taken,
    "held": stuck_runs.lease_held,
    "failed once": lambda world: failing(world, 1),
    "lost once": lambda world: dying(world, 1),
    "paused": stuck_runs.paused,
    "paused after reminders": lambda world: _paused(world, reminded(world, stuck_runs.not_taken(world))),
    "paused while blocked": paused_while_blocked,
    "timer": stuck_runs.timer_due,
    "person": stuck_runs.waiting_for_person,
    "callback": stuck_runs.waiting_for_callback,
    "signal": stuck_runs.waiting_for_signal,
    "verdict": stuck_runs.waiting_for_verdict,
    "answer": stuck_runs.waiting_for_answer,
    "child": stuck_runs.waiting_for_child,
}


def _paused(world: World, run: str) -> str:
    world.lifecycle.pause(run)
    return run


@rows("story", STUCK)
def test_all_views_say_that_somebody_has_to_help(world: World, story: str) -> None:
    agree(world, STUCK[story](world), stuck=True)


@rows("story", GOES_ON)
def test_all_views_say_that_nobody_has_to_help(world: World, story: str) -> None:
    agree(world, GOES_ON[story](world), stuck=False)


def test_a_run_that_is_let_go_on_is_stuck_again_only_where_it_was(world: World) -> None:
    run = stuck_runs.blocked(world)
    (issue,) = (blocker["issue"] for blocker in world.meta(run)["blocked_by"])
    resolve(world, run, issue)
    agree(world, run, stuck=False)
    waiting = reminded(world, stuck_runs.not_taken(world))
    world.lifecycle.pause(waiting)
    agree(world, waiting, stuck=False)
    world.lifecycle.resume(waiting)
    agree(world, waiting, stuck=True)


def resolve(world: World, run: str, issue: str) -> None:
    world.journal.resolve_issue(run, ResolveIssue(issue=issue, how="It was found.", by="a-1", may_any=True))


def test_a_state_that_is_tried_again_is_not_stuck_while_somebody_works_on_it(world: World) -> None:
    run = failing(world, 2)
    agree(world, run, stuck=True)
    stuck_runs.put(world, run, "A", "not_before", None)
    token = world.acquire(run, "A", "a-1")
    agree(world, run, stuck=False)
    world.complete(run, "A", token)
    agree(world, run, stuck=False)


def test_a_run_that_keeps_failing_in_one_branch_stays_stuck_while_another_goes_on(world: World) -> None:
    left: dict[str, Any] = {**task(), "Retry": retrying("States.ALL", IntervalSeconds=3600)}
    run = world.create(workflow({"P": parallel({"L": left}, {"R": task()})}), agents={"L": "l", "R": "r"})
    world.plane.kick_off(run, "go")
    for _ in range(2):
        stuck_runs.put(world, run, "P/0/L", "not_before", None)
        world.fail(run, "P/0/L", world.acquire(run, "P/0/L", "l"), "Broken", "why")
    world.do(run, "P/1/R", "r")
    agree(world, run, stuck=True)


def test_the_metric_counts_runs_on_hold_until_they_are_released(world: World) -> None:
    before = GaugeReader(world.connections).read().on_hold
    run = stuck_runs.killed_process(world)
    assert GaugeReader(world.connections).read().on_hold == before + 1
    world.retrying.retry(run)
    assert GaugeReader(world.connections).read().on_hold == before
    stuck_runs.killed_process(world)
    assert GaugeReader(world.connections).read().on_hold == before + 1
