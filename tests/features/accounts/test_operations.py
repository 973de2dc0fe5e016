"""Accounts on Redis: limits close them for all of their agents, states wait for them, and their ledger adds up."""

import uuid
from collections.abc import Callable

import pytest

from dcf.core.documents.answers import Released
from dcf.core.documents.model import RunStatus
from dcf.core.documents.usage import UsageReport, read_report
from dcf.core.leasing.lease import Release
from dcf.core.leasing.parking import Excuse
from dcf.errors import InvalidArgument, NotFound
from dcf.features.accounts import keys as account_keys
from dcf.features.accounts.admission_operations import AccountAdmissions
from dcf.features.accounts.model import Bill, LimitMet, Used, Wish
from dcf.features.accounts.money import Statement, price_of, read_prices, read_statement
from dcf.features.accounts.operations import Accounts
from dcf.features.accounts.overview_storage import Overviews
from dcf.features.accounts.storage import AccountStore
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND
from tests.support.ahead import let_pass, now
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

HOUR = 3600


@pytest.fixture
def world(timely: World) -> World:
    """dcf in a time that tests let pass."""
    timely.ask("SET", keys.SERVER_TIME, now(timely))
    return timely


@pytest.fixture
def accounts(world: World, connections: Connections) -> Accounts:
    store = AccountStore(connections)
    world.plane.admitting.admissions = AccountAdmissions(store)
    return Accounts(world.plane, store, Overviews(connections))


def name() -> str:
    return f"acc-{uuid.uuid4().hex[:10]}"


def wish(number: int = 0, tokens: int = 0) -> Wish:
    return Wish(id=f"t{number}", run="r", agent="ann", tokens=tokens)


def test_a_limit_that_one_agent_reports_stops_every_agent_of_the_account(accounts: Accounts) -> None:
    account = name()
    assert accounts.reserve(account, wish()).verdict == "granted"
    accounts.limit(account, LimitMet(until=0, kind="limit", by="ann"), HOUR)
    verdict = accounts.reserve(account, Wish(id="t1", run="r", agent="bob"))
    assert (verdict.verdict, verdict.kind, verdict.by, verdict.is_known) == ("closed", "limit", "ann", True)
    assert verdict.after == pytest.approx(HOUR * SECOND, abs=60 * SECOND)


def test_a_client_that_releases_a_state_at_a_limit_closes_the_account_of_its_agent(
    world: World, accounts: Accounts
) -> None:
    account, me, other = name(), f"a-{name()}", f"b-{name()}"
    accounts.assign(me, account)
    accounts.assign(other, account)
    run = world.create(chain("A", "B"), agents={"A": me, "B": other})
    request = Release(state="A", token=world.acquire(run, "A", me), excuse=Excuse(within_s=HOUR))
    answer = accounts.release(run, request)
    assert isinstance(answer, Released)
    assert answer.doc.parked is not None
    assert (answer.doc.parked.account, answer.doc.parked.by) == (account, me)
    assert accounts.reserve(account, wish()).verdict == "closed"
    assert accounts.account_of(other) == account
    (finding,) = world.diagnosis.explain(run, None).findings
    assert finding.sentence.startswith(f"State 'A' is parked. Account {account} is closed until ")
    assert f"reported by {me}" in finding.sentence
    assert finding.evidence["account"] == account
    assert not finding.stuck


def test_an_overloaded_provider_closes_no_account(world: World, accounts: Accounts) -> None:
    account, me = name(), f"a-{name()}"
    accounts.assign(me, account)
    run = world.create(chain("A"), agents={"A": me})
    accounts.release(
        run, Release(state="A", token=world.acquire(run, "A", me), excuse=Excuse(within_s=60, kind="busy"))
    )
    assert accounts.reserve(account, wish()).verdict == "granted"


def test_an_account_that_is_opened_by_hand_makes_its_parked_states_ready_at_once(
    world: World, accounts: Accounts
) -> None:
    account, me = name(), f"a-{name()}"
    accounts.assign(me, account)
    run = world.create(chain("A"), agents={"A": me})
    accounts.release(run, Release(state="A", token=world.acquire(run, "A", me), excuse=Excuse(within_s=HOUR)))
    assert accounts.reopen(account, "operator") == 1
    assert accounts.reopen(account, "operator") is None
    assert accounts.reserve(account, wish()).is_probe
    world.do(run, "A", me)
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_state_whose_time_has_come_is_no_longer_listed_as_parked(world: World, connections: Connections) -> None:
    account, me = name(), f"a-{name()}"
    store = AccountStore(connections, lambda: now(world))
    world.plane.admitting.admissions = AccountAdmissions(store)
    accounts = Accounts(world.plane, store, Overviews(connections))
    accounts.assign(me, account)
    for within_s in (HOUR, 2 * HOUR):
        run = world.create(chain("A"), agents={"A": me})
        request = Release(state="A", token=world.acquire(run, "A", me), excuse=Excuse(within_s=within_s))
        accounts.release(run, request)
        let_pass(world, HOUR + 1)
    (entry,) = world.ask("ZRANGE", account_keys.parked(account), 0, -1)
    assert entry.decode() == f"{run}/A"


