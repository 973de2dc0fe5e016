"""Each rule about accounts sees the fault that it is for, and finds nothing in an account that went well."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from dcf.features.accounts import model
from dcf.values.instants import SECOND
from lab import limit_rules
from lab.limit_evidence import bills_of, sure_spans
from lab.limit_rules import LIMIT_RULES, Closure, Entry, Grant, Span, Sums, UsedAccount
from tests.support.tables import rows

BILLS = Sums(tokens_in=10, tokens_out=5, nanos=40)
CLOSED = Entry(kind="closed", at=100 * SECOND, until=220 * SECOND)
TOLD = replace(CLOSED, is_known=True)
PROBE = Entry(kind="probe", at=165 * SECOND)
ACCEPTED = Entry(kind="accepted", at=166 * SECOND)
CLOSURE = Closure(answered=101 * SECOND, until=220 * SECOND)
GRANT = Grant(reservation="t1", sent=98 * SECOND, answered=99 * SECOND, is_probe=False)
LATE = replace(GRANT, sent=102 * SECOND, answered=103 * SECOND)
WELL = UsedAccount(
    name="acc",
    in_flight=1,
    budget=100,
    largest=50,
    grants=(GRANT,),
    closures=(CLOSURE,),
    log=(CLOSED, PROBE, ACCEPTED),
    sure=(Span(begin=1, end=2), Span(begin=2, end=3)),
    bills=BILLS,
    before=Sums(nanos=10, open_nanos=30),
    after=BILLS,
    days={7: 150},
    left={"count": 0},
)

Judge = Callable[[Any], Iterator[str]]

FAULTS: dict[str, tuple[Judge, UsedAccount]] = {
    "a turn starts while it is closed": (
        limit_rules.no_turn_starts_while_the_account_is_closed,
        replace(WELL, grants=(LATE,)),
    ),
    "a turn looks too soon": (
        limit_rules.turns_look_once_a_minute,
        replace(WELL, log=(CLOSED, replace(PROBE, at=130 * SECOND))),
    ),
    "two turns look in a minute": (
        limit_rules.turns_look_once_a_minute,
        replace(WELL, log=(CLOSED, PROBE, replace(PROBE, at=200 * SECOND))),
    ),
    "a known end is not waited for": (limit_rules.a_known_end_stands, replace(WELL, log=(TOLD, ACCEPTED))),
    "a turn too many": (
        limit_rules.turns_in_flight_do_not_exceed_the_limit,
        replace(WELL, sure=(Span(begin=1, end=3), Span(begin=2, end=4))),
    ),
    "a bill is forgotten": (limit_rules.what_is_not_heard_is_open, replace(WELL, before=Sums(nanos=10))),
    "the ledger is wrong": (limit_rules.the_ledger_is_the_bills, replace(WELL, after=replace(BILLS, nanos=41))),
    "something is in flight": (limit_rules.the_ledger_is_the_bills, replace(WELL, left={"count": 1})),
    "a day is too expensive": (
        limit_rules.a_day_exceeds_its_budget_by_one_turn_for_each_slot,
        replace(WELL, days={7: 151}),
    ),
}


@rows("rule, broken", FAULTS.values(), ids=FAULTS)
def test_a_rule_sees_its_fault_and_nothing_in_an_account_that_went_well(rule: Judge, broken: UsedAccount) -> None:
    assert list(rule(WELL)) == []
    assert len(list(rule(broken))) == 1


def test_each_rule_about_accounts_has_a_planted_fault() -> None:
    assert {*LIMIT_RULES} == {rule for rule, _ in FAULTS.values()}


@rows("permitted", [replace(LATE, is_probe=True), replace(LATE, sent=230 * SECOND, answered=231 * SECOND)])
def test_a_turn_that_looks_and_one_after_the_end_may_start(permitted: Grant) -> None:
    assert list(limit_rules.no_turn_starts_while_the_account_is_closed(replace(WELL, grants=(permitted,)))) == []


def test_a_turn_has_its_reservation_for_certain_as_long_as_its_signs_come_in_time() -> None:
    late = 5 + model.RESERVED
    signs = [(1, 2, False), (4, 5, False), (late, late + 9, False), (late + 10, late + 12, True)]
    spans = [*sure_spans(signs)]
    assert [(span.begin, span.end) for span in spans] == [(2, 5), (5, 4 + model.RESERVED), (late + 9, late + 10)]


def test_the_bill_of_a_turn_is_the_sum_of_its_calls() -> None:
    calls = [{"event": "billed", "reservation": name, "tokens_in": 5, "tokens_out": 1, "nanos": 7} for name in "aab"]
    assert bills_of([*calls, {"event": "begun", "reservation": "c"}]) == {
        "a": Sums(tokens_in=10, tokens_out=2, nanos=14),
        "b": Sums(tokens_in=5, tokens_out=1, nanos=7),
    }
