"""The replica takes the place of its primary in the middle of a turn: with `wait_replicas` nothing answered is lost.

The process has a connection to the old primary left, which continues with old data.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcf.features.accounts import model
from dcf.features.accounts.model import Bill, LimitMet, Used, Wish
from dcf.features.accounts.storage import AccountStore
from dcf.store.connection.connections import Connections, open_pool
from dcf.values.records import replace
from tests.support.redis.replaced import Replaced, replaceable
from tests.support.tables import rows
from tests.support.world import new_token

ACCOUNT = "acc"
USED = Bill(id="t0", used=Used(tokens_in=900, tokens_out=70, nanos=250_000_001), currency="EUR")


@pytest.fixture
def replaced(short_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replaced]:
    monkeypatch.setattr("dcf.store.transaction.attempts._WAIT_MS", 100)
    with replaceable(short_directory / new_token()[-8:], tmp_path) as pair:
        yield pair


@pytest.fixture
def store(replaced: Replaced) -> Iterator[AccountStore]:
    connections = Connections(open_pool(replaced.proxy.url))
    yield AccountStore(connections, wait_replicas=1)
    connections.close()


def fail_over(replaced: Replaced) -> None:
    replaced.pause()
    replaced.go_on()


def wish(name: str = "t0") -> Wish:
    return Wish(id=name, run="r", agent="ann", tokens=1000)


STEPS: list[Callable[[AccountStore], object]] = [
    lambda store: store.reserve(ACCOUNT, wish()),
    lambda store: store.report(ACCOUNT, replace(USED, used=Used(tokens_in=400, nanos=100))),
    lambda store: store.report(ACCOUNT, USED),
    lambda store: store.report(ACCOUNT, replace(USED, ended=True, ok=True)),
]


@rows("number", range(len(STEPS) + 1))
def test_the_ledger_is_exact_whichever_step_a_failover_comes_before(
    replaced: Replaced, store: AccountStore, number: int
) -> None:
    store.put(ACCOUNT, {"in_flight": 1}, {"currency": "EUR"})
    for at, step in enumerate(STEPS):
        if at == number:
            fail_over(replaced)
        step(store)
    if number == len(STEPS):
        fail_over(replaced)
    there = AccountStore(replaced.new.connections)
    today = there.now() // model.DAY
    books = there.read(ACCOUNT, [today])
    amounts = {"tokens_in": 900, "tokens_out": 70, "cost:EUR": 250_000_001, "turns": 1}
    assert books.days == {today: amounts}
    assert (books.held, books.numbers["in_flight"], books.numbers["count"]) == ({}, 1, 0)


def turned_away(store: AccountStore) -> str:
    assert store.reserve(ACCOUNT, wish("another")).verdict == "granted"
    return "in_flight"


def closed(store: AccountStore) -> str:
    store.limit(ACCOUNT, LimitMet(until=store.now() + model.DAY, kind="limit", by="ann"))
    return "closed"


@rows("happens", [turned_away, closed])
def test_no_turn_starts_by_the_word_of_a_primary_whose_place_another_took(
    replaced: Replaced, store: AccountStore, happens: Callable[[AccountStore], str]
) -> None:
    store.put(ACCOUNT, {"in_flight": 1}, {})
    replaced.pause()
    expected = happens(AccountStore(replaced.new.connections))
    replaced.go_on()
    assert store.reserve(ACCOUNT, wish()).verdict == expected
