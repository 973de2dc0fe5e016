"""Leases: which agent gets a lease, which call is refused and why, and how leases are kept and released."""

from dataclasses import replace
from typing import Any

from dcf.core.documents.answers import Leased, Released
from dcf.core.documents.decision import More
from dcf.core.documents.model import Lease, Meta, Operation, Receipt, RunStatus, StateDoc, Status
from dcf.core.leasing.lease import Acquire, Release, Renew, acquire, release, renew
from dcf.core.leasing.lost_leases import LostLease
from dcf.values.digest import fingerprint
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.core.build import LOOP, NOW, TTL, code, held, leased, meta, run, snapshot
from tests.support.tables import rows


def given_back(token: str) -> Receipt:
    return Receipt(request=fingerprint(token), operation=Operation.RELEASE, at=NOW, status=Status.PENDING)


EXPIRY = NOW + TTL * SECOND


def ask(doc: StateDoc, *, now: int = NOW, about: Meta | None = None, **more: Any) -> Leased | Refusal:
    usual: dict[str, Any] = {"state": "A", "owner": "bob", "token": "t2", "ttl_s": TTL}
    answer = acquire(snapshot(doc, now=now, about=about), Acquire(**usual | more)).answer
    assert not isinstance(answer, LostLease), "no lease is excusable"
    return answer


def keep(doc: StateDoc, *, now: int = NOW, about: Meta | None = None, **more: Any) -> Leased | Refusal:
    request = Renew(**{"state": "A", "token": "t1"} | more)
    return renew(snapshot(doc, now=now, about=about), request).answer


def free(doc: StateDoc, *, now: int = NOW, about: Meta | None = None, **more: Any) -> Released | Refusal:
    request = Release(**{"state": "A", "token": "t1"} | more)
    answer = release(snapshot(doc, now=now, about=about), request).answer
    assert not isinstance(answer, More), "everything is read"
    return answer


# Granted


def test_a_ready_state_is_leased_to_who_asks_first() -> None:
    decision = acquire(snapshot(StateDoc()), Acquire(state="A", owner="ann", token="t1", ttl_s=TTL))
    granted = leased(decision.answer)
    assert granted.outcome == "lease_acquired"
    assert granted.doc == held()
    assert granted.given == {"x": 1}
    assert decision.changes is not None
    assert decision.changes.states == {"A": granted.doc}
    assert decision.changes.timers == {"A": EXPIRY}
    (event,) = decision.changes.events
    assert (event.type, event.state) == ("LeaseAcquired", "A")
    assert event.data == {"epoch": NOW, "owner": "ann", "attempt": 1, "ttl_s": TTL}


def test_the_epoch_of_a_grant_is_the_servers_time() -> None:
    assert leased(ask(StateDoc(lease=Lease(epoch=5)))).doc.lease.epoch == NOW


def test_the_epoch_grows_even_when_the_clock_stepped_back() -> None:
    assert leased(ask(StateDoc(lease=Lease(epoch=NOW + 7)))).doc.lease.epoch == NOW + 8


def test_a_lease_ends_in_the_very_microsecond_of_its_expiry() -> None:
    assert code(ask(held(), now=EXPIRY - 1)) == "lease_held"
    assert leased(ask(held(), now=EXPIRY)).outcome == "lease_acquired"


def test_a_takeover_counts_an_attempt_and_starts_the_state_anew() -> None:
    decision = acquire(snapshot(held(), now=EXPIRY), Acquire(state="A", owner="bob", token="t2", ttl_s=TTL))
    doc = leased(decision.answer).doc
    assert (doc.attempts, doc.started_at, doc.lease.owner_agent_id, doc.lease.epoch) == (2, EXPIRY, "bob", EXPIRY)
    assert decision.changes is not None
    assert decision.changes.events[0].data["takeover"] is True


def test_a_grant_clears_what_it_waited_for_in_time() -> None:
    assert leased(ask(StateDoc(not_before=NOW))).doc.not_before is None


def test_a_lease_without_a_readable_expiry_counts_as_expired() -> None:
    broken = replace(held(), lease=Lease(token="t1", owner_agent_id="ann", ts=NOW))
    assert leased(ask(broken)).doc.lease.token == "t2"


