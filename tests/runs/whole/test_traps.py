"""Failures of the public reference implementation, one test each, named by their number: here they do not happen.

Rows about tools, schemas, agents' creation and payloads belong to other layers (D-01..07, D-17, D-23, D-33, D-40c,
D-53, D-54, D-58).
"""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased, Released, Updated
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from dcf.errors import DcfError
from dcf.runs.control_plane import ControlPlane
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import chain, fan
from tests.support.world import World, new_token


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


# Section 2: leases, fencing, time


@rows("token", [None, "lease-random"])
def test_d10_nobody_writes_a_held_state_without_the_token_of_its_holder(world: World, token: str | None) -> None:
    run = world.create(chain("A"))
    acquire = world.acquire(run, "A")
    expected = "token_required" if token is None else "lease_lost"
    assert code(world.update(run, "A", token, output="mine")) == expected
    assert code(world.update(run, "A", token, status=Status.FAILED)) == expected
    assert code(world.try_complete(run, "A", token, "mine")) == expected
    assert world.doc(run, "A").lease.token == acquire
    assert world.output(run, "A") is None


def test_d10_a_replaced_holder_writes_nothing_even_after_the_new_one_has_ended(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"A": ("x", "y")})
    late = world.acquire(run, "A", "x")
    world.expire_lease(run, "A")
    world.complete(run, "A", world.acquire(run, "A", "y"), "right")
    assert code(world.fail(run, "A", late)) == "lease_lost"
    assert code(world.try_complete(run, "A", late, "stale")) == "lease_lost"
    assert (world.doc(run, "A").status, world.output(run, "A")) == ("succeeded", "right")


def test_d11_an_update_never_acquires_or_extends_a_lease(world: World) -> None:
    run = world.create(chain("A"))
    assert code(world.update(run, "A", "lease-random", output=1)) == "lease_lost"
    assert world.doc(run, "A").lease.token is None
    token = world.acquire(run, "A")
    before = world.doc(run, "A").lease
    world.update(run, "A", token, output=1)
    assert world.doc(run, "A").lease == before


def test_d12_a_second_run_of_the_same_agent_does_not_get_the_first_ones_token(world: World) -> None:
    run = world.create(chain("A"))
    token = world.acquire(run, "A", "w")
    second = world.try_acquire(run, "A", "w")
    assert code(second) == "lease_held"
    assert token not in repr(getattr(second, "message", "")) + repr(getattr(second, "hint", ""))
    assert isinstance(world.try_acquire(run, "A", "w", token), Leased)


@rows("ending", ["succeeded", "failed", "cancelled"])
def test_d13_a_terminal_state_is_not_leased_and_not_written(world: World, ending: str) -> None:
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A")
    match ending:
        case "succeeded":
            world.complete(run, "A", token, "right")
        case "failed":
            world.fail(run, "A", token)
        case _:
            world.finalize(run)
    before = world.doc(run, "A")
    assert before.status == ending
    assert code(world.try_acquire(run, "A")) == "terminal"
    assert code(world.update(run, "A", token, status=Status.RUNNING, output="other")) == "terminal"
    assert world.doc(run, "A") == before


def test_d14_readiness_owner_run_status_and_lease_are_one_step(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "w"})
    changes = iter(["cancelled"])

    def finalized_meanwhile() -> None:
        for _ in changes:
            world.finalize(run)

    plane = ControlPlane(RunStore(world.connections, before_commit=finalized_meanwhile), world.index)
    assert code(plane.acquire(run, Acquire(state="A", owner="w", token=new_token(), ttl_s=60))) == "terminal"
    assert world.doc(run, "A").lease.token is None


def test_d15_another_agent_of_the_pool_takes_over_from_a_dead_one(world: World) -> None:
    run = world.create(chain("A"), agents={"A": ("dead", "alive")})
    world.acquire(run, "A", "dead")
    world.expire_lease(run, "A")
    assert code(world.try_acquire(run, "A", "stranger")) == "owner_mismatch"
    world.acquire(run, "A", "alive")
    assert world.doc(run, "A").lease.owner_agent_id == "alive"


