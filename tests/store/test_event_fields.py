"""Entries of a history: short in the stream, full for readers, and those of earlier versions are read as well."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.core.decision import Event
from dcf.store.event_fields import read_event, write_event
from dcf.values.json_text import dump

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
values: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts | st.lists(texts)
names = st.sampled_from(["source", "owner", "attempt", "error", "states", "reason"])
events = st.builds(
    Event,
    type=st.sampled_from(["StateEntered", "LeaseAcquired", "StateSucceeded", "RunFailed"]),
    state=st.none() | texts,
    data=st.dictionaries(names, values) | st.fixed_dictionaries({"epoch": st.integers(0, 2**53), "source": texts}),
)


def stored(event: Event, author: str | None) -> dict[str, bytes]:
    """Return the fields of an entry as Redis gives them back."""
    fields = write_event(event, author)
    return {str(name): str(value).encode() for name, value in zip(fields[::2], fields[1::2], strict=True)}


@settings(max_examples=100)
@given(event=events, author=st.none() | texts)
def test_an_event_comes_back_as_it_was_written(event: Event, author: str | None) -> None:
    assert read_event(stored(event, author)) == (event, author)


def test_all_entries_without_an_author_have_the_same_fields() -> None:
    """Redis stores the names of fields once for a row of entries that agree in them."""
    entered = Event(type="StateEntered", state="B", data={"epoch": 7, "source": "A"})
    assert write_event(entered, None) == ["t", "E", "s", "B", "e", 7, "d", '{"f":"A"}']
    assert write_event(Event(type="RunStarted"), None) == ["t", "RunStarted", "s", "", "e", "", "d", ""]


@pytest.mark.parametrize("author", [None, "ann"])
def test_an_entry_of_an_earlier_version_reads_the_same(author: str | None) -> None:
    event = Event(type="LeaseAcquired", state="A", data={"epoch": 7, "owner": "w", "attempt": 1})
    full = {"type": b"LeaseAcquired", "state": b"A", "data": dump(dict(event.data)).encode()}
    told = full if author is None else full | {"by": author.encode()}
    assert read_event(told) == (event, author)
    assert read_event({"type": b"RunSucceeded"}) == (Event(type="RunSucceeded"), None)
