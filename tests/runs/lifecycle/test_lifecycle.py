"""Runs are cancelled, paused and resumed, while agents work on them."""

from collections.abc import Callable
from typing import Any

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased, Owed, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.leasing.lease import Acquire
from dcf.runs.control_plane import ControlPlane
from dcf.runs.lifecycle import Lifecycle
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support import ahead
from tests.support.redis.proxy import Fault, Proxy
from tests.support.tables import rows
from tests.support.trouble import Meanwhile, dies
from tests.support.workflows.growing import Server
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import parallel, task
from tests.support.world import World

TIMED = {"Type": "Task", "TimeoutSeconds": 60, "End": True}
RETRIED = {"Type": "Task", "End": True, "Retry": [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 30}]}
TWO = {"Fan": parallel({"A": task()}, {"B": task()}, End=True)}


def done(answer: object) -> dict[str, Any]:
    assert isinstance(answer, RunAnswer), answer
    return dict(answer.answer)


def code(answer: object) -> str | None:
    return answer.code if isinstance(answer, Refusal) else None


def types(world: World, run: str) -> list[str]:
    return [happening.type for happening in world.history_of(run)]


def told(world: World, agent: str, run: str) -> list[tuple[str | None, str]]:
    """The notifications of an agent about a run: the state and the reason."""
    world.notifications.pulse()
    return [(m["target_state"], m["reason"]) for m in world.messages(agent) if m["workflow_id"] == run]


def meanwhile(world: World, do: Callable[[], object]) -> ControlPlane:
    """A server that reads, and before whose first commit something else happens."""
    clock: dict[str, Any] = {} if world.clock is None else {"clock": world.clock}
    return ControlPlane(RunStore(world.connections, before_commit=Meanwhile(do), **clock), world.index)


# Cancelling


def test_a_cancelled_run_is_over_and_everybody_is_told(world: World) -> None:
    run = world.create(
        workflow({**TWO, "Fan": {**TWO["Fan"], "End": False, "Next": "Last"}, "Last": task()}),
        planner="boss",
        agents={"A": "a", "B": "b"},
    )
    world.plane.kick_off(run, "go")
    late = world.acquire(run, "Fan/0/A", "a")
    assert done(world.lifecycle.cancel(run, reason="wrong customer"))["run_status"] == "cancelled"
    assert world.run_status(run) is RunStatus.CANCELLED
    assert world.meta(run)["cause"] == "wrong customer"
    assert world.statuses(run) == {"Fan": "cancelled", "Last": "skipped"}
    assert {doc.status for doc in world.every_doc(run).values()} == {Status.CANCELLED, Status.SKIPPED}
    assert code(world.try_complete(run, "Fan/0/A", late, {})) == "terminal"
    assert ("Fan/0/A", "cancelled") in told(world, "a", run)
    assert (None, "run_finished") in told(world, "boss", run)


def test_a_run_that_was_not_started_is_cancelled(world: World) -> None:
    run = world.create(chain("A", "B"), planner="boss")
    done(world.lifecycle.cancel(run))
    assert world.statuses(run) == {"A": "cancelled", "B": "skipped"}
    assert code(world.plane.kick_off(run, "go")) == "terminal"


def test_the_reason_stands_in_the_history(world: World) -> None:
    run = world.create(chain("A"))
    done(world.lifecycle.cancel(run, reason="wrong customer"))
    (cancelled,) = [happening for happening in world.history_of(run) if happening.type == "RunCancelled"]
    assert cancelled.data["reason"] == "wrong customer"


def test_cancelling_again_changes_nothing_and_a_run_that_ended_otherwise_says_how(world: World) -> None:
    run = world.create(chain("A"))
    done(world.lifecycle.cancel(run))
    before = types(world, run)
    assert done(world.lifecycle.cancel(run))["run_status"] == "cancelled"
    assert types(world, run) == before
    over = world.create(chain("A"))
    world.do(over, "A")
    refused = world.lifecycle.cancel(over)
    assert code(refused) == "run_over"
    assert isinstance(refused, Refusal)
    assert "succeeded" in refused.message


def test_a_cancelled_run_is_finalized_as_cancelled(world: World) -> None:
    run = world.create(chain("A", "B"))
    done(world.lifecycle.cancel(run))
    assert world.finalize(run).audit["final_status"] == "cancelled"


def test_a_completion_after_the_cancellation_is_refused_however_early_it_began(world: World) -> None:
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A")
    slow = meanwhile(world, lambda: done(world.lifecycle.cancel(run)))
    answer = slow.update(run, Update(state="A", token=token, status=Status.SUCCEEDED, has_output=True, output=1))
    assert code(answer) == "terminal"
    assert world.statuses(run) == {"A": "cancelled", "B": "skipped"}