@rows("skew_s", [-86400, 86400])
def test_d16_the_callers_clock_decides_nothing(real: World, monkeypatch: pytest.MonkeyPatch, skew_s: int) -> None:
    run, now = real.create(chain("A")), time.time
    real.acquire(run, "A", ttl_s=20)
    with monkeypatch.context() as patched:
        patched.setattr(time, "time", lambda: now() + skew_s)
        assert code(real.try_acquire(run, "A", "other")) == "lease_held"


def test_d18_a_takeover_counts_an_attempt_begins_anew_and_is_in_the_history(world: World) -> None:
    run = world.create(chain("A"), max_attempts=3)
    world.acquire(run, "A", "one")
    first = world.doc(run, "A")
    world.expire_lease(run, "A")
    world.acquire(run, "A", "two")
    second = world.doc(run, "A")
    assert (first.attempts, second.attempts) == (1, 2)
    assert first.started_at is not None
    assert second.started_at is not None
    assert second.started_at > first.started_at
    grants = [event.data for event in world.events(run) if event.type == "LeaseAcquired"]
    assert [(grant["owner"], grant["attempt"], "takeover" in grant) for grant in grants] == [
        ("one", 1, False),
        ("two", 2, True),
    ]


@rows("ttl", [300.0, "300", None])
def test_d19_a_lease_with_a_malformed_expiry_is_not_held_for_ever(world: World, ttl: object) -> None:
    run = world.create(chain("A"))
    world.acquire(run, "A")
    key = world.store.keys(run).state("A")
    set_member(world.ask, key, ("lease", "ttl_s"), ttl)
    set_member(world.ask, key, ("lease", "ts"), "2001-01-01T00:00:00Z")
    set_member(world.ask, key, ("lease", "expires_at"), "soon")
    world.acquire(run, "A", "other")


def test_d19_an_expiry_far_beyond_the_leases_length_is_healed(world: World) -> None:
    run = world.create(chain("A"))
    world.acquire(run, "A", ttl_s=20)
    key = world.store.keys(run).state("A")
    set_member(world.ask, key, ("lease", "expires_at"), "2999-01-01T00:00:00.000000Z")
    assert code(world.try_acquire(run, "A", "other")) == "lease_held"
    healed = world.doc(run, "A").lease
    assert healed.expires_at is not None
    assert healed.ts is not None
    assert healed.expires_at - healed.ts < 60 * 1_000_000


def test_d20_a_holder_renews_after_expiry_only_while_nobody_took_over(world: World) -> None:
    run = world.create(chain("A"), agents={"A": ("x", "y")})
    token = world.acquire(run, "A", "x")
    world.expire_lease(run, "A")
    assert code(world.renew(run, "A", token)) == "lease_expired"
    assert isinstance(world.renew(run, "A", token, reject_if_expired=False), Leased)
    world.expire_lease(run, "A")
    world.acquire(run, "A", "y")
    assert code(world.renew(run, "A", token, reject_if_expired=False)) == "lease_lost"


def test_d21_a_worker_does_not_free_what_another_holds(world: World) -> None:
    run = world.create(chain("A"))
    token = world.acquire(run, "A", "x")
    assert code(world.release(run, "A", "lease-other")) == "lease_lost"
    assert code(world.release(run, "A", None)) == "token_required"
    assert code(world.release(run, "A", token, owner="y")) == "owner_mismatch"
    assert world.doc(run, "A").lease.token == token


def test_d21_releasing_by_force_is_another_call_and_marked_in_the_history(world: World) -> None:
    run = world.create(chain("A"))
    world.acquire(run, "A")
    assert isinstance(world.release(run, "A", None, force=True), Released)
    assert world.events(run)[-1].data["forced"] is True


