"""A script of a single server is done in steps where its keys are in several slots, with the same outcome.

These tests take the steps on a single server, which does not need them; a cluster's own are in the store's contract.
"""

from typing import TYPE_CHECKING

import pytest

from dcf.core.access.model import LOCAL
from dcf.core.access.quotas import Account, Quotas
from dcf.core.definitions.model import read_definition
from dcf.core.lifecycle.starting import Reference
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits
from dcf.features.usage.storage import UsageBooks
from dcf.store.access.authors import authored_by
from dcf.store.access.counting import CountedDocument, hold, new_mark, owned, settle
from dcf.store.access.quotas import QuotaUsage
from dcf.store.connection.connections import Connections, Pool
from dcf.store.keys import table as keys
from dcf.store.keys.parts import encode_state
from dcf.store.keys.table import RunKeys
from dcf.store.lists.definitions import KeptDefinitions
from dcf.store.lists.elsewhere import LOOK, ask
from dcf.store.transaction.usage_sums import OWED
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from tests.support.workflows.machines import chain
from tests.support.world import new_token

if TYPE_CHECKING:
    from dcf.store.connection.commands import Command

OWNER = "0123456789ab"


class InSteps(Connections):
    """Connections to a single server, as if its keys were in several slots."""

    shards = 16


@pytest.fixture
def split(real_pool: Pool) -> Connections:
    return InSteps(real_pool)


def write(split: Connections, key: str, document: Json, account: Account | None = None) -> Refusal | None:
    written = EditedDocument(document=document, receipt={"done": True}, life_s=60, keep_s=600)
    with authored_by(f"key:{OWNER}" if account else "local", account):
        return Edits(split).transact(key, new_token(), lambda _: EditOutcome(answer=None, written=written))


def account(owner: str, **quotas: int) -> Account:
    return Account(key_id=owner, quotas=Quotas(**quotas))


def bytes_of(split: Connections, owner: str) -> int:
    (result,) = split.send(("HGET", keys.quota(owner), "bytes"))
    return int(result or 0)


# Looks


def test_a_script_is_given_what_it_looks_at_elsewhere(split: Connections) -> None:
    here, there = f"doc:{new_token()}", f"doc:{new_token()}"
    split.send(("SET", there, "what is there"))
    script = f"{LOOK} local found = look('m', 'GET', ARGV[1]) return unseen() or redis.call('SET', KEYS[1], found)"
    ask(split, ("EVAL", script, 1, here, there))
    assert split.send(("GET", here)) == [b"what is there"]


def test_other_commands_go_with_scripts_that_look(split: Connections) -> None:
    script = f"{LOOK} local is_there = look('m', 'EXISTS', ARGV[1]) return unseen() or is_there"
    key = f"doc:{new_token()}"
    assert ask(split, ("SET", key, "1"), ("EVAL", script, 1, key, key), ("GET", key)) == [b"OK", 1, b"1"]


def test_a_reply_counts_only_while_what_it_is_about_is_the_same(split: Connections) -> None:
    entry, there = f"doc:{new_token()}", f"doc:{new_token()}"
    split.send(("SET", entry, "1"), ("SET", there, "old"))
    script = f"""{LOOK}
        local mark = redis.call('GET', KEYS[1])
        local found = look(mark, 'GET', ARGV[1])
        if mark == '1' then redis.call('SET', KEYS[1], '2') end
        return unseen() or {{mark, found}}"""
    assert ask(split, ("EVAL", script, 1, entry, there)) == [[b"2", b"old"]]


def test_a_script_that_asks_for_ever_is_a_mistake(split: Connections) -> None:
    script = f"{LOOK} look(redis.call('HINCRBY', KEYS[1], 'n', 1), 'EXISTS', KEYS[1]) return unseen()"
    with pytest.raises(AssertionError, match="without end"):
        ask(split, ("EVAL", script, 1, f"doc:{new_token()}"))


# Documents


def test_a_document_counts_with_its_size_until_it_is_gone(split: Connections) -> None:
    owner, key = new_token()[-12:], f"doc:{new_token()}"
    assert write(split, key, {"n": 1}, account(owner)) is None
    assert bytes_of(split, owner) == len('{"n":1}')
    assert write(split, key, {"text": "longer"}, account(owner)) is None
    assert bytes_of(split, owner) == len('{"text":"longer"}')
    assert QuotaUsage(split).of(owner).documents == 1
    assert write(split, key, MISSING, account(owner)) is None
    assert (bytes_of(split, owner), QuotaUsage(split).of(owner).documents) == (0, 0)


def test_a_document_beyond_the_quotas_is_refused_and_leaves_nothing(split: Connections) -> None:
    owner, key = new_token()[-12:], f"doc:{new_token()}"
    refused = write(split, key, {"text": "x" * 100}, account(owner, stored_bytes=50))
    assert refused is not None
    assert split.send(("EXISTS", key)) == [0]
    assert (bytes_of(split, owner), QuotaUsage(split).of(owner).documents) == (0, 0)


