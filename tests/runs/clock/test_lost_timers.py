"""Open states whose timer Redis has lost: found and corrected by the sweep, named by `why` until then."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from dcf.core.documents.model import RunStatus
from dcf.core.listing.checks import ListKind
from dcf.core.listing.runs import RunQuery
from dcf.features.diagnosis.model import Cause
from dcf.features.journal.model import EntryKind
from dcf.features.journal.writing import AddEntry
from dcf.runs.clock.lost_timers import set_timer
from dcf.runs.clock.sweep import Sweep
from dcf.runs.views.lists import RunList
from dcf.store.keys import parts as key_parts
from dcf.store.keys import table as keys
from dcf.store.lists.checks import Listings
from dcf.store.lists.pages import Catalog
from tests.support.ahead import now
from tests.support.redis.alone import world_alone
from tests.support.tables import rows
from tests.support.workflows.growing import Server
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World


@pytest.fixture
def site(tmp_path: Path) -> Iterator[World]:
    """dcf on a Redis where there is nothing else."""
    with world_alone(tmp_path) as world:
        yield world


def sweep(world: World) -> Sweep:
    return Sweep(Listings(world.connections), rearm=partial(set_timer, world.plane))


def begun(world: World, document: Document, **options: object) -> str:
    """A started run with delivered notifications, after a look of the timer loop."""
    world.ask("SET", keys.SERVER_TIME, now(world))
    run = world.create(document, **options)
    world.plane.kick_off(run, "initial")
    world.notifications.deliver_all(run)
    return run


def tear(world: World, run: str, *states: str) -> None:
    """Take away what a torn transaction has not written: the timers of these states, and what is owed."""
    own = keys.RunKeys(run)
    world.ask("ZREM", own.timers, *map(key_parts.encode_state, states))
    world.ask("DEL", own.outbox)


def torn(world: World) -> str:
    """A run in which B was entered, and neither its timer nor its notification was written."""
    run = begun(world, chain("A", "B"), agents={"A": "ann", "B": "bob"})
    world.do(run, "A", "ann")
    tear(world, run, "B")
    return run


def is_timed(world: World, run: str, state: str) -> bool:
    score = world.ask("ZSCORE", keys.RunKeys(run).timers, key_parts.encode_state(state))
    return score is not None


def test_a_ready_state_without_timer_and_outbox_entry_is_taken_up_after_a_sweep(site: World) -> None:
    run = torn(site)
    site.notifications.pulse()
    assert site.messages("bob") == [], "no clock looks at it"
    assert sweep(site).look(repair=False).missing == {ListKind.TIMERS: 1}
    assert not is_timed(site, run, "B"), "looking changes nothing"
    assert sweep(site).look(repair=True).missing == {ListKind.TIMERS: 1}
    assert is_timed(site, run, "B")
    site.notifications.pulse()
    assert [(message["target_state"], message["reason"]) for message in site.messages("bob")] == [("B", "timer_lost")]
    assert sweep(site).look(repair=True).missing == {}
    site.do(run, "B", "bob")
    assert site.run_status(run) is RunStatus.SUCCEEDED


def test_the_sweep_beside_the_clock_does_so_by_itself(site: World) -> None:
    run = torn(site)
    assert sweep(site).step() == 1
    assert is_timed(site, run, "B")


def test_a_sweep_is_due_once_redis_has_started_anew(tmp_path: Path) -> None:
    repairs: list[int] = []
    for _ in range(2):
        with world_alone(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as world:
            repairs += [sweep(world).step(), sweep(world).step()]
            torn(world)
    assert repairs == [0, 0, 1, 0]


def leased(world: World) -> tuple[str, str]:
    run = begun(world, chain("A"), agents={"A": "ann"})
    world.acquire(run, "A", "ann")
    return run, "A"


def waiting(world: World) -> tuple[str, str]:
    wait = {"Type": "Wait", "Seconds": 3600, "Next": "A"}
    return begun(world, workflow({"W": wait, "A": task()}), agents={"A": "ann"}), "W"


def mapped(world: World) -> tuple[str, str]:
    return begun(world, workflow({"Each": each({"S": task()})}), run_input=[1, 2], agents={"S": "ann"}), "Each"


def iteration(world: World) -> tuple[str, str]:
    return mapped(world)[0], "Each/1/S"


def unstarted(world: World) -> tuple[str, str]:
    return world.create(chain("A"), agents={"A": "ann"}, planner="boss"), "A"


def paused(world: World) -> tuple[str, str]:
    run = begun(world, chain("A"), agents={"A": "ann"})
    world.lifecycle.pause(run)
    return run, "A"


OPEN = [leased, waiting, mapped, iteration, unstarted, paused]


@rows("made", OPEN)
def test_open_state_gets_its_timer_again_without_a_second_notification(
    site: World, made: Callable[[World], tuple[str, str]]
) -> None:
    run, state = made(site)
    before = len(site.messages("ann"))
    tear(site, run, state)
    assert sweep(site).look(repair=True).missing[ListKind.TIMERS] == 1
    assert is_timed(site, run, state)
    site.notifications.deliver_all(run)
    assert len(site.messages("ann")) == before, "an agent is notified once"


def test_an_ended_lease_without_timer_is_reminded_of(site: World) -> None:
    run, state = leased(site)
    site.expire_lease(run, state)
    tear(site, run, state)
    sweep(site).look(repair=True)
    site.notifications.pulse()
    assert "lease_expired" in [message["reason"] for message in site.messages("ann")]


def test_states_that_need_no_timer_get_none(site: World) -> None:
    both = {"Pair": parallel({"L": task()}, {"R": task()}, following="Z"), "Z": task()}
    run = begun(site, workflow(both), agents={"L": "ann", "R": "ann", "Z": "ann"})
    over = begun(site, chain("A"))
    site.do(run, "Pair/0/L", "ann")
    site.do(over, "A")
    assert sweep(site).look(repair=False).missing == {}


@rows("torn_at", [("B",), ("Each/1/S",)])
def test_why_names_the_lost_timer_and_what_helps(world: World, torn_at: tuple[str]) -> None:
    (state,) = torn_at
    run = torn(world) if state == "B" else mapped(world)[0]
    if state != "B":
        tear(world, run, state)
    (first, *_) = world.diagnosis.explain(run).findings
    assert (first.cause, first.state, first.stuck) == (Cause.TIMER_LOST, state, True)
    assert first.remedy.tool == "notify_if_ready"
    assert world.diagnosis.explain(run).is_stuck
    (about,) = world.diagnosis.explain(run, state).findings
    assert about.cause is Cause.TIMER_LOST
    world.notifications.notify(run, state, reason="why")
    assert is_timed(world, run, state)
    assert Cause.TIMER_LOST not in [finding.cause for finding in world.diagnosis.explain(run).findings]


def test_the_nudge_of_an_operator_sets_the_timer_too(world: World) -> None:
    run = torn(world)
    assert world.notifications.notify(run, "B", reason="by hand").sent
    assert is_timed(world, run, "B")
    assert world.is_live(run)


def test_a_group_has_no_timer_and_gets_none(site: World) -> None:
    run = Server(site).open({"name": "G", "kind": "group"}, {"name": "A", "group": "G"})
    assert sweep(site).look(repair=True).total == 0
    assert not set_timer(site.plane, run, "G")
    assert site.ask("ZRANGE", keys.RunKeys(run).timers, 0, -1) == [b"A"]


def half_written(world: World) -> str:
    """A run of which Redis has the meta document and the definition alone."""
    run = world.create(chain("A"), agents={"A": "ann"})
    own = keys.RunKeys(run)
    world.ask("DEL", own.state("A"), own.input("A"), own.timers, own.events, own.outbox)
    return run


def stuck_runs(world: World) -> list[str]:
    return [
        row.workflow_id for row in RunList(Catalog(world.connections)).list_runs(RunQuery(limit=9, stuck=True)).rows
    ]


def test_a_run_whose_states_are_lost_is_found_and_listed_as_stuck(site: World) -> None:
    run = half_written(site)
    (finding,) = site.diagnosis.explain(run).findings
    assert (finding.cause, finding.stuck) == (Cause.NOTHING_OPEN, True)
    assert sweep(site).look(repair=False).missing == {ListKind.CATALOG: 1}
    assert stuck_runs(site) == []
    assert sweep(site).look(repair=True).missing == {ListKind.CATALOG: 1}
    assert stuck_runs(site) == [run]
    assert sweep(site).look(repair=True).total == 0
    site.lifecycle.cancel(run)
    assert stuck_runs(site) == []


def growing(world: World) -> str:
    return Server(world).open()


def at_a_held_end(world: World) -> str:
    run = begun(world, chain("A"), agents={"A": "ann"})
    token = world.acquire(run, "A", "ann")
    wish = AddEntry(kind=EntryKind.ISSUE, text="Why?", agent="ann", key="why", blocks=True, is_operator=True)
    world.journal.add_journal_entry(run, wish)
    world.complete(run, "A", token, {})
    world.ask("ZREM", keys.STUCK, run)
    return run


def torn_at_its_creation(world: World) -> str:
    run = world.create(chain("A"), agents={"A": "ann"})
    tear(world, run, "A")
    return run


@rows("made", [growing, at_a_held_end, torn_at_its_creation])
def test_a_run_that_can_go_on_is_not_taken_for_one_whose_states_are_lost(
    site: World, made: Callable[[World], str]
) -> None:
    run = made(site)
    assert ListKind.CATALOG not in sweep(site).look(repair=True).missing
    assert stuck_runs(site) == []
    assert Cause.NOTHING_OPEN not in [finding.cause for finding in site.diagnosis.explain(run).findings]
