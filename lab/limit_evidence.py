"""What is known of an account at the end of a batch, from the notes of its turns, its log, and its ledger."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from dcf.core.documents.usage import UsageReport
from dcf.features.accounts import model
from dcf.features.accounts.model import Books
from dcf.features.accounts.money import Statement
from dcf.features.accounts.operations import Accounts
from dcf.features.accounts.storage import AccountStore
from dcf.values.instants import from_text
from lab.limit_rules import Closure, Entry, Grant, Span, Sums, UsedAccount
from lab.providers import CURRENCY, LARGEST_TURN
from lab.server_time import SharedTime

Note = Mapping[str, Any]

_MOST_ENTRIES: Final = 1000
_DAYS: Final = 100
_FIELDS: Final = ("tokens_in", "tokens_out", f"cost:{CURRENCY}", "open_tokens", f"open_cost:{CURRENCY}")


class AccountReader:
    """Reads an account, and counts the statement of its provider, each tenth line twice."""

    def __init__(self, accounts: Accounts, store: AccountStore, time: SharedTime) -> None:
        self._accounts = accounts
        self._store = store
        self._time = time

    def used(self, name: str, notes: Sequence[Note], budget: int, *, until: int) -> UsedAccount:
        """Return what is known of an account; `notes` are those of all turns. It has its budget until a day."""
        own = [note for note in notes if note.get("account") == name]
        before, _ = self._ledger(name)
        bills = bills_of(own)
        names = sorted({str(note["reservation"]) for note in own if "reservation" in note})
        today = self._accounts.today()
        lines = [_line(reservation, bills.get(reservation, Sums()), today) for reservation in names]
        self._accounts.state(name, [*lines, *lines[::10]])
        after, books = self._ledger(name)
        return UsedAccount(
            name=name,
            in_flight=books.numbers["in_flight"],
            budget=budget,
            largest=LARGEST_TURN,
            grants=[*self._grants(own)],
            closures=[*self._closures(own)],
            log=[*self._log(name)],
            sure=[*self._sure(own)],
            bills=_sum(bills.values()),
            before=before,
            after=after,
            days={day: sums.get(f"cost:{CURRENCY}", 0) for day, sums in books.days.items() if day < until},
            left={name: books.numbers.get(name, 0) for name in ("count", "tokens", "nanos")},
        )

    def _ledger(self, name: str) -> tuple[Sums, Books]:
        today = self._accounts.today()
        books = self._store.read(name, range(today - _DAYS, today + 1))
        sums = {field: sum(day.get(field, 0) for day in books.days.values()) for field in _FIELDS}
        numbers = books.numbers
        ledger = Sums(
            tokens_in=sums["tokens_in"],
            tokens_out=sums["tokens_out"],
            nanos=sums[f"cost:{CURRENCY}"],
            open_tokens=sums["open_tokens"] + numbers.get("tokens", 0),
            open_nanos=sums[f"open_cost:{CURRENCY}"] + numbers.get("nanos", 0),
        )
        return ledger, books

    def _grants(self, notes: Sequence[Note]) -> Iterator[Grant]:
        for note in notes:
            if note["event"] == "reserve_turn" and note.get("granted"):
                yield Grant(
                    reservation=note["reservation"],
                    sent=self._time.of(note["sent"]),
                    answered=self._time.of(note["at"]),
                    is_probe=note["is_probe"],
                )

    def _closures(self, notes: Sequence[Note]) -> Iterator[Closure]:
        for note in notes:
            if note["event"] == "report_limit" and note["code"] == "ok":
                yield Closure(answered=self._time.of(note["at"]), until=from_text(note["closed_until"]) or 0)

    def closed(self, name: str) -> list[tuple[int, int]]:
        """Return when the account was closed, in the time of the machine."""
        spans = list[tuple[int, int]]()
        for entry in self._log(name):
            if entry.kind == "closed" and spans and entry.at <= spans[-1][1]:
                spans[-1] = (spans[-1][0], entry.until)
            elif entry.kind == "closed":
                spans.append((entry.at, entry.until))
            elif entry.kind in {"accepted", "opened"} and spans and entry.at < spans[-1][1]:
                spans[-1] = (spans[-1][0], entry.at)
        return [(self._time.real(begin), self._time.real(end)) for begin, end in spans]

    def _log(self, name: str) -> Iterator[Entry]:
        for entry in reversed(self._store.log(name, _MOST_ENTRIES)):
            at, until = int(entry["at"]), 0
            if entry["what"] == "closed":
                until = int(entry["more"].partition("|")[0])
            is_known = until > 0 and (until - at) % model.PROBE_EVERY != 0
            yield Entry(kind=entry["what"], at=at, until=until, is_known=is_known)

    def _sure(self, notes: Sequence[Note]) -> Iterator[Span]:
        """Yield when each turn has its reservation for certain: from sign to sign, as long as they come in time."""
        signs: dict[str, list[tuple[int, int, bool]]] = defaultdict(list)
        for note in notes:
            is_sign = note["event"] == "reserve_turn" and note.get("granted")
            is_sign = is_sign or (note["event"] == "report_turn" and note.get("outcome") in {"renewed", "settled"})
            if is_sign:
                times = (self._time.of(note["sent"]), self._time.of(note["at"]), bool(note.get("ended")))
                signs[note["reservation"]].append(times)
        for of_turn in signs.values():
            yield from sure_spans(of_turn)


def sure_spans(signs: Sequence[tuple[int, int, bool]]) -> Iterator[Span]:
    """Yield the times between signs of a turn (sent, answered, whether it was the last) that came within 30 s."""
    for (sent, answered, _), (next_sent, next_answered, is_end) in pairwise(signs):
        is_in_time = next_answered - sent <= model.RESERVED
        end = (next_sent if is_end else next_answered) if is_in_time else sent + model.RESERVED
        if end > answered:
            yield Span(begin=answered, end=end)


def bills_of(notes: Sequence[Note]) -> dict[str, Sums]:
    """Return what the provider has billed, by turn."""
    calls: dict[str, list[Sums]] = defaultdict(list)
    for note in notes:
        if note["event"] == "billed":
            bill = Sums(tokens_in=note["tokens_in"], tokens_out=note["tokens_out"], nanos=note["nanos"])
            calls[note["reservation"]].append(bill)
    return {reservation: _sum(bills) for reservation, bills in calls.items()}


def _sum(items: Any) -> Sums:
    bills = list(items)
    return Sums(
        tokens_in=sum(bill.tokens_in for bill in bills),
        tokens_out=sum(bill.tokens_out for bill in bills),
        nanos=sum(bill.nanos for bill in bills),
    )


def _line(reservation: str, bill: Sums, day: int) -> Statement:
    currency = CURRENCY if bill.nanos else None
    usage = UsageReport(tokens_in=bill.tokens_in, tokens_out=bill.tokens_out, nanos=bill.nanos, currency=currency)
    return Statement(reservation=reservation, usage=usage, day=day)
