"""A run's events as entries of its stream, and back: those of one commit are one entry, which is one command.

In the stream the names are short, and all entries have the same field, so that Redis stores its name once per node of
many entries. Readers of the history see full names, and events one by one. Entries of earlier versions, with an event
each, are read as well. This module must not read or write the stream.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dcf.core.documents.decision import Event
from dcf.values.json_text import Json, dump_bytes, load

MOST_TOGETHER: Final = 64
"""Events of one entry at most, so that a page of entries has a bounded size."""

_TYPES: Final = {"StateEntered": "E", "LeaseAcquired": "L", "StateSucceeded": "S"}
_NAMES: Final = {"source": "f", "owner": "o", "attempt": "n", "ttl_s": "t"}
_FULL_TYPES: Final = {short: full for full, short in _TYPES.items()}
_FULL_NAMES: Final = {short: full for full, short in _NAMES.items()}


def write_events(events: Sequence[Event], author: str | None) -> Iterator[list[str | bytes]]:
    """Yield the fields and values of entries: the events as JSON, and the caller if any."""
    for start in range(0, len(events), MOST_TOGETHER):
        fields: list[str | bytes] = ["v", dump_bytes(_together(events[start : start + MOST_TOGETHER]))]
        yield fields if author is None else [*fields, "b", author]


def read_events(fields: Mapping[str, bytes]) -> tuple[list[Event], str | None]:
    """Return the events of an entry, and their author."""
    if "v" in fields:
        return list(_apart(load(fields["v"]))), _text(fields.get("b"))
    if "type" in fields:
        return [_read_full(fields)], _text(fields.get("by"))
    type_, state, epoch, data_text = (fields.get(name, b"") for name in "tsed")
    event = _read(type_.decode(), state.decode(), int(epoch) if epoch else None, load(data_text) if data_text else {})
    return [event], _text(fields.get("b"))


def _together(events: Sequence[Event]) -> list[Json]:
    """Return type, state, epoch and other data of each event, without the data if there are none.

    An epoch (null for none) is written as its distance from the one before, which is small.
    """
    written, before = [], 0
    for event in events:
        data, epoch = event.data, event.data.get("epoch")
        parts = [_TYPES.get(event.type, event.type), event.state or "", None if epoch is None else epoch - before]
        rest: dict[str, Json] = {}
        for name, value in data.items():
            if name != "epoch":
                rest[_NAMES.get(name, name)] = value
        written.append([*parts, rest] if rest else parts)
        before = epoch or before
    return written


def _apart(written: list[list[Json]]) -> Iterator[Event]:
    """Yield what `_together` wrote."""
    before = 0
    for type_, state, distance, *rest in written:
        epoch = None if distance is None else before + distance
        before = epoch or before
        yield _read(type_, state, epoch, *rest)


def _read(type_: str, state: str, epoch: int | None, rest: Mapping[str, Json] | None = None) -> Event:
    data: dict[str, Json] = {} if epoch is None else {"epoch": epoch}
    data |= {_FULL_NAMES.get(name, name): value for name, value in (rest or {}).items()}
    return Event(type=_FULL_TYPES.get(type_, type_), state=state or None, data=data)


def _read_full(fields: Mapping[str, bytes]) -> Event:
    """Read the event of an entry of a version that wrote full names."""
    data = fields.get("data")
    return Event(
        type=fields["type"].decode(),
        state=_text(fields.get("state")),
        data={} if data is None else load(data),
    )


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
