"""Single documents: no change is lost, none is made twice, whatever happens to the connection."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest

from dcf.errors import StoreUnavailable, StoreUnsuitable
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.documents import Documents, Verdict
from tests.support.racing import race
from tests.support.redis.proxy import Fault, Proxy
from tests.support.tables import rows
from tests.support.world import World


def new_key() -> str:
    return f"cp:idx:skills:t-{secrets.token_hex(6)}"


def add_one(document: Any, _: int) -> Verdict[int]:
    count = (document or {"count": 0})["count"] + 1
    return Verdict(answer=count, changed=True, write={"count": count})


def test_a_document_is_made_changed_and_deleted(world: World) -> None:
    key, documents = new_key(), world.documents
    assert documents.read(key)[0] is None
    assert documents.transact(key, add_one) == 1
    assert documents.transact(key, add_one) == 2
    assert documents.transact(key, lambda answer, _: Verdict(answer=answer)) == {"count": 2}
    assert documents.read(key)[0] == {"count": 2}
    documents.transact(key, lambda _, __: Verdict(answer=None, changed=True))
    assert world.ask("EXISTS", key) == 0


def test_eight_writers_lose_no_change(real: World) -> None:
    key = new_key()
    race(8, lambda _: [real.documents.transact(key, add_one) for _ in range(10)])
    assert real.documents.read(key)[0] == {"count": 80}


def test_a_decision_is_given_the_server_s_time_and_may_let_the_document_expire(real: World) -> None:
    key = new_key()
    first = real.documents.transact(key, lambda _, now: Verdict(answer=now, changed=True, write={}, life_s=60))
    assert first <= real.documents.read(key)[1]
    assert 0 < real.ask("TTL", key) <= 60


def test_a_decision_that_raises_writes_nothing(real: World) -> None:
    key = new_key()
    with pytest.raises(ZeroDivisionError):
        real.documents.transact(key, lambda _, now: Verdict(answer=now // 0, changed=True, write={}))
    assert real.ask("EXISTS", key) == 0
    assert real.documents.transact(key, add_one) == 1


def test_a_key_of_another_type_is_a_clear_error(real: World) -> None:
    key = new_key()
    real.ask("SET", key, "x")
    with pytest.raises(StoreUnsuitable):
        real.documents.transact(key, add_one)


@pytest.mark.usefixtures("impatient")
@rows("fault", list(Fault))
def test_a_decision_that_knows_its_own_mark_is_applied_once_through_any_fault(
    worlds: Callable[..., World], proxy: Proxy, fault: Fault
) -> None:
    key, mark = new_key(), secrets.token_hex(4)

    def once(document: Any, _: int) -> Verdict[list[str]]:
        marks = (document or {"marks": []})["marks"]
        if mark in marks:
            return Verdict(answer=marks)
        return Verdict(answer=[*marks, mark], changed=True, write={"marks": [*marks, mark]})

    proxy.plan(fault)
    assert worlds(proxy.url).documents.transact(key, once) == [mark]
    assert proxy.is_spent


def test_a_store_that_is_gone_is_named(short_directory: Any) -> None:
    documents = Documents(Connections(open_pool(f"unix://{short_directory}/nobody.sock")))
    with pytest.raises(StoreUnavailable):
        documents.read("cp:idx:skills:x")