def test_a_cancellation_that_began_before_the_last_completion_finds_the_run_over(world: World) -> None:
    run = world.create(chain("A"))
    token = world.acquire(run, "A")
    slow = Lifecycle(meanwhile(world, lambda: world.complete(run, "A", token, 1)))
    assert code(slow.cancel(run)) == "run_over"
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_the_clock_closes_what_a_process_left_that_died_after_cancelling(timely: World) -> None:
    run = timely.create(workflow(TWO), agents={"A": "a"})
    acquire = timely.acquire(run, "Fan/0/A", "a")
    assert dies(timely, 1, lambda: timely.lifecycle.cancel(run))
    assert timely.run_status(run) is RunStatus.CANCELLED
    assert code(timely.try_complete(run, "Fan/0/A", acquire, {})) == "terminal"
    timely.notifications.pulse()
    timely.notifications.pulse()
    assert {doc.status for doc in timely.every_doc(run).values()} == {Status.CANCELLED}
    assert ("Fan/0/A", "cancelled") in told(timely, "a", run)


# Pausing


def test_nobody_gets_a_lease_while_the_run_is_paused(world: World) -> None:
    run = world.create(chain("A", "B"))
    assert done(world.lifecycle.pause(run))["paused_at"] is not None
    assert world.run_status(run) is RunStatus.RUNNING
    assert code(world.try_acquire(run, "A")) == "run_paused"
    assert code(world.claim(run, "w")) == "run_paused"
    assert code(world.plane.kick_off(run, "go")) == "run_paused"
    done(world.lifecycle.resume(run))
    assert isinstance(world.claim(run, "w"), Leased)


def test_holders_renew_finish_and_release_while_the_run_is_paused(world: World) -> None:
    run = world.create(workflow({"Fan": parallel({"A": task()}, {"B": task()}, following="Last"), "Last": task()}))
    first, second = world.acquire(run, "Fan/0/A"), world.acquire(run, "Fan/1/B")
    done(world.lifecycle.pause(run))
    assert isinstance(world.renew(run, "Fan/0/A", first), Leased)
    world.release(run, "Fan/1/B", second)
    finished = world.complete(run, "Fan/0/A", first, 1, claim_ttl_s=60, owner="w")
    assert (finished.status, finished.claims) == (Status.SUCCEEDED, ())
    assert world.doc(run, "Fan/1/B").status is Status.PENDING


def test_a_completion_enters_what_follows_but_leases_nothing_while_the_run_is_paused(world: World) -> None:
    run = world.create(chain("A", "B"))
    token = world.acquire(run, "A")
    done(world.lifecycle.pause(run))
    finished = world.complete(run, "A", token, 1, claim_ttl_s=60, owner="w")
    assert (finished.next_states, finished.claims) == (("B",), ())
    assert code(world.try_acquire(run, "B")) == "run_paused"
    done(world.lifecycle.resume(run))
    world.do(run, "B")
    assert world.run_status(run) is RunStatus.SUCCEEDED


@rows("wish", ["acquire", "claim", "claim_next"])
def test_no_lease_is_granted_after_the_pause_however_early_its_request_began(world: World, wish: str) -> None:
    run = world.create(workflow({"Fan": parallel({"A": task()}, {"B": task()}, following="Last"), "Last": task()}))
    acquire = world.acquire(run, "Fan/0/A")
    slow = meanwhile(world, lambda: done(world.lifecycle.pause(run)))
    if wish == "claim_next":
        answer = slow.update(
            run,
            Update(
                state="Fan/0/A",
                token=acquire,
                owner="w",
                status=Status.SUCCEEDED,
                has_output=True,
                output=1,
                claim_ttl_s=60,
            ),
        )
        assert isinstance(answer, Updated)
        assert answer.claims == ()
    else:
        request = Acquire(state="Fan/1/B" if wish == "acquire" else "", owner="w", token="late", ttl_s=60)
        refused = slow.acquire(run, request) if wish == "acquire" else slow.claim(run, request)
        assert code(refused) == "run_paused"
    assert world.doc(run, "Fan/1/B").lease.token is None


def test_a_completion_that_was_read_ahead_before_the_pause_leases_nothing(worlds: Callable[..., World]) -> None:
    far = worlds(near=False)
    run = far.create(chain("A", "B", "C"))
    brought = far.complete(run, "A", far.acquire(run, "A"), 1, claim_ttl_s=60).claimed
    assert brought is not None
    done(far.lifecycle.pause(run))
    finished = far.complete(run, "B", brought.doc.lease.token, 2, claim_ttl_s=60)
    assert (finished.next_states, finished.claims) == (("C",), ())


