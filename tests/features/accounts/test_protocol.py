"""The script of the protocol does in Redis what the pure functions decide, whatever happens in whatever order."""

import uuid
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dcf.core.documents.usage_sums import TOKENS
from dcf.features.accounts import decisions, model
from dcf.features.accounts.model import Bill, Books, Done, Held, LimitMet, Used, Wish
from dcf.features.accounts.storage import AccountStore
from dcf.store.connection.connections import Connections
from dcf.values.instants import SECOND
from dcf.values.records import replace

BEGIN = 20_000 * model.DAY
IDS = [f"t{number}" for number in range(12)]

numbers = st.integers(0, 3000)
money = st.integers(0, 5 * 10**9)
amounts = st.builds(Used, **dict.fromkeys(TOKENS, numbers), nanos=money)
passing = st.one_of(st.integers(0, 2 * SECOND), st.integers(0, 90 * SECOND), st.just(model.DAY // 2))
MODELS = ["", "claude-opus-5", "claude-sonnet-5"]
wishes = st.tuples(
    st.just("reserve"), st.sampled_from(IDS), st.sampled_from("abc"), numbers, money, st.sampled_from(MODELS)
)
reports = st.tuples(
    *(st.just("report"), st.sampled_from(IDS), amounts),
    *(st.sampled_from(["EUR", "USD"]), st.booleans(), st.booleans()),
)
statements = st.tuples(st.just("state"), st.sampled_from(IDS), amounts, st.sampled_from(["EUR", "USD"]))
closures = st.tuples(
    *(st.just("limit"), st.sampled_from([*IDS, ""]), st.sampled_from([0, 1, 30, 7200])),
    st.sampled_from(["", "", "opus", "sonnet"]),
)
openings = st.tuples(st.just("open"))
steps = st.lists(
    st.tuples(passing, st.one_of(wishes, wishes, wishes, reports, reports, statements, closures, openings)),
    min_size=1,
    max_size=40,
)
limits = st.fixed_dictionaries(
    {
        "in_flight": st.sampled_from([0, 1, 3, 8]),
        "rpm": st.sampled_from([0, 5]),
        "tpm": st.sampled_from([0, 4000]),
        "day_tokens": st.sampled_from([0, 20_000]),
        "day_nanos": st.sampled_from([0, 10 * 10**9]),
    }
)


def decided(books: Books, step: tuple[Any, ...], now: int) -> tuple[Any, Books]:
    match step:
        case ("reserve", name, run, tokens, nanos, of_model):
            wish = Wish(id=name, run=run, agent="ann", of_model=of_model, tokens=tokens, nanos=nanos)
            return decisions.reserve(books, wish, now)
        case ("report", name, used, currency, ended, ok):
            bill = Bill(id=name, used=used, currency=currency, ended=ended, ok=ok)
            return decisions.report(books, bill, now)
        case ("state", name, used, currency):
            bill = Bill(id=name, used=used, currency=currency)
            return None, decisions.state(books, bill, now // model.DAY, now)[1]
        case ("limit", name, after, family):
            until = now + after * SECOND if after else 0
            return decisions.meet(books, LimitMet(until=until, kind="limit", by="ann", id=name, family=family), now)
        case _:
            return decisions.open_by_hand(books, now)


def done(store: AccountStore, account: str, step: tuple[Any, ...], now: int) -> Any:
    match step:
        case ("reserve", name, run, tokens, nanos, of_model):
            wish = Wish(id=name, run=run, agent="ann", of_model=of_model, tokens=tokens, nanos=nanos)
            return store.reserve(account, wish)
        case ("report", name, used, currency, ended, ok):
            bill = Bill(id=name, used=used, currency=currency, ended=ended, ok=ok)
            return store.report(account, bill)
        case ("state", name, used, currency):
            bill = Bill(id=name, used=used, currency=currency)
            return store.state(account, bill, now // model.DAY)
        case ("limit", name, after, family):
            until = now + after * SECOND if after else 0
            return store.limit(account, LimitMet(until=until, kind="limit", by="ann", id=name, family=family))
        case _:
            return store.reopen(account, "ann")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(limits=limits, course=steps)
def test_the_script_and_the_pure_functions_agree(
    connections: Connections, limits: dict[str, int], course: list[tuple[int, tuple[Any, ...]]]
) -> None:
    account, clock = f"acc-{uuid.uuid4().hex[:10]}", {"now": BEGIN}
    store = AccountStore(connections, lambda: clock["now"])
    store.put(account, limits, {"currency": "EUR"})
    books = Books(numbers=limits, texts={"currency": "EUR"})
    for passed, step in course:
        clock["now"] += passed
        expected, books = decided(books, step, clock["now"])
        assert done(store, account, step, clock["now"]) == expected, step
        days = range(BEGIN // model.DAY, clock["now"] // model.DAY + 1)
        there = store.read(account, days)
        assert there.numbers == books.numbers, step
        assert (there.texts, there.held) == (books.texts, books.held), step
        assert (there.shares, there.asked) == (books.shares, books.asked), step
        assert there.days == books.days, step
        for name in IDS:
            assert store.settled(account, name) == books.done.get(name), step


@given(limits=limits, course=steps)
def test_what_is_promised_is_the_sum_of_the_turns_in_flight(
    limits: dict[str, int], course: list[tuple[int, tuple[Any, ...]]]
) -> None:
    books, now = Books(numbers=limits, texts={"currency": "EUR"}), BEGIN
    for passed, step in course:
        now += passed
        _, books = decided(books, step, now)
        sums = [books.numbers.get(name, 0) for name in ("count", "tokens", "nanos")]
        turns = books.held.values()
        assert sums == [len(turns), sum(turn.open_tokens for turn in turns), sum(turn.open_nanos for turn in turns)]
        assert 0 <= sums[0] <= (limits["in_flight"] or len(turns))


@given(limits=limits, course=steps)
def test_the_ledger_is_the_sum_of_what_is_known_of_each_turn(
    limits: dict[str, int], course: list[tuple[int, tuple[Any, ...]]]
) -> None:
    books, now = Books(numbers=limits, texts={"currency": "EUR"}), BEGIN
    for passed, step in course:
        now += passed
        _, books = decided(books, step, now)
    known: list[Held | Done] = [*books.held.values(), *books.done.values()]
    for currency in ("EUR", "USD"):
        ledger = sum(sums.get(f"cost:{currency}", 0) for sums in books.days.values())
        assert ledger == sum(turn.used.nanos for turn in known if turn.currency == currency)
    for kind in TOKENS:
        assert sum(sums.get(kind, 0) for sums in books.days.values()) == sum(getattr(turn.used, kind) for turn in known)


@given(after=st.integers(1, 7200), moments=st.lists(st.integers(0, 7200 * SECOND), max_size=20))
def test_no_turn_starts_before_a_time_that_the_provider_told(after: int, moments: list[int]) -> None:
    until = BEGIN + after * SECOND
    _, books = decisions.meet(Books(), LimitMet(until=until, kind="limit", by="ann"), BEGIN)
    for number, passed in enumerate(sorted(moments)):
        verdict, books = decisions.reserve(books, Wish(id=f"t{number}", run="r", agent="ann"), BEGIN + passed)
        assert (verdict.verdict == "closed") is (BEGIN + passed < until)


def test_after_a_limit_one_turn_goes_first_and_then_their_number_doubles_each_second() -> None:
    _, books = decisions.meet(Books(), LimitMet(until=BEGIN + SECOND, kind="limit", by="ann"), BEGIN)
    begin = BEGIN + SECOND
    started: list[Any] = []
    for moment in range(0, 10 * SECOND, SECOND // 2):
        for _ in range(40):
            wish = Wish(id=f"t{len(started)}", run="r", agent="ann")
            verdict, books = decisions.reserve(books, wish, begin + moment)
            if verdict.verdict == "granted":
                started.append(moment)
    at = {second: sum(turn <= second * SECOND for turn in started) for second in range(8)}
    assert [at[second] for second in range(8)] == [1, 1, 1, 2, 4, 8, 16, 32]


def test_the_first_sign_of_the_turn_that_goes_first_opens_the_account() -> None:
    _, books = decisions.meet(Books(), LimitMet(until=0, kind="limit", by="ann"), BEGIN)
    now = BEGIN + model.PROBE_EVERY
    verdict, books = decisions.reserve(books, Wish(id="t0", run="r", agent="ann"), now)
    assert verdict.is_probe
    _, books = decisions.report(books, Bill(id="t0", used=Used(tokens_cached=5)), now)
    verdict, books = decisions.reserve(books, Wish(id="t1", run="r", agent="ann"), now)
    assert verdict.verdict == "granted"
    verdict, books = decisions.reserve(books, Wish(id="t2", run="r", agent="ann"), now)
    assert (verdict.verdict, verdict.at) == ("ramp", now + model.STEP)


def test_a_limit_without_a_time_is_probed_once_a_minute_and_the_guess_grows() -> None:
    books, now, guesses = Books(), BEGIN, []
    for number in range(6):
        until, books = decisions.meet(books, LimitMet(until=0, kind="limit", by="ann", id=f"t{number}"), now)
        guesses.append((until - now) // model.PROBE_EVERY)
        now = until
        verdict, books = decisions.reserve(books, Wish(id=f"t{number + 1}", run="r", agent="ann"), now)
        assert verdict.is_probe
    assert guesses == [1, 2, 4, 8, 16, 16]


def test_a_turn_that_looked_before_a_known_end_came_does_not_open_the_account() -> None:
    _, books = decisions.meet(Books(), LimitMet(until=0, kind="limit", by="ann"), BEGIN)
    now = BEGIN + model.PROBE_EVERY - 1
    verdict, books = decisions.reserve(books, Wish(id="t0", run="r", agent="ann"), now + 1)
    assert verdict.is_probe
    end, books = decisions.meet(books, LimitMet(until=now + 7200 * SECOND, kind="limit", by="bob", id="t-old"), now + 2)
    _, books = decisions.report(books, Bill(id="t0", used=Used(tokens_in=5)), now + 3)
    verdict, _ = decisions.reserve(books, Wish(id="t1", run="r", agent="ann"), now + 4)
    assert (verdict.verdict, verdict.at) == ("closed", end)


def closed_family() -> Books:
    limit = LimitMet(until=BEGIN + 60 * SECOND, kind="limit", by="ann", family="opus")
    return decisions.meet(Books(), limit, BEGIN)[1]


def test_a_limit_on_a_family_of_models_lets_turns_of_other_models_start() -> None:
    books = closed_family()
    opus, sonnet = (Wish(id=name, run="r", agent="ann", of_model=f"claude-{name}-5") for name in ("opus", "sonnet"))
    verdict, books = decisions.reserve(books, opus, BEGIN + SECOND)
    assert (verdict.verdict, verdict.family, verdict.by, verdict.at) == ("closed", "opus", "ann", BEGIN + 60 * SECOND)
    verdict, books = decisions.reserve(books, sonnet, BEGIN + SECOND)
    assert verdict.verdict == "granted"


def test_at_the_end_of_a_limit_on_a_family_one_turn_goes_first() -> None:
    books, now, verdicts = closed_family(), BEGIN + 60 * SECOND, []
    for number in range(3):
        wish = Wish(id=f"t{number}", run="r", agent="ann", of_model="claude-opus-5")
        verdict, books = decisions.reserve(books, wish, now)
        verdicts.append((verdict.verdict, verdict.is_probe))
    assert verdicts == [("granted", True), ("probing", False), ("probing", False)]


def test_an_account_that_an_operator_opens_is_open_for_each_family() -> None:
    was_closed, books = decisions.open_by_hand(closed_family(), BEGIN + SECOND)
    assert was_closed
    verdict, _ = decisions.reserve(books, Wish(id="t0", run="r", agent="ann", of_model="opus"), BEGIN + SECOND)
    assert (verdict.verdict, verdict.is_probe) == ("granted", True)


def test_a_holder_killed_before_its_first_sign_leaves_its_estimate_open() -> None:
    books = Books(numbers={"in_flight": 1}, texts={"currency": "EUR"})
    _, books = decisions.reserve(books, Wish(id="t0", run="r", agent="ann", tokens=100, nanos=900), BEGIN)
    _, books = decisions.reserve(books, Wish(id="t1", run="r", agent="ann"), BEGIN + model.RESERVED + 1)
    (sums,) = books.days.values()
    assert (sums["open_tokens"], sums["open_cost:EUR"], sums["lapsed"]) == (100, 900, 1)


def test_a_killed_holder_leaves_what_it_may_have_used_open_until_its_bill_comes() -> None:
    books = Books(numbers={"in_flight": 1}, texts={"currency": "EUR"})
    first, second = (Wish(id=name, run="r", agent="ann", tokens=100, nanos=900) for name in ("t0", "t1"))
    _, books = decisions.reserve(books, first, BEGIN)
    _, books = decisions.report(
        books, Bill(id="t0", used=Used(tokens_in=10, tokens_cached=20, nanos=200), currency="EUR"), BEGIN
    )
    verdict, books = decisions.reserve(books, second, BEGIN + model.RESERVED + 1)
    assert verdict.verdict == "granted"
    (sums,) = books.days.values()
    assert (sums["open_tokens"], sums["open_cost:EUR"], sums["cost:EUR"], sums["lapsed"]) == (70, 700, 200, 1)
    bill = Bill(id="t0", used=Used(tokens_in=40, nanos=150), currency="EUR")
    _, books = decisions.state(books, bill, BEGIN // model.DAY, BEGIN)
    _, books = decisions.report(books, replace(bill, used=Used(nanos=9000), ended=True), BEGIN)
    (sums,) = books.days.values()
    assert (sums["open_tokens"], sums["open_cost:EUR"], sums["cost:EUR"], sums["tokens_in"]) == (0, 0, 150, 40)
