"""A state that a completion makes ready is in its agent's inbox when the completion is answered, and only once."""

import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.adapters.mailbox import mailbox_platform
from dcf.adapters.platforms import Platforms
from dcf.core.documents.answers import Updated
from dcf.core.documents.notices import NoticeKind
from dcf.errors import StoreUnavailable
from dcf.ports import Delivery, Platform, Post
from dcf.runs.notifying import prompt_delivery
from dcf.runs.notifying.prompt_delivery import PromptDelivery, ToldAtOnce
from dcf.store.events.outbox import OutboxEntry
from tests.features.journal.test_blocking import blocked, unblocked
from tests.support.agents.elsewhere import Elsewhere
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import LONG, World


@pytest.fixture
def later(world: World) -> list[str]:
    """Runs whose owed notifications a thread would deliver; here the test says when."""
    runs = list[str]()
    world.forget_others()
    world.plane.hand_over_to(runs.append, world.notifications.tell_at_once)
    return runs


def complete(world: World, run: str, state: str, agent: str) -> Updated:
    """Complete a state as a worker does that asks for its next work."""
    token = world.acquire(run, state, agent)
    return world.complete(run, state, token, {}, owner=agent, claim_ttl_s=LONG)


def test_the_next_agent_is_told_before_the_outbox_is_looked_at(world: World, later: list[str]) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    complete(world, run, "A", "a")
    (event,) = world.messages("b")
    assert (event["target_state"], event["source_state"], event["reason"]) == ("B", "A", "upstream_done")
    assert (world.owed(run), later) == (1, [run])


def test_the_delivery_from_the_outbox_only_records_what_was_told(world: World, later: list[str]) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    complete(world, run, "A", "a")
    assert world.notifications.deliver_all(run) == 1
    assert len(world.messages("b")) == 1
    assert world.owed(run) == 0
    assert world.event_types(run, "B").count("NotificationSent") == 1
    assert world.notifications.told(run, ["B"])["B"].sent is not None


def test_it_is_recorded_although_the_state_was_done_meanwhile(world: World, later: list[str]) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    complete(world, run, "A", "a")
    world.do(run, "B", "b")
    world.notifications.deliver_all(run)
    assert world.event_types(run, "B").count("NotificationSent") == 1


def test_if_the_process_dies_another_delivers_and_the_inbox_drops_it(world: World, later: list[str]) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    complete(world, run, "A", "a")
    another = world.relay()
    assert another.deliver_all(run) == 1
    assert len(world.messages("b")) == 1
    assert (world.owed(run), world.event_types(run, "B").count("NotificationSent")) == (0, 1)


def test_a_payload_reaches_an_agent_that_was_told_at_once(world: World, later: list[str]) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    complete(world, run, "A", "a")
    world.notifications.notify_next(run, "A", payload={"hint": 1})
    assert world.messages("b")[-1]["payload"] == {"hint": 1}


def abreast(*names: str) -> dict[str, Any]:
    """`A`, then these Tasks side by side."""
    return workflow({"A": task("P"), "P": parallel(*({name: task()} for name in names))})


def test_states_side_by_side_are_told_together(world: World, later: list[str]) -> None:
    run = world.create(abreast("B", "C"), agents={"A": "a", "B": "b", "C": "c"})
    complete(world, run, "A", "a")
    assert [len(world.messages(agent)) for agent in ("b", "c")] == [1, 1]


def test_a_writer_that_may_take_the_state_itself_is_not_told_at_once(world: World, later: list[str]) -> None:
    run = world.create(abreast("B", "C"), agents=dict.fromkeys(("A", "B", "C"), ("a", "other")))
    complete(world, run, "A", "a")
    assert world.messages("a") == world.messages("other") == []


def test_many_states_at_once_are_left_to_the_threads(world: World, later: list[str]) -> None:
    names = tuple(f"S{number}" for number in range(9))
    run = world.create(abreast(*names), agents={"A": "a"} | dict.fromkeys(names, "b"))
    complete(world, run, "A", "a")
    assert world.messages("b") == []
    world.notifications.deliver_all(run)
    assert len(world.messages("b")) == len(names)


def test_an_agent_on_a_remote_platform_is_left_to_its_lane(world: World) -> None:
    remote = Elsewhere()
    platforms = Platforms([mailbox_platform(world.mailbox), Platform(kind="remote", deliverer=remote)], world.records)
    platforms.register("far", "remote")
    relay = world.relay(platforms)
    world.plane.hand_over_to(lambda _: None, relay.tell_at_once)
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "far"})
    complete(world, run, "A", "a")
    assert remote.asked == []
    relay.deliver_all(run)
    assert len(remote.told("far")) == 1


def test_what_cannot_be_told_at_once_is_delivered_later(world: World, later: list[str]) -> None:
    def lost(posts: Sequence[Post]) -> Sequence[Delivery]:
        raise StoreUnavailable("Redis does not answer.")

    at_once = PromptDelivery(lambda agents: [None] * len(agents), lost)
    world.plane.hand_over_to(later.append, at_once.tell)
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    assert complete(world, run, "A", "a").next_states == ("B",)
    world.notifications.deliver_all(run)
    assert len(world.messages("b")) == 1


@pytest.mark.parametrize("halted", ["paused", "blocked"])
def test_nobody_is_told_of_a_state_that_cannot_be_taken_until_the_run_goes_on(
    world: World, later: list[str], halted: str
) -> None:
    run = world.create(chain("A", "B"), agents={"A": "a", "B": "b"})
    token = world.acquire(run, "A", "a")
    if halted == "paused":
        world.lifecycle.pause(run)
    else:
        blocked(world, run)
    world.complete(run, "A", token, {}, owner="a", claim_ttl_s=LONG)
    world.notifications.deliver_all(run)
    assert world.messages("b") == []
    if halted == "paused":
        world.lifecycle.resume(run)
    else:
        unblocked(world, run)
    world.notifications.deliver_all(run)
    assert [event["target_state"] for event in world.messages("b")] == ["B"]


def test_what_was_told_can_be_taken_while_the_oldest_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits tell in their threads, and others settle: an error here would be that of a commit that was made."""
    monkeypatch.setattr(prompt_delivery, "_MOST_KEPT", 4)
    entries = [
        OutboxEntry(entry_id="", type=NoticeKind.READY, state=str(n), epoch=n, source=None, reason="")
        for n in range(12)
    ]
    at_once = PromptDelivery(lambda agents: [None for _ in agents], lambda _: [])
    told_at_once = ToldAtOnce([("a", Delivery())], [], 0)
    is_over, interval = threading.Event(), sys.getswitchinterval()

    def keep() -> None:
        for _ in range(5_000):
            for entry in entries:
                at_once._keep("run", entry, told_at_once)

    def take() -> None:
        while not is_over.is_set():
            for entry in entries:
                at_once.take("run", entry)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor() as threads:
            keeping, _, _ = threads.submit(keep), threads.submit(take), threads.submit(take)
            try:
                keeping.result()
            finally:
                is_over.set()
    finally:
        sys.setswitchinterval(interval)
