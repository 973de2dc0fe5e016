"""Decisions of cancelling, pausing and resuming a run, and of the timer loop in a paused run."""

from dataclasses import replace
from typing import Any

from dcf.core.documents.decision import Decision
from dcf.core.documents.model import Lease, RunStatus, StateDoc, Status
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest
from dcf.core.leasing import attention, healing
from dcf.core.leasing.attention import PAUSED_DELAY, REMINDER_DELAY
from dcf.core.leasing.lease import Acquire, acquire
from dcf.core.lifecycle import halting as lifecycle
from dcf.values.instants import SECOND, to_text
from dcf.values.refusal import Refusal
from tests.core import build
from tests.core.build import NOW, TTL, code, held, meta, snapshot
from tests.support.tables import rows

ASKED = RunRequest(verb="any", request_id="r1", reason="why")
PAUSED = meta(is_paused=True, is_started=True)
READY = StateDoc(lease=Lease(epoch=7))


def answer(decision: RunDecision) -> dict[str, Any]:
    assert isinstance(decision.answer, RunAnswer), decision.answer
    return dict(decision.answer.answer)


# Cancelling


def test_cancelling_writes_the_runs_end_alone_and_leaves_the_rest_to_the_follow_up() -> None:
    decision = lifecycle.cancel(snapshot(held()), ASKED)
    changes = decision.changes
    assert changes is not None
    assert changes.meta == {"status": "cancelled", "finished_at": to_text(NOW), "cause": "why"}
    assert (changes.states, changes.timers) == ({}, {})
    assert [(notice.type, notice.state, notice.reason) for notice in changes.notices] == [
        ("run_finished", None, "cancelled")
    ]
    assert [(event.type, event.data) for event in changes.events] == [("RunCancelled", {"reason": "why"})]
    assert decision.remaining.run_over


@rows("status", [RunStatus.SUCCEEDED, RunStatus.FAILED, RunStatus.PARTIAL])
def test_a_run_that_is_over_is_neither_cancelled_nor_paused_nor_resumed(status: RunStatus) -> None:
    result = snapshot(held(), about=meta(status))
    for verb in (lifecycle.cancel, lifecycle.pause, lifecycle.resume):
        decision = verb(result, ASKED)
        assert code(decision.answer) == "run_over"
        assert isinstance(decision.answer, Refusal)
        assert status.value in decision.answer.message
        assert decision.changes is None


def test_a_cancelled_run_is_cancelled_already() -> None:
    decision = lifecycle.cancel(snapshot(held(), about=meta(RunStatus.CANCELLED)), ASKED)
    assert answer(decision)["run_status"] == "cancelled"
    assert decision.changes is not None
    assert (decision.changes.meta, decision.changes.events, decision.changes.notices) == ({}, [], [])


# Resuming


def test_resuming_announces_each_time_anew_what_can_be_taken() -> None:
    result = snapshot(replace(READY, reminders=3), about=PAUSED)
    first = lifecycle.resume(result, ASKED).changes
    second = lifecycle.resume(replace(result, now=NOW + 1), ASKED).changes
    assert first is not None
    assert second is not None
    types = [notice.type for changes in (first, second) for notice in changes.notices]
    assert len(set(types)) == 2
    assert all(item.endswith("-3") for item in types), "a reminder does not outdate it"
    assert first.sooner == {"A": NOW + (REMINDER_DELAY << 3)}


@rows(
    "doc",
    [
        held(),
        replace(READY, not_before=NOW + SECOND),
        replace(READY, waits_for={"Before": 0}),
        replace(READY, kind="Wait", status=Status.RUNNING),
        replace(READY, status=Status.SUCCEEDED),
    ],
    ids=["held", "not due", "not reached", "a Wait", "over"],
)
def test_resuming_does_not_announce_what_nobody_can_take(doc: StateDoc) -> None:
    decision = lifecycle.resume(snapshot(doc, about=PAUSED), ASKED)
    assert answer(decision)["announced"] == 0
    assert decision.changes is not None
    assert (decision.changes.notices, decision.changes.sooner) == ([], {})


def test_what_starting_the_run_will_announce_is_not_announced_by_resuming_it() -> None:
    first = replace(READY, lease=Lease(epoch=NOW))
    unstarted = replace(PAUSED, is_started=False, created_at=to_text(NOW))
    assert answer(lifecycle.resume(snapshot(first, about=unstarted), ASKED))["announced"] == 0
    assert answer(lifecycle.resume(snapshot(READY, about=unstarted), ASKED))["announced"] == 1


# The clock and the lease in a paused run


def look(doc: StateDoc) -> Decision[Any]:
    return attention.look(snapshot(doc, about=PAUSED), "A")


def test_the_clock_reminds_nobody_in_a_paused_run_and_looks_again_later() -> None:
    result = look(READY)
    assert result.answer.fired == "paused"
    assert result.changes is not None
    assert (result.changes.notices, result.changes.states) == ([], {})
    assert result.changes.timers == {"A": NOW + PAUSED_DELAY}


def test_the_clock_looks_when_a_timeout_ends_in_a_paused_run() -> None:
    result = look(replace(READY, deadline=NOW + 9 * SECOND, timeout_s=60))
    assert result.changes is not None
    assert result.changes.timers == {"A": NOW + 9 * SECOND}


@rows(
    ("doc", "fired"),
    [
        (replace(READY, deadline=NOW, timeout_s=60), "timed_out"),
        (replace(READY, attempts=99), "exhausted"),
        (replace(READY, kind="Wait", status=Status.RUNNING, not_before=NOW), "waited"),
        (held(), "held"),
    ],
)
def test_all_else_goes_on_in_a_paused_run(doc: StateDoc, fired: str) -> None:
    assert look(doc).answer.fired == fired


def test_nothing_is_hastened_and_no_timer_is_mended_to_a_reminder_in_a_paused_run() -> None:
    result = snapshot(READY, about=PAUSED)
    assert attention.hasten(result, "A").changes is None
    ahead = replace(result, timers={"A": NOW + 2 * PAUSED_DELAY})
    mended = healing.heal(ahead, "A").changes
    assert mended is not None
    assert mended.timers == {"A": NOW + PAUSED_DELAY}


def test_who_asks_for_a_lease_in_a_paused_run_hears_what_lasts_before_what_passes() -> None:
    wish = Acquire(state="A", owner="bob", token="t2", ttl_s=TTL)
    over = replace(READY, status=Status.SUCCEEDED)
    assert code(acquire(snapshot(over, about=PAUSED), wish).answer) == "terminal"
    assert code(acquire(snapshot(held(), about=PAUSED), wish).answer) == "run_paused"
    assert code(acquire(snapshot(READY, about=PAUSED), wish).answer) == "run_paused"


def test_a_kick_off_of_a_paused_run_is_refused() -> None:
    made = build.run()
    made.commit(lifecycle.pause(made.snapshot(), ASKED))
    assert code(made.kick_off()) == "run_paused"