def test_who_writes_a_document_owns_it(split: Connections) -> None:
    first, second, key = new_token()[-12:], new_token()[:12], f"doc:{new_token()}"
    write(split, key, {"n": 1}, account(first))
    write(split, key, {"n": 2}, account(second))
    assert (bytes_of(split, first), bytes_of(split, second)) == (0, len('{"n":2}'))


def test_after_a_crash_a_key_seems_to_hold_more_and_the_next_write_mends_it(split: Connections) -> None:
    owner, key = new_token()[-12:], f"doc:{new_token()}"
    write(split, key, {"n": 1}, account(owner))
    counted_document = CountedDocument(key=key, owner=owner, size=500, life_s=60)
    assert hold(split, counted_document, account(owner), new_mark()) is None  # and then its process died
    assert bytes_of(split, owner) == 500
    write(split, key, {"n": 2}, account(owner))
    assert bytes_of(split, owner) == len('{"n":2}')


def test_of_two_writers_at_once_the_later_one_decides_what_is_counted(split: Connections) -> None:
    owner, key = new_token()[-12:], f"doc:{new_token()}"
    first, second = new_mark(), new_mark()
    hold(split, CountedDocument(key=key, owner=owner, size=30, life_s=0), None, first)
    hold(split, CountedDocument(key=key, owner=owner, size=20, life_s=0), None, second)
    settle(split, key, owner, 30, first)
    assert bytes_of(split, owner) == 30
    settle(split, key, owner, 20, second)
    assert bytes_of(split, owner) == 20


# Definitions


def test_a_definition_is_kept_found_and_counted_once(split: Connections) -> None:
    definition = read_definition(chain("A") | {"workflow_name": f"steps-{new_token()[-8:]}"})
    owner = new_token()[-12:]
    for _ in range(2):
        with authored_by(f"key:{owner}", account(owner)):
            assert KeptDefinitions(split).keep(definition) is None
    position = KeptDefinitions(split).find(Reference(name=definition.name))
    assert position == definition.identity
    assert QuotaUsage(split).of(owner).documents == 1
    own = owned(split, keys.definition(definition.sha256))
    assert own is not None
    assert (own.owner, own.size) == (owner, bytes_of(split, owner))


def test_a_definition_beyond_the_quotas_is_not_kept(split: Connections) -> None:
    definition = read_definition(chain("A") | {"workflow_name": f"steps-{new_token()[-8:]}"})
    owner = new_token()[-12:]
    with authored_by(f"key:{owner}", account(owner, documents=0)):
        assert KeptDefinitions(split).keep(definition) is not None
    assert KeptDefinitions(split).find(Reference(name=definition.name)) is None


# Usage


def owe(split: Connections, run: RunKeys, agent: str, tokens: int) -> None:
    fields = ("state", encode_state("A"), "agent", agent, "day", "2026-01-01", "tokens", tokens, "reports", 1)
    noted: Command = ("ZADD", OWED, 1, run.workflow_id)
    split.send(noted, ("XADD", run.spent, "*", *fields))


def test_reports_are_moved_to_the_books_once(split: Connections) -> None:
    run, agent, books = RunKeys(f"t-{new_token()[-12:]}"), f"agent-{new_token()[-8:]}", UsageBooks(split)
    owe(split, run, agent, 10)
    owe(split, run, agent, 5)
    books.settle(run.workflow_id)
    books.settle(run.workflow_id)
    assert books.book("agent", agent, ["2026-01-01"]) == (
        {"tokens": 15, "reports": 2},
        {"2026-01-01": {"tokens": 15, "reports": 2}},
    )
    assert books.parts(run.workflow_id)["agents"][agent] == {"tokens": 15, "reports": 2}
    assert split.send(("ZSCORE", OWED, run.workflow_id)) == [None]


def test_a_report_in_the_book_whose_mover_dies_is_added_to_the_run_alone(split: Connections) -> None:
    run, agent, books = RunKeys(f"t-{new_token()[-12:]}"), f"agent-{new_token()[-8:]}", UsageBooks(split)
    owe(split, run, agent, 10)
    (((entry_id, fields),),) = split.send(("XRANGE", run.spent, "-", "+"))
    books.settle(run.workflow_id)
    split.send(("DEL", run.spent, run.usage_parts), ("XADD", run.spent, entry_id, *fields))  # as if it had died between
    books.settle(run.workflow_id)
    assert books.book("agent", agent)[0] == {"tokens": 10, "reports": 1}
    assert books.parts(run.workflow_id)["agents"][agent] == {"tokens": 10, "reports": 1}


def test_what_nobody_with_a_key_writes_is_counted_for_the_local_user(split: Connections) -> None:
    key = f"doc:{new_token()}"
    write(split, key, {"n": 1})
    own = owned(split, key)
    assert own is not None
    assert own.owner == LOCAL
