"""The first term of a lease that was granted through a wait: short, until a call comes with its token."""

from collections.abc import Callable
from typing import Any

from dcf.core.completing.updates import Update
from dcf.core.documents.decision import Decision, Snapshot
from dcf.core.documents.model import Lease, StateDoc, Status
from dcf.core.leasing.claim import claim
from dcf.core.leasing.first_terms import FIRST_TERM_S, first_term_of
from dcf.core.leasing.lease import Acquire, Renew, acquire, renew
from dcf.features.task_log.rules import LogEvent, log_event
from dcf.values.instants import SECOND
from dcf.values.records import replace
from tests.core.build import NOW, TTL, code, held, leased, run, snapshot, stored
from tests.support.tables import rows

WISH = Acquire(state="A", owner="ann", token="t1", ttl_s=TTL, first_term_s=FIRST_TERM_S)
LATER = NOW + 5 * SECOND


def unsigned() -> StateDoc:
    """A state that was just leased through a wait."""
    return leased(acquire(snapshot(StateDoc()), WISH).answer).doc


def after(decide: Callable[[Snapshot, Any], Decision[Any]], wish: Any, now: int = LATER) -> Lease:
    """The lease after a request of its holder."""
    changes = decide(snapshot(unsigned(), now=now), wish).changes
    assert changes is not None
    return changes.states["A"].lease


def test_a_lease_of_a_wait_ends_soon_and_says_so() -> None:
    decision = acquire(snapshot(StateDoc()), WISH)
    assert decision.changes is not None
    lease = decision.changes.states["A"].lease
    assert (lease.ttl_s, lease.expires_at, lease.awaits_sign) == (TTL, NOW + FIRST_TERM_S * SECOND, True)
    assert decision.changes.timers == {"A": NOW + FIRST_TERM_S * SECOND}
    assert stored(unsigned()) == unsigned()
    assert "awaits_sign" not in str(stored(held()).extra)


def test_a_shorter_lease_has_no_longer_first_term() -> None:
    assert (first_term_of(5), first_term_of(300)) == (5, FIRST_TERM_S)


@rows(
    ("decide", "wish"),
    [
        (renew, Renew(state="A", token="t1")),
        (acquire, replace(WISH, first_term_s=None)),
        (log_event, LogEvent(state="A", token="t1", number=1, message="begun")),
    ],
)
def test_a_call_with_its_token_makes_the_lease_last(decide: Callable[..., Any], wish: Any) -> None:
    lease = after(decide, wish)
    assert (lease.expires_at, lease.awaits_sign) == (LATER + TTL * SECOND, False)


def test_a_partial_write_makes_the_lease_last() -> None:
    made = run()
    made.take(replace(WISH, owner="ann"))
    assert made.states["A"].lease.awaits_sign
    made.write(Update(state="A", token="t1", has_output=True, output=1, request_id="1"))
    assert not made.states["A"].lease.awaits_sign


def test_the_first_sign_may_come_late_as_long_as_nobody_took_over() -> None:
    late = NOW + 60 * SECOND
    assert after(renew, Renew(state="A", token="t1"), late).expires_at == late + TTL * SECOND
    other = replace(WISH, owner="bob", token="t2")
    assert leased(acquire(snapshot(unsigned(), now=late), other).answer).outcome == "lease_acquired"
    assert code(acquire(snapshot(unsigned(), now=LATER), other).answer) == "lease_held"


def test_repeated_wait_renews_the_first_term_and_is_no_sign() -> None:
    lease = after(acquire, WISH)
    assert (lease.expires_at, lease.awaits_sign) == (LATER + FIRST_TERM_S * SECOND, True)


def test_asking_again_after_a_sign_changes_nothing() -> None:
    again = acquire(snapshot(held(), now=LATER), WISH)
    assert (leased(again.answer).outcome, again.changes) == ("lease_already_held", None)


def test_a_claim_of_what_is_held_finds_what_awaits_a_sign_and_takes_nothing_new() -> None:
    wish = replace(WISH, state="", only_held=True)

    def claimed(**states: StateDoc) -> Decision[Any]:
        return claim(replace(snapshot(StateDoc(), now=LATER), states=states, inputs=dict.fromkeys(states)), wish)

    again = claimed(A=unsigned(), B=StateDoc())
    assert (leased(again.answer).state, leased(again.answer).outcome) == ("A", "lease_already_held")
    for states in ({"A": held(), "B": StateDoc()}, {"B": StateDoc()}):
        nothing = claimed(**states)
        assert (nothing.answer.examined, nothing.changes) == (0, None)


def test_an_ended_state_awaits_no_sign() -> None:
    made = run()
    made.take(WISH)
    made.complete("A", "t1", 1)
    assert (made.states["A"].status, made.states["A"].lease.awaits_sign) == (Status.SUCCEEDED, False)