def test_d22_a_lost_race_is_the_servers_to_repeat_not_the_callers(real: World) -> None:
    run = real.create(chain("A"))
    token = real.acquire(run, "A")
    with ThreadPoolExecutor(4) as threads:
        answers = list(threads.map(lambda n: real.update(run, "A", token, output=n), range(40)))
    assert all(isinstance(answer, Updated) for answer in answers)


# Section 3: documents


def test_d24_one_id_with_another_workflow_is_refused_with_both_hashes(world: World) -> None:
    first, second = world.wish(chain("A")), world.wish(chain("A", "B"))
    run = first.workflow_id
    world.plane.create(first)
    before = world.events(run), sorted(world.keys_of(run))
    answer = world.plane.create(world.wish(chain("A", "B"), run))
    assert code(answer) == "conflict"
    assert isinstance(answer, Refusal)
    assert first.definition.sha256 in answer.message
    assert second.definition.sha256 in answer.message
    assert (world.events(run), sorted(world.keys_of(run))) == before


def test_d24_the_same_id_with_another_input_is_refused(world: World) -> None:
    wish = world.wish(chain("A"), run_input={"n": 1})
    world.plane.create(wish)
    assert code(world.plane.create(world.wish(chain("A"), wish.workflow_id, run_input={"n": 2}))) == "conflict"


def test_d25_a_run_is_created_whole_or_not_at_all(world: World) -> None:
    class Died(Exception):
        pass

    def dies() -> None:
        raise Died

    wish = world.wish(chain("A", "B"))
    plane = ControlPlane(RunStore(world.connections, before_commit=dies), world.index)
    with pytest.raises(Died):
        plane.create(wish)
    assert world.keys_of(wish.workflow_id) == []
    world.plane.create(wish)
    assert set(world.statuses(wish.workflow_id)) == {"A", "B"}


def test_d26_a_state_cannot_be_named_into_the_documents_of_the_run(world: World) -> None:
    run = world.create(chain("A", "x:meta", "audit:finalize"))
    world.do(run, "A", output=1)
    world.do(run, "x:meta", output=2)
    world.do(run, "audit:finalize", output=3)
    assert world.meta(run)["workflow_id"] == run
    assert world.finalize(run).repeated is False


def test_d27_one_workflow_runs_many_times_under_different_ids(world: World) -> None:
    document = chain("A") | {"workflow_id": "wf-order-proc-001"}
    runs = [world.create(document, run_input=n) for n in range(3)]
    for run in runs:
        world.do(run, "A", output=run)
    assert [world.meta(run)["output"] for run in runs] == runs
    assert len({world.meta(run)["definition_sha256"] for run in runs}) == 1


def test_d28_nothing_of_a_live_run_expires(real: World) -> None:
    run = real.create(chain("A", "B"), retention_s=60)
    real.do(run, "A")
    real.notifications.pulse()
    assert {real.ask("TTL", key) for key in real.keys_of(run)} == {-1}


def test_d29_closing_a_run_does_not_write_back_an_old_copy_of_meta(world: World) -> None:
    run = world.create(chain("A"))
    assigned = iter([{"A": "new"}])

    def somebody_assigns_an_agent() -> None:
        for agents in assigned:
            set_member(world.ask, world.store.keys(run).meta, "agents", agents)

    slow = World(connections=world.connections)
    slow.plane = ControlPlane(RunStore(world.connections, before_commit=somebody_assigns_an_agent), world.index)
    slow.finalize(run)
    assert world.meta(run)["agents"] == {"A": "new"}
    assert world.meta(run)["status"] == "cancelled"


@rows("status", [Status.SKIPPED, Status.CANCELLED])
def test_d31_a_holder_can_only_ask_for_what_follows_from_where_the_state_is(world: World, status: Status) -> None:
    run = world.create(chain("A"))
    token = world.acquire(run, "A")
    assert code(world.update(run, "A", token, status=status)) == "invalid_transition"
    assert world.doc(run, "A").status == "running"


