"""A turn is settled with the usage that its run reports: no bill is lost, none counts twice, and it costs no call."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from dcf.core.documents.usage import BilledTurn, UsageReport, read_report
from dcf.errors import InvalidArgument
from dcf.features.accounts.admission_operations import AccountAdmissions
from dcf.features.accounts.model import Wish
from dcf.features.accounts.operations import Accounts
from dcf.features.accounts.overview_storage import Overviews
from dcf.features.accounts.storage import AccountStore
from dcf.features.children.model import link_of
from dcf.features.usage.storage import UsageBooks
from dcf.store.connection.connections import Connections, Pool
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import OWED
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from tests.store.cluster.test_in_steps import InSteps
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World, new_token

LATE = 2_000_000_000_000_000


@dataclass(frozen=True, kw_only=True)
class Site:
    """An agent of an account, whose turns are carried out without a host."""

    world: World
    accounts: Accounts
    account: str
    me: str

    def turn(self, run: str, tokens: int = 100, reservation: str = "t0") -> UsageReport:
        """Reserve a turn; return the report of its usage."""
        verdict = self.accounts.reserve(self.account, Wish(id=reservation, run=run, agent=self.me))
        assert verdict.verdict == "granted"
        used = UsageReport(tokens_in=tokens)
        return UsageReport(tokens_in=tokens, turn=BilledTurn(account=self.account, reservation=reservation, usage=used))

    def run(self) -> str:
        return self.world.create(chain("A"), agents={"A": self.me})

    def today(self) -> tuple[int, int, int]:
        shown = self.accounts.read(self.account)
        return shown["today"]["tokens_in"], shown["today"]["turns"], shown["in_flight"]


def site_of(world: World) -> Site:
    store, name = AccountStore(world.connections), uuid.uuid4().hex[:10]
    world.plane.admitting.admissions = AccountAdmissions(store)
    site = Site(
        world=world,
        accounts=Accounts(world.plane, store, Overviews(world.connections)),
        account=f"acc-{name}",
        me=f"me-{name}",
    )
    site.accounts.assign(site.me, site.account, is_hosted=True)
    return site


@pytest.fixture
def site(world: World) -> Site:
    return site_of(world)


def test_a_completion_settles_the_turn_that_it_reports(site: Site) -> None:
    run = site.run()
    token, used = site.world.acquire(run, "A", site.me), site.turn(run)
    for _ in range(2):  # the answer to the first was lost
        site.world.complete(run, "A", token, 1, usage=used)
    assert site.today() == (100, 1, 0)
    assert site.world.usages.of_run(run).total["tokens_in"] == 100
    assert site.world.ask("XLEN", RunKeys(run).spent) == 0


def test_the_bill_of_a_process_that_died_after_the_commit_is_settled_once(site: Site) -> None:
    run = site.run()
    token, used = site.world.acquire(run, "A", site.me), site.turn(run)
    site.world.plane.after_usage = None
    site.world.complete(run, "A", token, 1, usage=used)
    assert site.today() == (0, 0, 1)
    site.world.ask("ZADD", OWED, 1, run)  # a while ago
    for _ in range(2):
        UsageBooks(site.world.connections).settle_owed(LATE)
    assert site.today() == (100, 1, 0)
    assert site.world.ask("XLEN", RunKeys(run).spent) == 0
    assert site.world.ask("ZSCORE", OWED, run) is None


def test_a_bill_stays_in_the_run_until_its_account_has_answered(real: World) -> None:
    site = site_of(real)
    run = site.run()
    token, used = site.world.acquire(run, "A", site.me), site.turn(run)
    site.world.plane.after_usage = None
    site.world.complete(run, "A", token, 1, usage=used)
    site.world.connections.send(UsageBooks(site.world.connections).moving(run))
    assert site.world.ask("XLEN", RunKeys(run).spent) == 1
    site.world.usages.settle(run)
    assert site.world.ask("XLEN", RunKeys(run).spent) == 0
    assert site.today() == (100, 1, 0)


KINDS = ("tokens_in", "tokens_out", "tokens_cached", "tokens_cache_written")


@rows("used", [*({kind: 5} for kind in KINDS), {"cost": "0.250000001", "currency": "EUR"}])
def test_a_bill_of_a_dead_process_is_settled_whose_reservation_lapsed(site: Site, used: dict[str, Any]) -> None:
    run, before = site.run(), site.accounts.read(site.account)["today"]
    token, reservation = site.world.acquire(run, "A", site.me), uuid.uuid4().hex
    site.accounts.reserve(site.account, Wish(id=reservation, run=run, agent=site.me))
    site.world.plane.after_usage = None
    bill = BilledTurn(account=site.account, reservation=reservation, usage=read_report(used))
    site.world.complete(run, "A", token, 1, usage=replace(bill.usage, turn=bill))
    later = AccountStore(site.world.connections, clock=lambda: LATE)
    later.reserve(site.account, Wish(id=f"{reservation}-2", run=run, agent=site.me))
    site.world.usages.settle(run)
    site.world.usages.settle(run)
    done = later.settled(site.account, reservation)
    assert done is not None
    assert {name: getattr(done.used, name) for name in KINDS} | {"nanos": done.used.nanos} == {
        **dict.fromkeys(KINDS, 0),
        "nanos": bill.usage.nanos,
        **{name: amount for name, amount in used.items() if name in KINDS},
    }
    today = site.accounts.read(site.account)["today"]
    assert today["tokens_in"] - before["tokens_in"] == used.get("tokens_in", 0)
    assert site.world.ask("XLEN", RunKeys(run).spent) == 0


@rows("kind", [Connections, InSteps])
def test_a_report_with_a_bill_reaches_the_tree_and_the_account_once(
    real: World, real_pool: Pool, kind: type[Connections]
) -> None:
    site = site_of(real)
    head, reservation, before = site.run(), uuid.uuid4().hex, site.today()
    link = link_of(site.world.meta(head), head, "A", 1, "")
    child = site.world.create(chain("A"), agents={"A": site.me}, parent=link)
    token, used = site.world.acquire(child, "A", site.me), site.turn(child, reservation=reservation)
    site.world.plane.after_usage = None
    site.world.complete(child, "A", token, 1, usage=used)
    books = UsageBooks(kind(real_pool))
    if kind is Connections:
        site.world.connections.send(books.moving(child))
        assert books.of_runs([head]) == [{}], "the account has not answered yet"
    moved = [books.settle(child), books.settle(child)]
    assert [own.trees for own in moved] == [(head,), ()]
    assert books.of_runs([head])[0]["tree:tokens_in"] == 100
    assert site.today() == (before[0] + 100, before[1] + 1, before[2])
    assert site.world.ask("XLEN", RunKeys(child).spent) == 0


def test_the_turn_of_a_refused_completion_is_settled_all_the_same(site: Site) -> None:
    run = site.run()
    site.world.acquire(run, "A", site.me)
    used = site.turn(run)
    assert isinstance(site.world.try_complete(run, "A", new_token(), 1, usage=used), Refusal)
    assert site.today() == (100, 1, 0)
    assert site.world.usages.of_run(run).total == {}


def test_a_turn_costs_one_round_trip_with_an_account_and_none_without(
    worlds: Callable[..., World], counting: CountingPool
) -> None:
    site = site_of(worlds(pool=counting))

    def packets_of(agent: str, *, has_account: bool) -> int:
        run = site.world.create(chain("A"), agents={"A": agent})
        with counting.counted() as packets:
            token = site.world.acquire(run, "A", agent)
            used = site.turn(run, reservation=run) if has_account else UsageReport(tokens_in=100)
            site.world.complete(run, "A", token, 1, usage=used, owner=agent)
        return sum("HKEYS" not in packet for packet in packets)  # which reads the agents, each five seconds

    before = site.accounts.today(), packets_of("ann", has_account=False), packets_of(site.me, has_account=True)
    without, own = packets_of("ann", has_account=False), packets_of(site.me, has_account=True)
    assert own - without == 1, before
    site.world.plane.admitting.admissions = None
    assert packets_of("ann", has_account=False) == without


TURN: dict[str, Any] = {"account": "a", "reservation": "t", "usage": {"tokens_in": 5}}


@rows(
    "turn",
    [
        {},
        [],
        TURN | {"account": "a b"},
        TURN | {"reservation": ""},
        TURN | {"usage": {}},
        TURN | {"more": 1},
        TURN | {"usage": {"turn": TURN}},
    ],
)
def test_what_is_no_turn_is_rejected(turn: object) -> None:
    with pytest.raises(InvalidArgument):
        read_report({"tokens_in": 5, "turn": turn})


def test_a_turn_is_read_as_it_is_written() -> None:
    used = {"tokens_in": 9, "models": {"m-1": {"tokens_in": 8}, "m-2": {"tokens_cached": 3}}}
    report = read_report(used | {"turn": TURN | {"usage": used}})
    assert read_report(report.as_json()) == report


def test_models_that_use_more_together_than_a_report_may_are_rejected() -> None:
    with pytest.raises(InvalidArgument):
        read_report({"models": {"m-1": {"tokens_in": 10**12}, "m-2": {"tokens_in": 1}}})


def test_the_last_turn_stays_where_reports_become_one() -> None:
    (first, last) = (
        read_report({"tokens_in": 5, "model": "m", "turn": TURN | {"reservation": name}}) for name in ("t", "u")
    )
    assert first.with_more(last) == read_report({"tokens_in": 10, "model": "m", "turn": TURN | {"reservation": "u"}})
    assert first.with_more(UsageReport(tokens_in=1)).turn == first.turn
