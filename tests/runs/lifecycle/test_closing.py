"""The end of a run: finalize once, what was never reached is skipped, and a crash in between is made good."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from dcf.core.documents.answers import Finalized, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.core.leasing.lease import Acquire
from dcf.runs.control_plane import ControlPlane
from dcf.runs.follow_ups import FollowUps
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.ahead import timers
from tests.support.tables import rows
from tests.support.workflows.machines import chain, fan, numbered_chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World, new_token

Worlds = Callable[..., World]


def counted(world: World, run: str) -> dict[str, int]:
    values = [doc.status.value for doc in world.docs(run).values()]
    return {status: values.count(status) for status in {status.value for status in Status}}


def test_a_run_that_ended_is_finalized_as_it_ended(world: World) -> None:
    run = world.create(chain("A"))
    world.do(run, "A", output=5)
    audit = world.finalize(run, note="well done").audit
    assert (audit["final_status"], audit["output"], audit["note"]) == ("succeeded", 5, "well done")
    assert world.meta(run)["finalize_note"] == "well done"
    assert world.event_types(run)[-1] == "RunFinalized"


def test_finalizing_again_returns_the_first_record_and_writes_nothing(world: World) -> None:
    run = world.create(chain("A"))
    first = world.finalize(run, note="one")
    before = world.events(run)
    again = world.finalize(run, note="two", status=RunStatus.FAILED)
    assert (again.repeated, again.audit) == (True, first.audit)
    assert world.events(run) == before
    assert world.meta(run)["finalize_note"] == "one"


def test_sixteen_who_finalize_at_once_get_one_and_the_same_record(real: World) -> None:
    run = real.create(chain("A", "B"))
    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(lambda number: real.finalize(run, note=str(number)), range(16)))
    assert [answer.repeated for answer in answers].count(False) == 1
    assert len({str(answer.audit) for answer in answers}) == 1
    assert real.event_types(run).count("RunFinalized") == 1


@rows("round_number", range(16))
def test_finalizing_races_with_a_completion_and_both_orders_are_consistent(real: World, round_number: int) -> None:
    run, barrier = real.create(chain("A")), threading.Barrier(2)
    token = real.acquire(run, "A")

    def complete() -> Updated | Refusal:
        barrier.wait()
        return real.try_complete(run, "A", token, {"x": 1})

    def close() -> Finalized:
        barrier.wait()
        return real.finalize(run)

    with ThreadPoolExecutor(2) as threads:
        completing, closing = threads.submit(complete), threads.submit(close)
        completed, audit = completing.result(), closing.result().audit
    consistent(real, run, completed, audit)


@rows("completion_first", [True, False])
def test_whoever_commits_first_decides_and_the_other_sees_it(world: World, completion_first: bool) -> None:
    """The race again, with either order forced: one commits while the other stands between reading and writing."""
    run = world.create(chain("A"))
    token = world.acquire(run, "A")
    done: list[Any] = []

    def meanwhile() -> None:
        if not done:
            done.append(None)
            done[0] = world.try_complete(run, "A", token, 1) if completion_first else world.finalize(run)

    slow = World(connections=world.connections)
    slow.plane = ControlPlane(RunStore(world.connections, before_commit=meanwhile), world.index)
    if completion_first:
        audit = slow.finalize(run).audit
        consistent(world, run, done[0], audit)
        assert audit["final_status"] == "succeeded"
    else:
        completed = slow.try_complete(run, "A", token, 1)
        consistent(world, run, completed, done[0].audit)
        assert isinstance(completed, Refusal)
        assert completed.code == "terminal"


def consistent(world: World, run: str, completed: Updated | Refusal, audit: Any) -> None:
    """Either the work counted everywhere, or nowhere."""
    status = "succeeded" if isinstance(completed, Updated) else "cancelled"
    assert world.doc(run, "A").status == status
    assert world.run_status(run) == audit["final_status"] == status
    assert (world.output(run, "A") is not None) is (status == "succeeded")
    counts = counted(world, run)
    assert {name: count for name, count in audit["counts"].items() if name not in {"total", "done"}} == counts
    assert world.plane.read(run, ("A",)).states["A"].lease.token is None


def test_after_finalizing_nothing_in_the_run_changes_any_more(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": "w"})
    token = world.acquire(run, "A")
    world.finalize(run)
    world.notifications.pulse()  # its holder is told to stop
    before = world.docs(run), world.events(run)
    codes = [
        getattr(answer, "code", None)
        for answer in (
            world.try_acquire(run, "A"),
            world.try_acquire(run, "B"),
            world.renew(run, "A", token),
            world.update(run, "A", token, output=1),
            world.try_complete(run, "A", token),
            world.fail(run, "A", token),
            world.claim(run, "w"),
            world.plane.kick_off(run, "go"),
        )
    ]
    assert codes == ["terminal"] * 8
    world.make_due(run, "A")
    world.notifications.pulse()
    assert (world.docs(run), world.events(run)) == before
    assert [event["reason"] for event in world.messages("w")] == ["cancelled"]


def test_states_left_open_on_purpose_stay_as_they_are_but_nobody_may_go_on(world: World) -> None:
    run = world.create(chain("A", "B", "C"), agents={"A": "w", "B": "w"})
    world.do(run, "A")
    token = world.acquire(run, "B")
    audit = world.finalize(run, close_open_states=False).audit
    assert audit["final_status"] == "partial"
    assert world.statuses(run) == {"A": "succeeded", "B": "running", "C": "skipped"}
    assert getattr(world.try_complete(run, "B", token), "code", None) == "terminal"
    for _ in range(2):
        world.notifications.pulse()
    assert world.statuses(run) == {"A": "succeeded", "B": "running", "C": "skipped"}
    assert not world.is_live(run)


def test_finalizing_five_hundred_states_is_one_transaction_with_a_full_audit(world: World) -> None:
    run = world.create(numbered_chain(500))
    world.do(run, "S0")
    counts = world.finalize(run).audit["counts"]
    assert (counts["total"], counts["succeeded"], counts["cancelled"], counts["skipped"]) == (500, 1, 1, 498)
    assert counted(world, run) == {name: count for name, count in counts.items() if name not in {"total", "done"}}


def test_when_a_run_ends_what_was_never_reached_is_skipped_and_told_once(world: World) -> None:
    run = world.create(fan(3))
    world.do(run, "Ask", output={"way": "Way1"})
    world.do(run, "Way1")
    assert world.complete(run, "Join", world.acquire(run, "Join")).run_status is RunStatus.SUCCEEDED
    assert {name for name, status in world.statuses(run).items() if status == "skipped"} == {"Way0", "Way2", "Lost"}
    details = [event.data["states"] for event in world.events(run) if event.type == "StatesSkipped"]
    assert details == [["Way0", "Way2", "Lost"]]


def test_a_failure_ends_the_run_and_skips_the_rest(world: World) -> None:
    run = world.create(chain("A", "B"), planner="boss")
    answer = world.fail(run, "A", world.acquire(run, "A"), "Broken", "the pump")
    assert isinstance(answer, Updated)
    assert world.statuses(run) == {"A": "failed", "B": "skipped"}
    assert (world.meta(run)["error"], world.meta(run)["cause"]) == ("Broken", "the pump")
    assert world.finalize(run).audit["final_status"] == "failed"


class Died(Exception):
    """A process ends between two transactions."""


def dies_before_skipping(monkeypatch: pytest.MonkeyPatch, call: Callable[[], object]) -> None:
    """The process that ends a run dies before the states that were never reached are skipped."""

    def dies(*_: object) -> None:
        raise Died

    with monkeypatch.context() as patched:
        patched.setattr(FollowUps, "skip_unreached", dies)
        with pytest.raises(Died):
            call()


@rows("ending", ["complete", "fail", "exhaust"])
def test_the_clock_skips_the_rest_when_whoever_ended_the_run_died_before_it_did(
    world: World, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    run = world.create(fan(2), planner="boss", max_attempts=1)
    token = world.acquire(run, "Ask")
    if ending == "exhaust":
        world.expire_lease(run, "Ask")
    endings: dict[str, Callable[[], object]] = {
        "complete": lambda: world.complete(run, "Ask", token, {"way": "nowhere"}),
        "fail": lambda: world.fail(run, "Ask", token),
        "exhaust": lambda: world.try_acquire(run, "Ask", "other"),
    }
    dies_before_skipping(monkeypatch, endings[ending])
    assert world.statuses(run)["Join"] == "pending"
    world.notifications.pulse()
    world.notifications.pulse()
    assert {world.statuses(run)[name] for name in ("Way0", "Way1", "Join")} == {"skipped"}
    assert not world.is_live(run)


def half_closed(world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """A run with an open Map that was finalized by a server that died right after the commit."""
    run = world.create(workflow({"Each": each({"In": task()})}), run_input=[1, 2])
    dies_before_skipping(monkeypatch, lambda: world.finalize(run))
    assert written(world, run) == {"Each": "cancelled", "Each/0/In": "pending", "Each/1/In": "pending"}
    return run


def written(world: World, run: str) -> dict[str, str]:
    """Statuses in Redis, not in decisions."""
    return {path: doc.status.value for path, doc in world.every_doc(run).items()}


def test_finalizing_again_closes_what_a_dead_server_left_open_inside(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = half_closed(world, monkeypatch)
    assert world.finalize(run).repeated
    assert set(written(world, run).values()) == {"cancelled"}
    assert timers(world, run) == {}


def test_the_clock_closes_what_a_dead_server_left_open_inside(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run = half_closed(world, monkeypatch)
    world.notifications.pulse()
    assert set(written(world, run).values()) == {"cancelled"}
    assert timers(world, run) == {}
    assert not world.is_live(run)


@rows("retention_s", [None, 100])
def test_a_run_that_ended_is_off_the_clock_whether_or_not_anybody_finalizes_it(
    world: World, retention_s: int | None
) -> None:
    """Four thousand of them made a Wait of a second last four."""
    run = world.create(chain("A"), retention_s=retention_s)
    world.do(run, "A")
    world.notifications.pulse()
    world.notifications.pulse()
    assert not world.is_live(run)


def test_a_run_that_is_finalized_while_the_clock_takes_it_off_its_list_stays_listed(world: World) -> None:
    run = world.create(chain("A"), retention_s=100)
    world.do(run, "A")
    world.notifications.deliver(run)
    seen = world.outbox.attention(run)
    assert seen.is_over, "nothing is owed, so that only the expiry of its keys is left to do"
    world.finalize(run)
    assert not world.index.retire(run, is_final=seen.is_final)
    assert world.is_live(run), "its keys have still to expire"


def test_creating_again_also_makes_good_what_a_dead_creator_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = chain("A", "B")
    document["asl"]["States"]["A"] = {"Type": "Fail", "Error": "E"}
    document["asl"]["States"]["Start"] = {
        "Type": "Choice",
        "Choices": [{"Variable": "$", "IsNull": True, "Next": "B"}],
        "Default": "A",
    }
    document["asl"]["StartAt"] = "Start"
    wish = world.wish(document)

    dies_before_skipping(monkeypatch, lambda: world.plane.create(wish))
    assert world.statuses(wish.workflow_id)["B"] == "pending"
    world.plane.create(wish)
    assert world.statuses(wish.workflow_id)["B"] == "skipped"


def test_a_state_without_attempts_left_fails_the_run_at_the_next_claim(world: World) -> None:
    run = world.create(chain("A", "B"), max_attempts=2, planner="boss")
    for owner in ("one", "two"):
        world.acquire(run, "A", owner)
        world.expire_lease(run, "A")
    answer = world.try_acquire(run, "A", "three")
    assert isinstance(answer, Refusal)
    assert answer.code == "attempts_exhausted"
    assert world.statuses(run) == {"A": "failed", "B": "skipped"}
    assert world.meta(run)["error"] == "DCF.AttemptsExhausted"
    world.notifications.pulse()
    assert [event["status"] for event in world.messages("boss")] == ["failed"]


def test_a_terminal_state_is_not_written_again_by_closing(world: World) -> None:
    run = world.create(chain("A", "B"))
    world.do(run, "A", output=1)
    before = world.doc(run, "A")
    world.finalize(run)
    assert world.doc(run, "A") == before
    again = world.plane.acquire(run, Acquire(state="A", owner="w", token=new_token(), ttl_s=60))
    assert isinstance(again, Refusal)


def test_the_status_that_the_planner_gives_is_the_one_that_counts(world: World) -> None:
    run = world.create(chain("A"))
    answer = world.finalize(run, status=RunStatus.FAILED, note="given up")
    assert answer.audit["final_status"] == "failed"
    assert world.run_status(run) == "failed"
