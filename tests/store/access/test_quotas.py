"""Counting what API keys use, where Redis is full, replaced, or restarted: a call is answered, and nothing is lost."""

import secrets
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dcf.core.access.model import Scope
from dcf.core.access.quotas import Account, Quotas
from dcf.errors import StoreUnavailable
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits
from dcf.store.access.api_keys import AccessKeys
from dcf.store.access.authors import authored_by
from dcf.store.access.quotas import QuotaUsage, charge, forget_run, receipt_command
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.embedded import server as embedded
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.redis.documents import write_many_command
from tests.support.redis.servers import redis_server
from tests.support.workflows.machines import chain
from tests.support.world import World

ACCOUNT = Account(key_id="0123456789ab", quotas=Quotas())


@pytest.fixture
def lonely(tmp_path: Path) -> Iterator[Connections]:
    """A Redis of its own, whose memory a test may fill."""
    with redis_server(tmp_path) as port:
        connections = Connections(open_pool(f"redis://127.0.0.1:{port}"))
        yield connections
        connections.close()


def _fill(connections: Connections) -> None:
    connections.send(("CONFIG", "SET", "maxmemory", "1"))


def _write(connections: Connections, name: str, document: Json, account: Account | None = ACCOUNT) -> Refusal | None:
    written = EditedDocument(document=document, receipt={}, life_s=60)
    with authored_by("key:0123456789ab", account):
        return Edits(connections).transact(name, name, lambda _: EditOutcome(answer=None, written=written))


def _new_key(connections: Connections) -> str:
    return AccessKeys(connections).create((Scope.READ,), agent_id=None, label=None, life_s=None).text


def test_where_redis_is_full_a_key_is_known_although_its_calls_are_not_counted(lonely: Connections) -> None:
    text = _new_key(lonely)
    _fill(lonely)
    caller = AccessKeys(lonely).admit(text)
    assert caller is not None
    assert caller.account is not None
    assert not caller.account.was_counted
    lonely.send(("CONFIG", "SET", "maxmemory", "0"))
    caller = AccessKeys(lonely).admit(text)
    assert caller is not None
    assert caller.account is not None
    assert caller.account.was_counted


def test_where_redis_is_full_documents_can_be_deleted_and_none_is_written(lonely: Connections) -> None:
    assert _write(lonely, "doc:a", {"n": 1}) is None
    _fill(lonely)
    with pytest.raises(StoreUnavailable, match="its memory is full"):
        _write(lonely, "doc:b", {"n": 1})
    assert _write(lonely, "doc:a", MISSING) is None
    assert lonely.send(("EXISTS", "doc:a"), ("EXISTS", "doc:b")) == [0, 0]
    assert lonely.send(("HGET", keys.quota(ACCOUNT.key_id), "bytes")) == [None]
    assert QuotaUsage(lonely).of(ACCOUNT.key_id).documents == 0


def test_a_document_beyond_a_smaller_quota_may_shrink_and_may_not_grow(lonely: Connections) -> None:
    """As where an operator took some of a key's quota back."""
    assert _write(lonely, "doc:a", {"text": "x" * 100}) is None
    small = Account(key_id=ACCOUNT.key_id, quotas=Quotas(stored_bytes=50))
    assert _write(lonely, "doc:a", {"text": "x" * 90}, account=small) is None
    refused = _write(lonely, "doc:a", {"text": "x" * 91}, account=small)
    assert refused is not None
    assert refused.code == "quota_exceeded"


def test_receipts_count_as_bytes_until_they_expire(lonely: Connections) -> None:
    """So that small changes, each with a request id of its own, do not fill Redis."""
    written = EditedDocument(document={"n": 1}, receipt={"digest": "x" * 100}, life_s=3600)
    small, usage = Account(key_id=ACCOUNT.key_id, quotas=Quotas(stored_bytes=500)), QuotaUsage(lonely)

    def change(number: int) -> Refusal | None:
        name = f"doc:{number}"
        with authored_by("key:0123456789ab", small):
            return Edits(lonely).transact(name, name, lambda _: EditOutcome(answer=None, written=written))

    assert [change(number) is None for number in range(5)] == [True] * 4 + [False]
    listed = keys.quota(ACCOUNT.key_id, "receipts")
    for item in lonely.send(("ZRANGE", listed, 0, -1))[0]:
        lonely.send(("ZADD", listed, 1, item))  # an hour passes
    assert change(5) is None
    assert usage.of(ACCOUNT.key_id).stored_bytes < 250
    before = usage.of(ACCOUNT.key_id).stored_bytes
    for _ in range(2):
        lonely.send(receipt_command("receipt", "1234567890", 60, small))
    assert usage.of(ACCOUNT.key_id).stored_bytes == before + 17, "the same receipt is counted once"
    for item in lonely.send(("ZRANGE", listed, 0, -1))[0]:
        lonely.send(("ZADD", listed, 1, item))
    lonely.send(charge(lonely.form, RunKeys("run-1"), [], 1, small))
    assert usage.of(ACCOUNT.key_id).stored_bytes == 5 * len('{"n":1}'), "any write finds what expired"