def test_a_state_that_waits_for_something_else_is_left_alone_when_an_account_opens(
    world: World, accounts: Accounts
) -> None:
    account, me = name(), f"a-{name()}"
    run = world.create(chain("A"), agents={"A": me})
    accounts.release(
        run, Release(state="A", token=world.acquire(run, "A", me), excuse=Excuse(within_s=HOUR, account=account))
    )
    before = world.doc(run, "A")
    accounts.limit("other", LimitMet(until=0, kind="limit", by="ann"), HOUR)
    assert accounts.reopen("other", "operator") == 0
    assert world.doc(run, "A") == before


def usage(**used: object) -> UsageReport:
    return read_report(used)


def test_the_ledger_is_exact_and_the_statement_replaces_reported_amounts(accounts: Accounts) -> None:
    account = name()
    accounts.put(account, {"in_flight": 50})
    for number in range(30):
        accounts.reserve(account, wish(number, 1000))
        for _ in range(2):  # sent twice
            bill = usage(tokens_in=number, cost="0.100000001", currency="EUR")
            accounts.report(account, f"t{number}", bill, ended=True, ok=True)
    today = accounts.read(account)["today"]
    assert (today["cost"], today["tokens_in"], today["turns"]) == ({"EUR": "3.00000003"}, 435, 30)
    line = Statement(reservation="t0", usage=usage(tokens_in=7, cost="0.05", currency="EUR"), day=accounts.today())
    unknown = Statement(reservation="lost", usage=usage(tokens_in=1, cost="1", currency="EUR"), day=accounts.today())
    for _ in range(2):
        accounts.state(account, [line, unknown])
    today = accounts.read(account)["today"]
    assert (today["cost"], today["tokens_in"], today["turns"]) == ({"EUR": "3.950000029"}, 443, 31)


def test_a_turn_costs_by_the_prices_of_the_user_unless_it_reports_a_cost(accounts: Accounts) -> None:
    account, model = name(), f"m-{uuid.uuid4().hex[:6]}"
    accounts.put_prices(read_prices({f"{model}*": {"input": "3", "output": "15", "currency": "USD"}}))
    bill = usage(tokens_in=1_000_001, tokens_out=100_000, model=f"{model}-large")
    accounts.report(account, "t0", bill, ended=True, ok=True)
    accounts.report(account, "t1", usage(cost="1", currency="USD", model=model), ended=True, ok=True)
    accounts.report(account, "t2", usage(tokens_in=5, model="unpriced"), ended=True, ok=True)
    accounts.put(account, {})
    assert accounts.read(account)["today"]["cost"] == {"USD": "5.500003"}


def test_tokens_of_caches_are_told_apart_and_have_prices_of_their_own(accounts: Accounts) -> None:
    account, model = name(), f"m-{uuid.uuid4().hex[:6]}"
    row = {"input": "3", "cached_input": "0.3", "cache_write": "3.75", "output": "15", "currency": "USD"}
    table = accounts.put_prices(
        read_prices({model: row, f"{model}-old": {"input": "3", "output": "15", "currency": "USD"}})
    )
    assert table[model] == row
    used = {"tokens_in": 1000, "tokens_cached": 100_001, "tokens_cache_written": 4000, "tokens_out": 10}
    accounts.report(account, "t0", usage(**used, model=model), ended=True, ok=True)
    accounts.put(account, {"day_tokens": 105_012})
    today = accounts.read(account)["today"]
    assert {kind: today[kind] for kind in used} == used
    assert today["cost"] == {"USD": "0.0481503"}, "0.003 + 0.0300003 + 0.015 + 0.00015"
    accounts.report(account, "t1", usage(tokens_cached=1000, model=f"{model}-old"), ended=True, ok=True)
    assert accounts.read(account)["today"]["cost"] == {"USD": "0.0511503"}, (
        "without a price of caches they cost as input"
    )
    assert accounts.reserve(account, wish(2, 1)).verdict == "day", "tokens of each kind count"


