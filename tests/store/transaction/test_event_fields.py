"""Entries of a history: of a commit together, full for readers, and those of earlier versions are read as well."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dcf.core.documents.decision import Event
from dcf.store.transaction.event_fields import MOST_TOGETHER, read_events, write_events
from dcf.values.json_text import dump
from tests.support.tables import rows

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
values: st.SearchStrategy[Any] = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts | st.lists(texts)
names = st.sampled_from(["source", "owner", "attempt", "error", "states", "reason"])
events = st.builds(
    Event,
    type=st.sampled_from(["StateEntered", "LeaseAcquired", "StateSucceeded", "RunFailed"]),
    state=st.none() | texts,
    data=st.dictionaries(names, values) | st.fixed_dictionaries({"epoch": st.integers(0, 2**53), "source": texts}),
)


def stored(fields: list[str | bytes]) -> dict[str, bytes]:
    """Return the fields of an entry as Redis gives them back."""
    texts = [part if isinstance(part, bytes) else part.encode() for part in fields]
    return {name.decode(): value for name, value in zip(texts[::2], texts[1::2], strict=True)}


@settings(max_examples=100)
@given(written=st.lists(events, min_size=1, max_size=5), author=st.none() | texts)
def test_the_events_of_a_commit_come_back_from_one_entry_as_they_were_written(
    written: list[Event], author: str | None
) -> None:
    (entry,) = write_events(written, author)
    assert read_events(stored(entry)) == (written, author)


def test_very_many_events_are_several_entries() -> None:
    many = [Event(type="StateEntered", state=f"S{number}") for number in range(2 * MOST_TOGETHER + 1)]
    entries = [stored(entry) for entry in write_events(many, None)]
    assert len(entries) == 3
    assert [event for entry in entries for event in read_events(entry)[0]] == many
    assert not list(write_events([], None))


def test_all_entries_without_an_author_have_the_same_fields() -> None:
    """Redis stores the names of fields once for a row of entries that agree in them."""
    entered = Event(type="StateEntered", state="B", data={"epoch": 7, "source": "A"})
    leased = Event(type="LeaseAcquired", state="B", data={"epoch": 9})
    started = Event(type="RunStarted")
    (fields,) = write_events([entered, started, leased], None)
    assert fields == ["v", b'[["E","B",7,{"f":"A"}],["RunStarted","",null],["L","B",2]]']


@rows("author", [None, "ann"])
def test_an_entry_of_an_earlier_version_reads_the_same(author: str | None) -> None:
    event = Event(type="LeaseAcquired", state="A", data={"epoch": 7, "owner": "w", "attempt": 1})
    full = {"type": b"LeaseAcquired", "state": b"A", "data": dump(dict(event.data)).encode()}
    fields = full if author is None else full | {"by": author.encode()}
    assert read_events(fields) == ([event], author)
    assert read_events({"type": b"RunSucceeded"}) == ([Event(type="RunSucceeded")], None)
    together = {"v": b'[["E","A",7],["L","A",0],["S","A",0]]'}
    assert [event.type for event in read_events(together)[0]] == ["StateEntered", "LeaseAcquired", "StateSucceeded"]
    short = {"t": b"L", "s": b"A", "e": b"7", "d": b'{"o":"w","n":1}'}
    assert read_events(short if author is None else short | {"b": author.encode()}) == ([event], author)
    assert read_events({"t": b"RunStarted", "s": b"", "e": b"", "d": b""}) == ([Event(type="RunStarted")], None)
