"""Parent and child agree on the child's end, wherever a power loss interrupts a delivery."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest

from dcf.core.documents.answers import Created
from dcf.core.documents.model import RunStatus
from dcf.core.documents.premises import Premise
from dcf.core.lifecycle.starting import Start
from dcf.errors import StoreUnavailable, UnknownRun
from dcf.features.children.model import child_id
from dcf.runs.notifying import notifications
from dcf.store.connection.connections import Connections, open_pool
from dcf.values.refusal import Refusal
from tests.features.children.test_operations import children, keep, starts
from tests.support.ahead import Ahead, let_pass
from tests.support.redis.power import Outlet
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.workflows.machines import Document, workflow
from tests.support.world import World

Step: TypeAlias = Callable[[World, str], object]
"""Something that happens to a parent and its child."""

DONE = ("succeeded", ("succeeded",))
STOPPED = ("cancelled", ("cancelled",))
"""The ends of a parent and of its children."""

TOKEN = "token-of-who-did-the-first-state"


@pytest.fixture
def outlet(server: RestrictedRedis, onlooker: Connections) -> Iterator[Outlet]:
    outlet = Outlet(open_pool(server.url), onlooker)
    yield outlet
    outlet.disconnect()


@pytest.fixture
def world(outlet: Outlet, onlooker: Connections, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """A process whose server may lose power; what it took and did not settle is taken over at once."""
    monkeypatch.setattr(notifications, "STALLED_S", 0.0)
    world = World(connections=Connections(outlet), onlooker=onlooker, clock=Ahead())
    yield world
    world.close()


def deliver(world: World, name: str) -> None:
    with suppress(StoreUnavailable, UnknownRun):  # what is left is delivered later
        world.notifications.deliver_all(name)


def of_parent(world: World, run: str) -> None:
    deliver(world, run)


def of_child(world: World, run: str) -> None:
    deliver(world, child_of(world, run))


def child_of(world: World, run: str) -> str:
    return child_id(run, "Inner", world.doc(run, "Inner").lease.epoch)


def settled(world: World, run: str) -> None:
    for _ in range(2):
        for item in [run, *children(world, run)]:
            deliver(world, item)


def done(world: World, run: str) -> None:
    """The child's work is done, if it waits for that; each time something else comes of it."""
    for child in children(world, run):
        if world.run_status(child) is RunStatus.RUNNING:
            world.do(child, "Do", output=uuid.uuid4().hex)


def given_up(world: World, run: str) -> None:
    world.lifecycle.cancel(run)
    world.plane.skip_unreached(run)


def looked_at(world: World, run: str) -> None:
    """The clock has looked at the state that waits."""
    let_pass(world, 61)
    world.plane.look(run, "Inner")


def started_too_late(world: World, run: str) -> None:
    """A slow process starts the child: after it read that the parent waits, the wait ends, and all are notified."""
    start = world.starting.start

    def late(start_request: Start, premise: Premise | None = None, **_: Any) -> Created | Refusal:
        assert premise is not None, "it held before"
        given_up(world, run)
        settled(world, run)
        return start(start_request)

    world.starting.start = late  # type: ignore[method-assign]
    deliver(world, run)
    world.starting.start = start  # type: ignore[method-assign]


def begun(world: World, run: str) -> None:
    """The child was started, the parent knows, and the clock has looked."""
    settled(world, run)
    looked_at(world, run)


def given_up_later(world: World, run: str) -> None:
    settled(world, run)
    given_up(world, run)


def taken(world: World, run: str) -> None:
    world.acquire(run, "First", token=TOKEN)


def worked(world: World, run: str) -> None:
    """The state before is done; or that is said once more by who did it, since the power was lost."""
    world.complete(run, "First", TOKEN)


def nothing(_world: World, _run: str) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What a power loss takes back, what it does not, the delivery that goes on over it, and what is said again later.

    `before` are states of the parent before the one that starts the child.
    """

    kept: Step = nothing
    lost: Step = nothing
    delivery: Step
    again: Step = nothing
    how: str = ".sync:2"
    before: Mapping[str, Document] = field(default_factory=dict)

    def outcomes(self, world: World, outlet: Outlet) -> list[object]:
        """The end of the run, for each packet of the delivery before which the power is lost."""
        outcomes: list[object] = []
        while self._strikes(world, outlet, len(outcomes)):
            run = world.runs[-1]
            for step in (settled, self.again, settled, looked_at, settled, done, settled):
                step(world, run)
            metas = [world.meta(child) for child in children(world, run)]
            outcomes.append((world.run_status(run).value, tuple(meta["status"] for meta in metas)))
            world.runs += children(world, run)
            details = (world.meta(run).get("output") or {}).get("Output")
            assert details is None or [details] == [meta["output"] for meta in metas]
        assert len(outcomes) > 5, "the power was lost between all packets"
        return outcomes

    def _strikes(self, world: World, outlet: Outlet, number: int) -> bool:
        run = world.create(workflow({**self.before, "Inner": starts(keep(world), self.how)}))
        self.kept(world, run)
        outlet.note(run)
        self.lost(world, run)
        return outlet.strikes(number, lambda: self.delivery(world, run))


def test_a_parent_is_not_told_of_an_end_that_is_taken_back(world: World, outlet: Outlet) -> None:
    loss = Loss(kept=settled, lost=done, delivery=of_child)
    assert set(loss.outcomes(world, outlet)) == {DONE}


def test_a_child_is_not_stopped_if_the_end_of_its_parent_is_taken_back(world: World, outlet: Outlet) -> None:
    loss = Loss(kept=settled, lost=given_up, delivery=of_parent)
    assert set(loss.outcomes(world, outlet)) == {DONE}


def test_nor_while_it_is_being_started(world: World, outlet: Outlet) -> None:
    loss = Loss(kept=of_parent, lost=given_up, delivery=of_child)
    assert set(loss.outcomes(world, outlet)) == {DONE}


def test_a_child_is_stopped_again_if_that_is_taken_back(world: World, outlet: Outlet) -> None:
    loss = Loss(kept=given_up_later, delivery=of_parent)
    assert set(loss.outcomes(world, outlet)) == {STOPPED}


def test_so_is_one_that_was_started_when_nobody_waited_any_more(world: World, outlet: Outlet) -> None:
    loss = Loss(kept=started_too_late, delivery=of_child)
    assert set(loss.outcomes(world, outlet)) == {STOPPED}


@rows(("lost", "delivery"), [(begun, of_parent), (of_parent, of_child)])
def test_a_child_that_is_taken_back_is_started_again(world: World, outlet: Outlet, lost: Step, delivery: Step) -> None:
    loss = Loss(lost=lost, delivery=delivery)
    assert set(loss.outcomes(world, outlet)) == {DONE}


def test_so_is_one_that_nobody_waits_for(world: World, outlet: Outlet) -> None:
    loss = Loss(lost=of_parent, delivery=of_child, how="")
    assert set(loss.outcomes(world, outlet)) == {DONE}


def test_a_child_is_not_started_before_its_state_is_entered_for_good(world: World, outlet: Outlet) -> None:
    before = {"First": {"Type": "Task", "Next": "Inner"}}
    loss = Loss(before=before, kept=taken, lost=worked, delivery=of_parent, again=worked)
    assert set(loss.outcomes(world, outlet)) == {DONE}
