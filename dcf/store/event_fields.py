"""A run's events as entries of its stream, and back.

Under full names a state's history took 255 bytes, now 155. In the stream the names are short, and all entries have the
same fields, the empty ones too: Redis then stores the names once per node of many entries. Whoever reads the history
sees full names. Entries of earlier versions, with full names, are read as well.
"""

from collections.abc import Mapping
from typing import Final

from dcf.core.decision import Event
from dcf.values.json_text import Json, dump, load

_TYPES: Final = {"StateEntered": "E", "LeaseAcquired": "L", "StateSucceeded": "S"}
_NAMES: Final = {"source": "f", "owner": "o", "attempt": "n"}
_FULL_TYPES: Final = {short: full for full, short in _TYPES.items()}
_FULL_NAMES: Final = {short: full for full, short in _NAMES.items()}


def write_event(event: Event, author: str | None) -> list[str | int]:
    """Return the fields and values of an entry: type, state, epoch, other data as JSON, and the caller if any."""
    data = event.data
    rest = {_NAMES.get(name, name): value for name, value in data.items() if name != "epoch"}
    told = dump(rest) if rest else ""
    fields = ["t", _TYPES.get(event.type, event.type), "s", event.state or "", "e", data.get("epoch", ""), "d", told]
    return fields if author is None else [*fields, "b", author]


def read_event(fields: Mapping[str, bytes]) -> tuple[Event, str | None]:
    """Return the event of an entry, and its author."""
    if "type" in fields:
        return _read_full(fields)
    type_, state, epoch, told = (fields.get(name, b"") for name in "tsed")
    rest = load(told) if told else {}
    data: dict[str, Json] = {"epoch": int(epoch)} if epoch else {}
    data |= {_FULL_NAMES.get(name, name): value for name, value in rest.items()}
    written = type_.decode()
    event = Event(type=_FULL_TYPES.get(written, written), state=_text(state or None), data=data)
    return event, _text(fields.get("b"))


def _read_full(fields: Mapping[str, bytes]) -> tuple[Event, str | None]:
    """Read an entry of a version that wrote full names."""
    data = fields.get("data")
    event = Event(
        type=fields["type"].decode(),
        state=_text(fields.get("state")),
        data={} if data is None else load(data),
    )
    return event, _text(fields.get("by"))


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode()