def test_a_redis_that_forgot_every_script_counts_on(lonely: Connections) -> None:
    """As a server that replaced another: the scripts are sent, not named by their digests."""
    text = _new_key(lonely)
    lonely.send(("SCRIPT", "FLUSH"))
    assert AccessKeys(lonely).admit(text) is not None
    lonely.send(("SCRIPT", "FLUSH"))
    assert _write(lonely, "doc:a", {"n": 1}) is None


def test_what_is_left_of_a_rate_is_never_waited_for_on_a_disk(tmp_path: Path) -> None:
    """So that a call which only reads costs no sync of the append-only file."""
    with embedded.start(tmp_path) as server:
        connections = Connections(open_pool(server.url))
        text = _new_key(connections)
        for _ in range(3):
            AccessKeys(connections).admit(text)
        key_id = text.split("_")[1]
        assert connections.send(("EXISTS", keys.rate(key_id))) == [1]
        _write(connections, "doc:marker", {"n": 1})
        connections.close()
    (written,) = tmp_path.glob("appendonlydir/*.incr.aof")
    assert b"doc:marker" in written.read_bytes()
    assert keys.rate(key_id).encode() not in written.read_bytes()


def test_a_write_of_the_local_user_is_counted_for_nobody(lonely: Connections) -> None:
    assert _write(lonely, "doc:a", {"n": 1}) is None
    assert _write(lonely, "doc:a", {"n": 2}, account=None) is None
    assert QuotaUsage(lonely).of(ACCOUNT.key_id).documents == 0
    none = Account(key_id="0123456789ab", quotas=Quotas(documents=0))
    refused = _write(lonely, "doc:a", {"n": 3}, account=none)
    assert refused is not None
    assert refused.code == "quota_exceeded"


def test_a_call_of_a_key_sends_no_packet_more_and_one_command_less(
    counting: CountingPool, onlooker: Connections
) -> None:
    """Looking the key up took two commands; now it is counted in one, and a write has one more."""
    world = World(connections=Connections(counting), onlooker=onlooker)
    text = _new_key(world.connections)
    with counting.counted() as looked_up:
        AccessKeys(world.connections).admit(text)
    assert looked_up == [["EVAL"]]
    run, account = world.create(chain("A")), replace(ACCOUNT, key_id=text.split("_")[1])
    world.plane.run(run)
    holding: dict[str, list[list[str]]] = {}
    for person in (None, account):
        with authored_by("somebody", person):
            token = world.acquire(run, "A")
            with counting.counted() as holding[str(person)]:
                world.renew(run, "A", token)
            world.release(run, "A", token)
    alone, keyed = holding.values()
    assert keyed == [alone[0], ["EVAL", *alone[1]]]
    world.close()


def test_a_run_of_a_key_is_made_in_as_many_packets_as_one_of_the_local_user(
    counting: CountingPool, onlooker: Connections
) -> None:
    world = World(connections=Connections(counting), onlooker=onlooker)
    made: list[list[list[str]]] = []
    for account in (None, ACCOUNT):
        with authored_by("somebody", account), counting.counted() as packets:
            world.create(chain("A"))
        made.append(packets)
    assert len(made[0]) == len(made[1])
    assert sum(map(len, made[1])) == sum(map(len, made[0])) + 2, "one says that there is room, one counts the data"
    world.close()


def test_data_that_is_announced_twice_is_counted_once(real_connections: Connections) -> None:
    """As when a commit lost a race and is tried again."""
    account = Account(key_id=secrets.token_hex(6), quotas=Quotas())
    run = RunKeys(f"run-{secrets.token_hex(6)}")

    def announce(output: str, **more: Command) -> int:
        commands: list[Command] = [write_many_command({run.output("A"): output, run.state("A"): "{}"})]
        real_connections.send(charge(real_connections.form, run, [*commands, *more.values()], 1, account))
        return QuotaUsage(real_connections).of(account.key_id).stored_bytes

    assert [announce('"12345678"'), announce('"12345678"'), announce('"123"')] == [10, 10, 5]
    assert announce('"é"', and_another=write_many_command({run.input("B"): "1"})) == 5
    real_connections.send(charge(real_connections.form, run, [("DEL", run.output("A"), run.join("A"))], 0, account))
    assert QuotaUsage(real_connections).of(account.key_id).stored_bytes == 1
    real_connections.send(forget_run(account.key_id, run.workflow_id))
    assert QuotaUsage(real_connections).of(account.key_id).stored_bytes == 0
