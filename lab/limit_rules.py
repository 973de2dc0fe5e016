"""The rules about accounts: what must hold of their turns, closures and ledgers, whatever struck meanwhile.

One function each, named for what must hold. It yields a sentence for each violation it finds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dcf.features.accounts import model
from dcf.values.instants import SECOND

MOST_SHOWN: Final = 3
"""Of one rule at most this number of sentences for each account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A time between two moments of the lab's time."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A turn that was granted between two moments."""

    reservation: str
    sent: int
    answered: int
    is_probe: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """A report that closed the account: when its answer came, and until when it closes."""

    answered: int
    until: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of the account's log. `until` and `is_known` (the provider named it) are those of a closure."""

    kind: str
    at: int
    until: int = 0
    is_known: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Tokens and billionths of money: of bills, or of a ledger. `open_nanos` may have been used as well."""

    tokens_in: int = 0
    tokens_out: int = 0
    nanos: int = 0
    open_tokens: int = 0
    open_nanos: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UsedAccount:
    """What is known of an account at the end of a batch. Times are the lab's.

    `sure` are the times in which a turn has a reservation for certain: its signs came in time. `before` is the ledger
    before the statement with what is reserved, `after` the one after it. `days` are the billionths of each day then,
    `left` is what is still in flight.
    """

    name: str
    in_flight: int
    budget: int
    largest: int
    grants: Sequence[Grant] = ()
    closures: Sequence[Closure] = ()
    log: Sequence[Entry] = ()
    sure: Sequence[Span] = ()
    bills: Sums = field(default_factory=Sums)
    before: Sums = field(default_factory=Sums)
    after: Sums = field(default_factory=Sums)
    days: Mapping[int, int] = field(default_factory=dict)
    left: Mapping[str, int] = field(default_factory=dict)


def no_turn_starts_while_the_account_is_closed(used: UsedAccount) -> Iterator[str]:
    """After a report has committed no turn is granted until the account opens, but for those that look."""
    opened = [entry.at for entry in used.log if entry.kind in {"accepted", "opened"}]
    for grant in used.grants:
        for closure in used.closures:
            is_in = closure.answered < grant.sent and grant.answered < closure.until
            was_opened = any(closure.answered - SECOND <= at <= grant.answered for at in opened)
            if is_in and not was_opened and not grant.is_probe:
                late = (grant.sent - closure.answered) / SECOND
                yield f"{used.name}: {grant.reservation} was granted {late:.2f} s after a report, and it was closed"
                break


def turns_look_once_a_minute(used: UsedAccount) -> Iterator[str]:
    """Where no end is known, one turn a minute looks whether the limit has ended."""
    until, last = 0, 0
    for entry in used.log:
        if entry.kind == "closed":
            last = entry.at if until <= entry.at else last
            until = entry.until
        elif entry.kind in {"accepted", "opened", "open"}:
            until = 0
        elif entry.kind == "probe":
            if entry.at < until and entry.at - last < model.PROBE_EVERY:
                yield f"{used.name}: a turn looked {(entry.at - last) / SECOND:.1f} s after the last one or the closure"
            last = entry.at


def a_known_end_stands(used: UsedAccount) -> Iterator[str]:
    """No turn that began before a report opens the account before the time that the provider told."""
    until = 0
    for entry in used.log:
        if entry.kind == "closed":
            until = max(until, entry.until) if entry.is_known else until
        elif entry.kind == "opened":
            until = 0
        elif entry.kind in {"accepted", "probe"} and entry.at < until:
            yield f"{used.name}: {entry.kind} {(until - entry.at) / SECOND:.1f} s before the end that was told"


def turns_in_flight_do_not_exceed_the_limit(used: UsedAccount) -> Iterator[str]:
    """At no time more turns have a reservation than may be in flight; those without signs for 30 s do not count."""
    moments = sorted([(span.begin, 1) for span in used.sure] + [(span.end, -1) for span in used.sure])
    count = most = 0
    for _, change in moments:
        count += change
        most = max(most, count)
    if most > used.in_flight:
        yield f"{used.name}: {most} turns were in flight, and {used.in_flight} may be"


def what_is_not_heard_is_open(used: UsedAccount) -> Iterator[str]:
    """Before the statement the ledger, with what is open, covers the bills: the estimates are upper bounds."""
    if used.before.nanos + used.before.open_nanos < used.bills.nanos:
        missing = used.bills.nanos - used.before.nanos - used.before.open_nanos
        yield f"{used.name}: {missing} billionths of the bills are neither in the ledger nor open"


def the_ledger_is_the_bills(used: UsedAccount) -> Iterator[str]:
    """After the statement the ledger is equal to the bills, to the billionth, and nothing is open or in flight."""
    if used.after != used.bills:
        yield f"{used.name}: the ledger is {used.after}, the bills are {used.bills}"
    if any(used.left.values()):
        yield f"{used.name}: after the statement {used.left} is left"


def a_day_exceeds_its_budget_by_one_turn_for_each_slot(used: UsedAccount) -> Iterator[str]:
    """The bills of a day are at most its budget, and one turn for each that may be in flight."""
    most = used.budget + used.in_flight * used.largest
    for day, nanos in used.days.items():
        if nanos > most:
            turns = (nanos - used.budget) / used.largest
            yield f"{used.name}: day {day} exceeds its budget by {turns:.1f} of the largest turn"


LIMIT_RULES: Final = (
    no_turn_starts_while_the_account_is_closed,
    turns_look_once_a_minute,
    a_known_end_stands,
    turns_in_flight_do_not_exceed_the_limit,
    what_is_not_heard_is_open,
    the_ledger_is_the_bills,
    a_day_exceeds_its_budget_by_one_turn_for_each_slot,
)
