"""The words with which tests read and change stored documents: each does the same on a document of every shape."""

import secrets

import pytest

from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from tests.support.redis.documents import (
    add_to_member,
    change_document,
    chosen_form,
    is_document,
    read_document,
    read_member,
    read_text,
    read_texts,
    set_member,
    write_document,
)
from tests.support.tables import rows
from tests.support.world import World

RUN = RunKeys(f"t-{secrets.token_hex(6)}")
SHAPES = {
    "state": RUN.state("A"),
    "meta": RUN.meta,
    "agent": keys.agent(f"agent-{secrets.token_hex(6)}"),
    "definition": RUN.definition,
}
DOCUMENT = {
    "status": "running",
    "agents": {"Check, v1.2": ["w"], "B": None},
    "open": [{"due": 1}, {"due": 2.5}],
    "number": 2**63 - 1,
    "empty": {},
    "text": "a\u2028\u00fc\x01",
}


@rows("key", SHAPES.values(), ids=SHAPES)
def test_a_document_is_read_as_it_was_written(real: World, key: str) -> None:
    assert read_document(real.ask, key) is None
    assert not is_document(real.ask, key)
    write_document(real.ask, key, DOCUMENT)
    assert read_document(real.ask, key) == DOCUMENT
    assert is_document(real.ask, key)
    assert read_member(real.ask, key, ("open", 1, "due")) == 2.5
    real.ask("DEL", key)


@rows("key", SHAPES.values(), ids=SHAPES)
def test_one_member_is_changed_and_no_other(real: World, key: str) -> None:
    write_document(real.ask, key, DOCUMENT)
    set_member(real.ask, key, "status", "failed")
    set_member(real.ask, key, "new", [1])
    set_member(real.ask, key, ("agents", "Check, v1.2"), "x")
    add_to_member(real.ask, key, ("open", 0, "due"), -4)
    assert read_document(real.ask, key) == DOCUMENT | {
        "status": "failed",
        "agents": {"Check, v1.2": "x", "B": None},
        "open": [{"due": -3}, {"due": 2.5}],
        "new": [1],
    }
    real.ask("DEL", key)


@rows("key", SHAPES.values(), ids=SHAPES)
def test_a_changed_document_keeps_its_expiry(real: World, key: str) -> None:
    write_document(real.ask, key, DOCUMENT)
    real.ask("EXPIRE", key, 3600)
    change_document(real.ask, key, dict.clear)
    set_member(real.ask, key, "status", "failed")
    assert read_document(real.ask, key) == {"status": "failed"}
    assert real.ask("TTL", key) > 0
    real.ask("DEL", key)


def test_a_member_of_what_is_not_there_is_an_error(real: World) -> None:
    key = RUN.state("B")
    write_document(real.ask, key, DOCUMENT)
    with pytest.raises(AssertionError, match="has no place"):
        set_member(real.ask, key, ("lease", "expires_at"), None)
    with pytest.raises(AssertionError, match="holds no document"):
        change_document(real.ask, RUN.state("C"), dict.clear)
    real.ask("DEL", key)


def test_several_are_read_at_once(real: World) -> None:
    first, second = RUN.state("A"), RUN.state("D")
    write_document(real.ask, first, DOCUMENT)
    assert read_texts(real.ask, [second, first]) == [None, read_text(real.ask, first)]
    real.ask("DEL", first)


def test_what_is_no_form_is_refused() -> None:
    with pytest.raises(ValueError, match="Set it to json or text"):
        chosen_form("xml")