def test_a_claim_that_was_granted_before_the_pause_is_told_again(world: World) -> None:
    run = world.create(chain("A"))
    assert isinstance(world.claim(run, "w", token="t1"), Leased)
    done(world.lifecycle.pause(run))
    again = world.claim(run, "w", token="t1")
    assert isinstance(again, Leased)
    assert again.outcome == "lease_already_held"


def test_agents_are_not_notified_in_a_paused_run_and_all_are_when_it_resumes(timely: World) -> None:
    document = workflow({"Fan": parallel({"A": task()}, {"B": task("C"), "C": task()}, End=True)})
    run = timely.create(document, agents={"A": "a", "B": "b", "C": "c"})
    timely.plane.kick_off(run, "go")
    assert told(timely, "a", run) == [("Fan/0/A", "go")]
    token = timely.acquire(run, "Fan/1/B", "b")
    done(timely.lifecycle.pause(run))
    timely.complete(run, "Fan/1/B", token, 1)
    ahead.look(timely, run, times=6)
    assert (told(timely, "a", run), told(timely, "c", run)) == ([("Fan/0/A", "go")], [])
    assert done(timely.lifecycle.resume(run))["announced"] == 2
    assert told(timely, "a", run) == [("Fan/0/A", "resumed")]
    assert told(timely, "c", run) == [("Fan/1/C", "resumed")]