def test_a_pool_shares_a_state_and_a_state_without_agents_is_anybodys() -> None:
    pool = meta(agents={"A": ("bob", "cy")})
    assert leased(ask(StateDoc(), about=pool)).doc.lease.owner_agent_id == "bob"
    assert leased(ask(StateDoc(), about=pool, owner="cy")).doc.lease.owner_agent_id == "cy"
    assert code(ask(StateDoc(), about=pool, owner="dan")) == "owner_mismatch"
    assert leased(ask(StateDoc(), about=meta(agents={"A": ()}), owner="dan")).outcome == "lease_acquired"


def test_an_operator_may_lease_for_any_owner() -> None:
    assert leased(ask(StateDoc(), about=meta(agents={"A": ("ann",)}), any_owner=True)).outcome == "lease_acquired"


def test_another_agent_of_the_pool_takes_over_from_a_dead_one() -> None:
    assert leased(ask(held(), now=EXPIRY, about=meta(agents={"A": ("ann", "bob")}))).doc.lease.token == "t2"


def test_a_lease_may_be_taken_without_setting_the_state_running() -> None:
    doc = leased(ask(StateDoc(), set_running=False)).doc
    assert (doc.status, doc.lease.token) == (Status.PENDING, "t2")
    assert leased(ask(doc)).outcome == "lease_already_held"
    assert code(ask(doc, token="t3")) == "lease_held"


# Asked for again


def test_the_same_token_again_finds_the_lease_and_writes_nothing() -> None:
    request = Acquire(state="A", owner="ann", token="t1", ttl_s=TTL)
    decision = acquire(snapshot(held()), request)
    assert leased(decision.answer).outcome == "lease_already_held"
    assert leased(decision.answer).given == {"x": 1}
    assert decision.changes is None


def test_the_same_owner_without_the_token_is_told_that_the_lease_is_held() -> None:
    assert code(ask(held(), owner="ann")) == "lease_held"


def test_a_token_that_ended_its_lease_cannot_hold_the_state_again() -> None:
    given_back = run({"A": {"Type": "Task", "End": True}})
    given_back.acquire("A", "t1")
    given_back.release(Release(state="A", token="t1"))
    assert code(given_back.acquire("A", "t1")) == "token_used"
    assert leased(given_back.acquire("A", "t2")).outcome == "lease_acquired"

    looped = run(LOOP)
    looped.acquire("A", "t1")
    looped.complete("A", "t1", {"go": "A"})
    assert code(looped.acquire("A", "t1")) == "token_used"


# Refused


REASONS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("terminal", {}, {"status": RunStatus.FAILED}),
    ("terminal", {"status": Status.SUCCEEDED}, {}),
    ("token_used", {"receipt": given_back("t2")}, {}),
    ("not_ready", {"waits_for": {"Z": 5, "Y": 0}}, {}),
    ("not_ready", {"not_before": NOW + 1}, {}),
    ("owner_mismatch", {}, {"agents": {"A": ("ann",)}}),
    ("lease_held", {"lease": held().lease}, {}),
    ("attempts_exhausted", {"attempts": 3}, {"max_attempts": 3}),
]


@rows("first", range(len(REASONS)))
def test_of_all_reasons_against_a_grant_the_first_is_told(first: int) -> None:
    doc: dict[str, Any] = {}
    about: dict[str, Any] = {}
    for _, of_state, of_run in reversed(REASONS[first:]):
        doc |= of_state
        about |= of_run
    decision = acquire(
        snapshot(StateDoc(**doc), about=meta(**about)), Acquire(state="A", owner="bob", token="t2", ttl_s=TTL)
    )
    assert code(decision.answer) == REASONS[first][0]
    assert decision.changes is None


@rows("status", [status for status in Status if status.is_terminal])
def test_a_terminal_state_is_never_leased(status: Status) -> None:
    assert code(ask(StateDoc(status=status))) == "terminal"


def test_a_refusal_names_what_the_state_waits_for() -> None:
    refusal = ask(StateDoc(waits_for={"Z": 5, "Y": 0, "X": 0}))
    assert isinstance(refusal, Refusal)
    assert "waits for X, Y." in refusal.message


def test_a_refusal_says_how_long_to_wait_where_waiting_helps() -> None:
    answers = [ask(held(), now=NOW + 20 * SECOND), ask(StateDoc(not_before=NOW + 1_500_000))]
    assert [answer.retry_after_s for answer in answers if isinstance(answer, Refusal)] == [40.0, 1.5]