def test_d32_everything_that_happened_is_in_the_history_with_who_and_when(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"B": "b"})
    world.release(run, "A", world.acquire(run, "A", "x"))
    token = world.acquire(run, "A", "y")
    world.renew(run, "A", token)
    world.update(run, "A", token, output=1, error="E", cause="trying again")
    world.complete(run, "A", token, 2)
    world.notifications.pulse()
    world.fail(run, "B", world.acquire(run, "B", "b"))
    world.finalize(run)
    assert world.event_types(run) == [
        "RunCreated", "StateEntered", "LeaseAcquired", "LeaseReleased", "LeaseAcquired", "LeaseRenewed",
        "StateUpdated", "StateSucceeded", "StateEntered", "NotificationSent", "LeaseAcquired", "StateFailed",
        "RunFailed", "RunFinalized",
    ]  # fmt: skip
    details = repr([event.as_json() for event in world.events(run)])
    assert token not in details
    assert [event.at for event in world.events(run)] == sorted(event.at for event in world.events(run))


def test_d34_the_status_done_of_other_tools_is_read_as_succeeded(world: World) -> None:
    run = world.create(chain("A", "B"))
    set_member(world.ask, world.store.keys(run).state("A"), "status", "done")
    assert world.doc(run, "A").status is Status.SUCCEEDED
    assert world.finalize(run).audit["counts"]["succeeded"] == 1


# Section 4: liveness and delivery


@pytest.mark.parametrize("crash", ["after acquire", "after completing", "before kick-off was delivered"])
def test_d30_the_clock_wakes_somebody_after_a_crash(world: World, crash: str) -> None:
    run = world.create(chain("A", "B"), agents={"A": ("dead", "alive"), "B": "b"})
    match crash:
        case "after acquire":
            world.acquire(run, "A", "dead")
            world.expire_lease(run, "A")
            world.make_due(run, "A")
            expected = ("A", "lease_expired")
        case "after completing":
            world.do(run, "A", "dead")
            expected = ("B", "upstream_done")
        case _:
            world.plane.kick_off(run, "initial")
            expected = ("A", "initial")
    World(connections=world.connections, runs=[]).notifications.pulse()
    events = [event for agent in ("dead", "alive", "b") for event in world.messages(agent)]
    pool = {"A": 2, "B": 1}[expected[0]]
    assert [(event["target_state"], event["reason"]) for event in events] == [expected] * pool


def test_d35_a_running_state_whose_lease_expired_can_be_taken_and_is_told_so(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "w"})
    world.acquire(run, "A", "w")
    world.expire_lease(run, "A")
    assert world.notifications.notify_next(run, None)[0].sent
    world.acquire(run, "A", "w")


def test_d36_a_delivery_that_failed_is_said_to_have_failed_and_stays_owed(world: World) -> None:
    run = world.create(chain("A", "B"))
    world.do(run, "A")
    (target,) = world.notifications.notify_next(run, "A")
    assert (target.sent, target.skipped_not_ready, target.agent_id) == (False, False, None)
    assert world.owed(run) == 1


def test_d37_a_follower_is_told_once_and_not_at_all_when_it_is_done(world: World) -> None:
    run = world.create(chain("A", "B", "C"), agents={"B": "b"})
    world.do(run, "A")
    for _ in range(3):
        world.notifications.notify_next(run, "A")
    assert len(world.messages("b")) == 1
    world.do(run, "B", "b")
    (target,) = world.notifications.notify_next(run, "A")
    assert (target.sent, target.skipped_not_ready) == (False, True)
    assert len(world.messages("b")) == 1


@pytest.mark.parametrize("ending", ["succeeded", "failed"])
def test_d38_the_planner_is_woken_however_the_run_ends_and_the_rest_is_closed(world: World, ending: str) -> None:
    run = world.create(fan(2), planner="boss")
    way = {"way": "Way0" if ending == "succeeded" else "nowhere"}
    world.do(run, "Ask", output=way)
    if ending == "succeeded":
        world.do(run, "Way0")
        world.do(run, "Join")
    world.notifications.pulse()
    assert [event["status"] for event in world.messages("boss")] == [ending]
    assert all(doc.status.is_terminal for doc in world.docs(run).values())