def test_an_event_that_waits_in_an_inbox_is_not_handed_out_while_the_run_is_paused(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"})
    world.plane.kick_off(run, "go")
    world.notifications.pulse()
    (event,) = world.messages("a")
    assert world.notifications.is_current(event)
    done(world.lifecycle.pause(run))
    assert not world.notifications.is_current(event)


def test_the_clock_announces_states_that_a_late_completion_enters_during_a_resume(timely: World) -> None:
    run = timely.create(chain("A", "B"), agents={"B": "b"})
    timely.plane.kick_off(run, "go")
    token = timely.acquire(run, "A")
    done(timely.lifecycle.pause(run))
    unseen = Lifecycle(meanwhile(timely, lambda: (timely.complete(run, "A", token, 1), timely.notifications.pulse())))
    done(unseen.resume(run))
    ahead.look(timely, run)
    assert told(timely, "b", run) == [("B", "reminder")]


def test_what_ends_while_the_run_is_resumed_gets_no_timer(timely: World) -> None:
    run = timely.create(workflow({"Fan": parallel({"A": task()}, {"B": task()}, End=True)}))
    timely.plane.kick_off(run, "go")
    token = timely.acquire(run, "Fan/0/A", ttl_s=1)
    ahead.let_pass(timely, 2)
    done(timely.lifecycle.pause(run))
    late = Lifecycle(meanwhile(timely, lambda: timely.complete(run, "Fan/0/A", token, 1)))
    done(late.resume(run))
    assert ahead.timers(timely, run).keys() == {"Fan", "Fan/1/B"}


def test_a_run_that_was_paused_before_its_start_is_announced_by_its_start(world: World) -> None:
    run = world.create(chain("A"), agents={"A": "a"}, planner="boss")
    done(world.lifecycle.pause(run))
    assert done(world.lifecycle.resume(run))["announced"] == 0
    assert isinstance(world.plane.kick_off(run, "go"), Owed)
    assert told(world, "a", run) == [("A", "go")]


def test_pausing_twice_and_resuming_twice_change_nothing_more(world: World) -> None:
    run = world.create(chain("A"))
    first = done(world.lifecycle.pause(run))
    assert done(world.lifecycle.pause(run))["paused_at"] == first["paused_at"]
    done(world.lifecycle.resume(run))
    done(world.lifecycle.resume(run))
    assert [item for item in types(world, run) if item in {"RunPaused", "RunResumed"}] == ["RunPaused", "RunResumed"]


def test_timeouts_retries_and_waits_go_on_while_the_run_is_paused(timely: World) -> None:
    states = {
        "Fan": parallel(
            {
                "T": {**TIMED, "Catch": [{"ErrorEquals": ["States.Timeout"], "Next": "Late"}]},
                "Late": {"Type": "Succeed"},
            },
            {"W": {"Type": "Wait", "Seconds": 20, "Next": "Waited"}, "Waited": {"Type": "Succeed"}},
            {"R": RETRIED},
            End=True,
        )
    }
    run = timely.create(workflow(states))
    timely.fail(run, "Fan/2/R", timely.acquire(run, "Fan/2/R"))
    done(timely.lifecycle.pause(run))
    ahead.let_pass(timely, 61)
    for state in ahead.due(timely, run):
        ahead.look_at(timely, run, state)
    docs = timely.every_doc(run)
    assert docs["Fan/0/T"].status is Status.FAILED
    assert docs["Fan/1/W"].status is Status.SUCCEEDED
    assert docs["Fan/2/R"].is_claimable(ahead.now(timely))
    assert code(timely.try_acquire(run, "Fan/2/R")) == "run_paused"
    done(timely.lifecycle.resume(run))
    timely.do(run, "Fan/2/R")
    assert timely.run_status(run) is RunStatus.SUCCEEDED


def test_a_paused_run_may_end_and_is_not_paused_then(world: World) -> None:
    run = world.create(chain("A"))
    token = world.acquire(run, "A")
    done(world.lifecycle.pause(run))
    world.complete(run, "A", token, 1)
    assert (world.run_status(run), world.meta(run)["paused_at"]) == (RunStatus.SUCCEEDED, None)
    assert code(world.lifecycle.pause(run)) == "run_over"
    assert code(world.lifecycle.resume(run)) == "run_over"


def test_a_paused_run_is_finalized_and_is_not_paused_then(world: World) -> None:
    run = world.create(chain("A"))
    done(world.lifecycle.pause(run))
    world.finalize(run)
    assert (world.run_status(run), world.meta(run)["paused_at"]) == (RunStatus.CANCELLED, None)


def test_a_paused_run_is_cancelled(world: World) -> None:
    run = world.create(chain("A"))
    done(world.lifecycle.pause(run))
    done(world.lifecycle.cancel(run))
    assert (world.run_status(run), world.meta(run)["paused_at"]) == (RunStatus.CANCELLED, None)


# Repetitions


def test_a_repeated_request_gets_the_first_answer_though_the_run_has_moved_on(world: World) -> None:
    run = world.create(chain("A"))
    first = world.lifecycle.pause(run, request_id="r1", reason="lunch")
    done(world.lifecycle.resume(run, request_id="r2"))
    again = world.lifecycle.pause(run, request_id="r1")
    assert done(again) == done(first)
    assert isinstance(again, RunAnswer)
    assert again.repeated
    assert isinstance(world.claim(run, "w"), Leased)


def test_an_id_that_was_used_for_another_request_is_refused(world: World) -> None:
    run = world.create(chain("A"))
    done(world.lifecycle.pause(run, request_id="r1"))
    assert code(world.lifecycle.cancel(run, request_id="r1")) == "conflict"
    assert world.run_status(run) is RunStatus.RUNNING


@rows("verb", ["cancel", "pause", "resume"])
def test_a_request_whose_reply_was_lost_is_applied_once(
    worlds: Callable[..., World], proxy: Proxy, real: World, verb: str
) -> None:
    run = real.create(chain("A"))
    if verb == "resume":
        done(real.lifecycle.pause(run))
    through = worlds(proxy.url)
    proxy.plan(Fault.LOSE_REPLY)
    answer = getattr(through.lifecycle, verb)(run)
    assert proxy.is_spent
    assert isinstance(answer, RunAnswer)
    assert answer.repeated
    assert len([item for item in types(real, run) if item in {"RunCancelled", "RunPaused", "RunResumed"}]) == 1 + (
        verb == "resume"
    )


def test_a_paused_run_says_why_until_it_is_resumed(world: World) -> None:
    run = world.create(chain("A"))
    done(world.lifecycle.pause(run, reason="pending"))
    assert world.meta(run)["paused_because"] == "pending"
    done(world.lifecycle.resume(run))
    assert world.meta(run).get("paused_because") is None
    done(world.lifecycle.pause(run))
    assert world.meta(run).get("paused_because") is None


@rows("end", ["cancel", "finalize", "complete", "close"])
def test_a_run_that_ended_is_not_paused_any_more(world: World, end: str) -> None:
    server = Server(world)
    run = server.open({"name": "A"}) if end == "close" else world.create(chain("A"))
    token = world.acquire(run, "A")
    done(world.lifecycle.pause(run, reason="pending"))
    match end:
        case "close":
            done(server.close(run, status=RunStatus.PARTIAL, force=True))
        case "cancel":
            done(world.lifecycle.cancel(run))
        case "finalize":
            world.finalize(run)
        case _:
            world.complete(run, "A", token)
    assert world.run_status(run) is not RunStatus.RUNNING
    assert not {"paused_at", "paused_because"} & {name for name, value in world.meta(run).items() if value is not None}