def test_the_models_of_a_turn_are_priced_apart_and_the_sum_is_rounded_up_once(accounts: Accounts) -> None:
    account, model = name(), f"m-{uuid.uuid4().hex[:6]}"
    small, large = ({"input": price, "output": "0", "currency": "EUR"} for price in ("0.0004", "0.0003"))
    accounts.put_prices(read_prices({f"{model}-s": small, f"{model}-l": large}))
    models = {f"{model}-s": {"tokens_in": 1}, f"{model}-l": {"tokens_in": 1}, "unpriced": {"tokens_in": 7}}
    accounts.report(account, "t0", usage(models=models), ended=True, ok=True)
    accounts.put(account, {})
    today = accounts.read(account)["today"]
    assert (today["tokens_in"], today["cost"]) == (9, {"EUR": "0.000000001"})


def test_the_budget_of_a_day_is_checked_before_a_turn_with_what_is_in_flight(accounts: Accounts) -> None:
    account, model = name(), f"m-{uuid.uuid4().hex[:6]}"
    accounts.put_prices(read_prices({model: {"input": "1", "output": "10", "currency": "EUR"}}))
    accounts.put(account, {"day_nanos": 1_000_000_000}, "EUR")
    granted = [accounts.reserve(account, wish(number, 40_000), model).verdict for number in range(4)]
    assert granted == ["granted", "granted", "day", "day"], "each may cost 0.40"
    accounts.report(account, "t0", usage(cost="0.1", currency="EUR"), ended=True, ok=True)
    assert accounts.reserve(account, wish(2, 40_000), model).verdict == "granted"
    accounts.report(account, "t1", usage(cost="2", currency="EUR"), ended=True, ok=True)
    accounts.report(account, "t2", usage(tokens_in=0), ended=True, ok=True)
    verdict = accounts.reserve(account, wish(5), model)
    assert verdict.verdict == "day"
    assert 0 < verdict.after <= 86_400 * SECOND


def test_the_longest_pattern_has_the_price() -> None:
    row = {"output": "0", "currency": "EUR"}
    prices_read = read_prices({"*": {"input": "1", **row}, "a-*": {"input": "2", **row}, "a-b": {"input": "3", **row}})
    prices = {pattern: price for pattern, price in prices_read.items() if price is not None}
    named = [price_of(prices, model) for model in ("x", "a-c", "a-b")]
    assert [price and price.input // 10**9 for price in named] == [1, 2, 3]
    assert price_of(prices, None) is None


@rows(
    "read",
    [
        lambda: read_prices({}),
        lambda: read_prices([]),
        lambda: read_prices({"a b": {"input": "1", "output": "1", "currency": "EUR"}}),
        lambda: read_prices({"a": {"input": "1", "currency": "EUR"}}),
        lambda: read_prices({"a": {"input": 1, "output": "1", "currency": "EUR"}}),
        lambda: read_statement([], 0),
        lambda: read_statement({"reservation": "t"}, 0),
        lambda: read_statement([{"reservation": "t"}], 0),
        lambda: read_statement([{"reservation": "t|", "usage": {"tokens_in": 1}}], 0),
        lambda: read_statement([{"reservation": "t", "usage": {"tokens_in": 1}, "day": "soon"}], 0),
    ],
)
def test_what_is_no_price_and_no_statement_is_rejected(read: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgument):
        read()


def test_a_statement_may_name_the_day_of_a_turn_that_dcf_does_not_know() -> None:
    (line,) = read_statement([{"reservation": "t", "usage": {"tokens_in": 1}, "day": "1970-01-11"}], 0)
    assert line.day == 10


def test_an_account_that_nobody_made_is_not_found(accounts: Accounts) -> None:
    with pytest.raises(NotFound, match="There is no account"):
        accounts.read(name())


def test_all_keys_of_an_account_are_in_one_slot(accounts: Accounts) -> None:
    account = name()
    every = [*account_keys.protocol(account), account_keys.day(account, 7), account_keys.parked(account)]
    assert all(key.startswith(f"cp:idx:account:{{{account}}}") for key in every)


def test_a_reservation_and_a_report_take_one_round_trip_each(counting: CountingPool) -> None:
    store, account = AccountStore(Connections(counting)), name()
    store.reserve(account, wish())
    with counting.counted() as reserving:
        store.reserve(account, wish(1))
    with counting.counted() as reporting:
        store.report(account, Bill(id="t1", used=Used(tokens_in=5), ended=True, ok=True))
    assert (reserving, reporting) == ([["EVAL"]], [["EVAL"]])