def test_an_expired_lease_is_spared_by_who_does_not_want_to_take_over() -> None:
    spared = ask(held(), now=EXPIRY + SECOND, may_take_over=False)
    assert isinstance(spared, Refusal)
    assert (spared.code, spared.retry_after_s) == ("lease_held", 0)
    assert "and this lease has expired" in spared.message
    assert "allow_steal_if_expired=true" in spared.hint
    assert leased(ask(StateDoc(), may_take_over=False)).outcome == "lease_acquired"


def test_attempts_are_used_up_by_grants() -> None:
    about = meta(max_attempts=3)
    doc = leased(ask(StateDoc(attempts=2), about=about)).doc
    assert doc.attempts == 3
    assert code(ask(doc, about=about, token="t3")) == "lease_held"
    assert code(ask(doc, about=about, token="t3", now=EXPIRY)) == "attempts_exhausted"
    assert leased(ask(StateDoc(), attempts=5)).doc.attempts == 5


# After the clock stepped back


def test_a_lease_made_immortal_by_the_clock_is_cut_to_its_length() -> None:
    back = NOW - 3600 * SECOND
    decision = acquire(snapshot(held(), now=back), Acquire(state="A", owner="bob", token="t2", ttl_s=TTL))
    assert code(decision.answer) == "lease_held"
    assert isinstance(decision.answer, Refusal)
    assert decision.answer.retry_after_s == TTL
    assert decision.changes is not None
    healed = decision.changes.states["A"]
    assert healed == replace(held(), lease=replace(held().lease, ts=back, expires_at=back + TTL * SECOND))
    assert decision.changes.timers == {"A": back + TTL * SECOND}
    assert [event.type for event in decision.changes.events] == ["TimesHealed"]
    assert "t1" not in str(decision.changes.events)
    again = acquire(snapshot(healed, now=back), Acquire(state="A", owner="bob", token="t2", ttl_s=TTL))
    assert again.changes is None


def test_a_small_step_back_is_let_pass() -> None:
    request = Acquire(state="A", owner="bob", token="t2", ttl_s=TTL)
    assert acquire(snapshot(held(), now=NOW - SECOND), request).changes is None
    assert acquire(snapshot(held(), now=NOW - SECOND - 1), request).changes is not None


def test_nothing_is_healed_in_a_run_that_is_over() -> None:
    over = snapshot(held(), now=NOW - 3600 * SECOND, about=meta(RunStatus.PARTIAL))
    assert acquire(over, Acquire(state="A", owner="bob", token="t2", ttl_s=TTL)).changes is None


# Renew


def test_renewing_moves_the_expiry_and_nothing_else() -> None:
    later = NOW + 20 * SECOND
    decision = renew(snapshot(held(), now=later), Renew(state="A", token="t1"))
    renewed = leased(decision.answer)
    assert renewed.outcome == "lease_renewed"
    assert renewed.doc == replace(held(), lease=replace(held().lease, ts=later, expires_at=later + TTL * SECOND))
    assert decision.changes is not None
    assert decision.changes.timers == {"A": later + TTL * SECOND}


def test_many_renewals_add_few_events_to_the_history() -> None:
    """The first, and then one each time the lease has lasted twice as long: 1, 2, 4, 8 minutes, and so on."""
    doc, details, request = held(), [], Renew(state="A", token="t1", reject_if_expired=False)
    for second in range(10, 24 * 3600, 10):
        decision = renew(snapshot(doc, now=NOW + second * SECOND), request)
        assert decision.changes is not None
        details += [second for _ in decision.changes.events]
        doc = leased(decision.answer).doc
    assert details == [10, *(60 * 2**number for number in range(11))]


def test_renewing_may_change_the_length() -> None:
    lease = leased(keep(held(), ttl_s=7)).doc.lease
    assert (lease.ttl_s, lease.expires_at) == (7, NOW + 7 * SECOND)


def test_an_expired_lease_is_renewed_only_leniently() -> None:
    assert code(keep(held(), now=EXPIRY)) == "lease_expired"
    assert leased(keep(held(), now=EXPIRY, reject_if_expired=False)).doc.lease.expires_at == EXPIRY + TTL * SECOND


def test_a_renewed_lease_of_unknown_length_is_not_born_expired() -> None:
    broken = replace(held(), lease=replace(held().lease, ttl_s=None))
    assert leased(keep(broken)).doc.lease.is_live(NOW)


