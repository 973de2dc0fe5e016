"""State documents as text: what a process keeps of them is what the text says."""

from typing import NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.core.documents.codec import read_state
from dcf.core.documents.model import Lease, StateDoc
from dcf.store.transaction import state_texts
from dcf.store.transaction.state_texts import read_text, write_text
from dcf.values.json_text import load
from tests.core.documents.test_codec import documents
from tests.support.workflows.machines import chain
from tests.support.world import World

released = st.builds(Lease, ts=st.integers(1, 2**50), ttl_s=st.integers(1, 3600), epoch=st.integers(0, 2**50))


@settings(max_examples=60)
@given(doc=documents | st.builds(StateDoc, lease=released))
def test_a_document_is_read_as_its_text_says_whether_it_is_parsed_or_kept(doc: StateDoc) -> None:
    text = write_text(doc)
    parsed = read_state(load(text))
    assert read_text(text) == parsed
    state_texts._records.clear()
    assert read_text(text) == parsed
    assert read_text(text) == parsed


def test_a_worker_that_goes_from_state_to_state_parses_none(real: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> NoReturn:
        raise AssertionError("the process wrote this document itself")

    run = real.create(chain("A", "B", "C"))
    token = real.acquire(run, "A")
    monkeypatch.setattr(state_texts, "read_state", refuse)
    for state in ("A", "B"):
        claimed = real.complete(run, state, token, {"n": 1}, claim_ttl_s=60).claimed
        assert claimed is not None
        token = claimed.doc.lease.token or ""


def test_what_another_process_or_a_hand_wrote_is_parsed() -> None:
    write_text(StateDoc(attempts=1))
    assert read_text(b'{"status":"done","attempts":2}') == read_state({"status": "done", "attempts": 2})
    assert read_text(b"null") is None


def test_only_so_many_documents_are_kept_and_no_long_ones() -> None:
    for number in range(3000):
        write_text(StateDoc(attempts=number))
    wide = StateDoc(waits_for={f"S{number}": 0 for number in range(1000)})
    write_text(wide)
    assert len(state_texts._records) <= 1024
    assert wide not in list(state_texts._records.values())
