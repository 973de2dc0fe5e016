"""Times that a step back of the server's clock left in the future; all others stay as they are."""

from dataclasses import replace

from dcf.core.documents.kinds import GATE
from dcf.core.documents.model import Lease, StateDoc, Status
from dcf.core.leasing.healing import heal, healed
from dcf.features.gates.model import OpenGate, Submission, open_gates
from dcf.values.instants import SECOND
from tests.core.build import NOW, TTL, held, snapshot
from tests.support.tables import rows

HOUR = 3600 * SECOND


def test_a_retry_that_is_due_later_keeps_its_time_and_the_timeout_that_begins_then() -> None:
    due = NOW + 30 * SECOND
    waiting = StateDoc(not_before=due, delay_s=30, timeout_s=60, deadline=due + 60 * SECOND)
    assert healed(waiting, NOW) == waiting
    late = healed(waiting, NOW - HOUR)
    assert (late.not_before, late.deadline) == (NOW - HOUR + 30 * SECOND, NOW - HOUR + 90 * SECOND)


def test_a_state_that_was_due_when_its_question_was_answered_is_due_still() -> None:
    answered = StateDoc(not_before=NOW)
    assert healed(answered, NOW) == answered
    assert healed(answered, NOW - HOUR).is_claimable(NOW - HOUR)


@rows(("early", "due"), [(0, NOW + 60 * SECOND + SECOND // 2), (HOUR, NOW - HOUR + 60 * SECOND)])
def test_a_gate_that_the_clock_looks_at_too_late_waits_as_long_as_it_says(early: int, due: int) -> None:
    """A moment more than it waits is left alone: clocks differ a little."""
    gate = OpenGate(name="review", kind="review", since=NOW, due=NOW + 60 * SECOND + SECOND // 2, waits_s=60)
    doc = StateDoc(attached=(Submission(number=1, sha256="0" * 64, open=(gate,)),))
    (mended,) = open_gates(replace(healed(doc, NOW - early), status=Status.RUNNING, kind=GATE))
    assert mended.due == due


def test_a_lease_begins_anew_with_its_length() -> None:
    mended = healed(held(), NOW - HOUR)
    assert (mended.lease.ts, mended.lease.expires_at) == (NOW - HOUR, NOW - HOUR + TTL * SECOND)
    assert replace(mended, lease=held().lease) == held()


def test_a_wait_for_a_person_begins_anew() -> None:
    approval = StateDoc(status=Status.RUNNING, kind="Human", lease=Lease(ts=NOW))
    assert healed(approval, NOW) == approval
    assert healed(approval, NOW - HOUR).lease.ts == NOW - HOUR


def test_a_timer_that_comes_soon_enough_is_left_alone() -> None:
    soon = NOW - HOUR + 5 * SECOND
    result = replace(snapshot(held(), now=NOW - HOUR), timers={"A": soon})
    decision = heal(result, "A")
    assert decision.answer is True
    assert decision.changes is not None
    assert decision.changes.timers == {"A": soon}


def test_nothing_is_written_where_no_time_lies_too_far_ahead() -> None:
    result = replace(snapshot(held()), timers={"A": NOW + TTL * SECOND})
    assert (heal(result, "A").answer, heal(result, "A").changes) == (False, None)
