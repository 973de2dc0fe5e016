"""Finding work: the first open state that the agent may take."""

from dataclasses import replace

from dcf.core.documents.answers import NothingReady
from dcf.core.documents.decision import Decision, Snapshot
from dcf.core.documents.model import Meta, StateDoc
from dcf.core.leasing.claim import MaybeExpired, claim, tokens_of
from dcf.core.leasing.lease import Acquire
from dcf.values.instants import SECOND
from tests.core.build import NOW, TTL, code, held, leased, meta, run

WISH = Acquire(state="", owner="ann", token="t1", ttl_s=TTL)


def page(*, about: Meta | None = None, **states: StateDoc) -> Snapshot:
    return Snapshot(now=NOW, meta=about or meta(), states=states, inputs=dict.fromkeys(states, "input"))


def test_a_claim_leases_the_ready_state() -> None:
    made = run()
    result = leased(made.claim("t1"))
    assert (result.state, result.outcome, result.given) == ("A", "lease_acquired", {})
    assert made.states["A"].lease.token == "t1"


def test_a_repeated_claim_finds_the_state_it_got() -> None:
    made = run()
    made.claim("t1")
    assert leased(made.claim("t1")).outcome == "lease_already_held"
    assert made.last_changes is None


def test_a_repeated_claim_does_not_take_a_second_state() -> None:
    decision = claim(page(B=StateDoc(), A=held("t1")), WISH)
    assert (leased(decision.answer).state, decision.changes) == ("A", None)


def test_a_claim_of_several_leases_as_many_as_there_are_each_with_a_token_of_its_own() -> None:
    decision = claim(page(A=StateDoc(), B=held("t9"), C=StateDoc(), D=StateDoc(), E=StateDoc()), replace(WISH, most=3))
    first = leased(decision.answer)
    granted = (first, *first.others)
    assert [item.state for item in granted] == ["A", "C", "D"]
    tokens = [item.doc.lease.token for item in granted]
    assert tokens == list(tokens_of(replace(WISH, most=3)))
    assert len(set(tokens)) == 3
    assert decision.changes is not None
    assert decision.changes.states == {item.state: item.doc for item in granted}
    assert [event.type for event in decision.changes.events] == ["LeaseAcquired"] * 3
    assert len(leased(claim(page(A=StateDoc()), replace(WISH, most=3)).answer).others) == 0


def test_a_repeated_claim_of_several_finds_those_that_it_got_and_takes_no_others() -> None:
    tokens = tokens_of(replace(WISH, most=3))
    decision = claim(page(A=StateDoc(), B=held(tokens[1]), C=held("t1"), D=StateDoc()), replace(WISH, most=3))
    first = leased(decision.answer)
    assert [(item.state, item.outcome) for item in (first, *first.others)] == [
        ("C", "lease_already_held"),
        ("B", "lease_already_held"),
    ]
    assert decision.changes is None


def test_what_is_held_not_due_not_ready_or_meant_for_others_is_passed_over() -> None:
    result = claim(
        page(
            about=meta(agents={"D": ("bob",)}),
            A=held("t9"),
            B=StateDoc(not_before=NOW + 1),
            C=StateDoc(waits_for={"A": 0}),
            D=StateDoc(),
            E=StateDoc(attempts=10),
            F=StateDoc(),
            G=StateDoc(),
        ),
        WISH,
    )
    assert leased(result.answer).state == "F"
    assert result.changes is not None
    assert set(result.changes.states) == {"F"}


def test_nothing_ready_says_how_many_were_looked_at_and_writes_nothing() -> None:
    made = run()
    made.claim("t1")
    assert made.claim("t2", "bob") == NothingReady(examined=2)
    assert made.last_changes is None


def test_a_crashed_holders_state_can_be_claimed() -> None:
    made = run()
    made.claim("t1")
    made.now += (TTL + 1) * SECOND
    assert leased(made.claim("t2", "bob")).doc.attempts == 2


def test_a_lease_that_may_have_expired_comes_first_and_is_left_to_be_taken_by_name() -> None:
    seen = replace(page(B=StateDoc()), held={"C": NOW + 1, "D": NOW, "A": NOW - 5})
    assert claim(seen, WISH) == Decision(answer=MaybeExpired("D"))
    assert leased(claim(replace(seen, held={"C": NOW + 1}), WISH).answer).state == "B"


def test_what_another_is_about_to_take_is_left_to_it_and_told() -> None:
    seen = replace(page(A=StateDoc(), B=StateDoc()), taken=frozenset({"A"}), page=2)
    assert leased(claim(seen, WISH).answer).state == "B"
    only = replace(page(A=StateDoc()), taken=frozenset({"A"}), page=1)
    assert claim(only, WISH).answer == NothingReady(examined=1, is_contested=True)


def test_a_run_that_is_over_has_no_work() -> None:
    made = run()
    made.finalize()
    assert code(made.claim("t1")) == "terminal"