def test_d39_readiness_does_not_depend_on_which_states_are_asked_for(world: World) -> None:
    run = world.create(chain("A", "B"))
    world.do(run, "A")
    assert world.plane.read(run, ("B",)).states["B"].is_ready
    assert world.plane.read(run).states["B"].is_ready


def test_d40b_only_the_start_state_is_told_at_kick_off(world: World) -> None:
    run = world.create(fan(3), agents=dict.fromkeys(("Ask", "Way0", "Way1", "Way2", "Join"), "w"))
    world.plane.kick_off(run, "initial")
    world.notifications.notify_next(run, None)
    assert [event["target_state"] for event in world.messages("w")] == ["Ask"]


# Section 6: the end


def test_d50_a_run_in_which_nothing_ran_was_cancelled_not_succeeded(world: World) -> None:
    run = world.create(chain("A", "B"))
    audit = world.finalize(run).audit
    assert audit["final_status"] == "cancelled"
    assert (audit["counts"]["succeeded"], audit["counts"]["cancelled"], audit["counts"]["skipped"]) == (0, 1, 1)


def test_d51_a_completion_between_reading_and_closing_is_not_overwritten(world: World) -> None:
    run = world.create(chain("A"))
    token = world.acquire(run, "A")
    work = iter([1])

    def completes_meanwhile() -> None:
        for output in work:
            world.complete(run, "A", token, output)

    slow = World(connections=world.connections)
    slow.plane = ControlPlane(RunStore(world.connections, before_commit=completes_meanwhile), world.index)
    assert slow.finalize(run).audit["final_status"] == "succeeded"
    assert (world.doc(run, "A").status, world.output(run, "A")) == ("succeeded", 1)


def test_d52_after_closing_no_write_of_a_worker_is_accepted(world: World) -> None:
    run = world.create(chain("A"))
    token = world.acquire(run, "A")
    world.finalize(run)
    assert code(world.try_complete(run, "A", token, 1)) == "terminal"
    assert (world.doc(run, "A").status, world.output(run, "A")) == ("cancelled", None)


def test_d55_when_closing_fails_it_says_so_and_writes_nothing(world: World) -> None:
    def fails() -> None:
        raise DcfError("The disk is full.")

    run = world.create(chain("A"))
    slow = World(connections=world.connections)
    slow.plane = ControlPlane(RunStore(world.connections, before_commit=fails), world.index)
    with pytest.raises(DcfError):
        slow.finalize(run)
    assert world.statuses(run) == {"A": "pending"}
    assert world.meta(run)["status"] == "running"
    assert world.finalize(run).repeated is False


def test_d56_closing_again_returns_the_first_result(world: World) -> None:
    run = world.create(chain("A"))
    first = world.finalize(run, note="first")
    stamp = world.meta(run)["finalized_at"]
    assert world.finalize(run, note="second").audit == first.audit
    assert world.meta(run)["finalized_at"] == stamp


def test_d57_every_state_is_counted_under_its_own_status(world: World) -> None:
    run = world.create(fan(2))
    world.do(run, "Ask", output={"way": "Way0"})
    world.do(run, "Way0")
    counts: dict[str, Any] = world.finalize(run).audit["counts"]
    assert counts == {
        "total": 6, "done": 3, "succeeded": 3, "cancelled": 1, "skipped": 2, "pending": 0, "running": 0, "failed": 0,
    }  # fmt: skip


def test_the_update_request_defaults_change_nothing_but_the_history(world: World) -> None:
    """D-31: an update without anything in it is no transition."""
    run = world.create(chain("A"))
    token = world.acquire(run, "A")
    before = world.doc(run, "A")
    answer = world.plane.update(run, Update(state="A", token=token))
    assert isinstance(answer, Updated)
    after = world.doc(run, "A")
    assert replace(after, receipt=before.receipt) == before