def test_only_the_holder_renews() -> None:
    assert code(keep(held("t2", "bob"))) == "lease_lost"
    assert code(keep(StateDoc())) == "lease_lost"
    assert code(keep(held(), token="tö")) == "lease_lost"
    assert code(keep(held(), owner="bob")) == "owner_mismatch"
    assert leased(keep(held(), owner="ann")).outcome == "lease_renewed"
    assert code(keep(StateDoc(status=Status.CANCELLED))) == "terminal"
    assert code(keep(held(), about=meta(RunStatus.CANCELLED))) == "terminal"


def test_a_token_may_be_any_text() -> None:
    assert leased(keep(held("tö"), token="tö")).outcome == "lease_renewed"


# Release


def test_releasing_gives_the_state_back_with_its_epoch() -> None:
    decision = release(snapshot(held(), now=NOW + SECOND), Release(state="A", token="t1"))
    assert isinstance(decision.answer, Released)
    doc = decision.answer.doc
    assert decision.answer.outcome == "lease_released"
    assert (doc.status, doc.attempts) == (Status.PENDING, 1)
    assert doc.lease == Lease(epoch=NOW, ts=NOW + SECOND, ttl_s=TTL)
    assert doc.is_claimable(NOW + SECOND)
    assert decision.changes is not None
    assert decision.changes.timers["A"] is not None
    assert decision.changes.timers["A"] > NOW + SECOND
    assert decision.changes.events[0].data == {"epoch": NOW, "forced": False}


def test_the_owner_may_be_kept_on_release() -> None:
    answer = free(held(), clear_owner=False)
    assert isinstance(answer, Released)
    assert (answer.doc.lease.owner_agent_id, answer.doc.lease.token) == ("ann", None)


def test_a_repeated_release_is_told_that_the_lease_is_clear() -> None:
    first = free(held())
    assert isinstance(first, Released)
    again = free(first.doc)
    assert isinstance(again, Released)
    assert again.outcome == "lease_already_clear"
    taken = leased(ask(first.doc)).doc
    late = release(snapshot(taken), Release(state="A", token="t1"))
    assert isinstance(late.answer, Released)
    assert (late.answer.outcome, late.changes) == ("lease_already_clear", None)


def test_releasing_after_completing_confirms_that_the_lease_is_clear() -> None:
    loop = run(LOOP)
    loop.acquire("A", "t1")
    loop.complete("A", "t1", {"go": "B"})
    for _ in range(2):
        answer = loop.release(Release(state="A", token="t1"))
        assert isinstance(answer, Released)
        assert (answer.outcome, loop.last_changes) == ("lease_already_clear", None)
        loop.acquire("B", "t2")
        loop.complete("B", "t2", {"go": "A"})


def test_only_the_holder_releases() -> None:
    assert code(free(held("t2", "bob"))) == "lease_lost"
    assert code(free(held(), token=None)) == "token_required"
    assert code(free(held(), owner="bob")) == "owner_mismatch"
    assert code(free(StateDoc())) == "lease_lost"
    assert code(free(held(), about=meta(RunStatus.PARTIAL))) == "terminal"
    assert isinstance(free(StateDoc(status=Status.SUCCEEDED)), Released)


def test_an_operator_releases_by_force() -> None:
    answer = free(held(), token=None, force=True)
    assert isinstance(answer, Released)
    assert (answer.outcome, answer.doc.status, answer.doc.lease.token) == ("lease_released", Status.PENDING, None)
    again = free(answer.doc, token=None, force=True)
    assert isinstance(again, Released)
    assert again.outcome == "lease_already_clear"


def test_force_releases_even_with_a_token_that_was_used_before() -> None:
    taken = held("t2", receipt=given_back("t1"))
    answer = free(taken, force=True)
    assert isinstance(answer, Released)
    assert answer.outcome == "lease_released"


def test_who_is_released_by_force_with_the_token_of_another_has_lost_the_lease() -> None:
    decision = release(snapshot(held("t1")), Release(state="A", token="t9", force=True))
    assert decision.changes is not None
    receipt = decision.changes.receipts["A", fingerprint("t1")]
    assert receipt.operation is Operation.LOST, "a late request with this token would acquire again"


def test_a_terminal_state_stays_terminal_when_a_left_over_lease_is_released() -> None:
    decision = release(snapshot(held(status=Status.FAILED)), Release(state="A", token=None, force=True))
    assert isinstance(decision.answer, Released)
    assert decision.answer.doc.status is Status.FAILED
    assert decision.changes is not None
    assert decision.changes.timers == {}
