"""A run's history: its event stream, read in pages. Reading never writes."""

from dataclasses import dataclass

from dcf.store.connection import Connections
from dcf.store.event_fields import read_event
from dcf.store.keys import RunKeys
from dcf.values.instants import to_text
from dcf.values.json_text import Json

_MILLISECOND = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One entry. Its stream id gives the order, `at` is the server's time, `by` the caller (None: dcf itself)."""

    event_id: str
    at: str
    type: str
    state: str | None
    data: dict[str, Json]
    by: str | None = None

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        author = {} if self.by is None else {"by": self.by}
        return {"id": self.event_id, "at": self.at, "type": self.type, "state": self.state, **self.data, **author}


class History:
    """The event streams of runs."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def after(self, workflow_id: str, event_id: str = "0", limit: int = 1000) -> list[Happening]:
        """Return the entries after this event, oldest first."""
        key = RunKeys(workflow_id).events
        (found,) = self._connections.send(("XRANGE", key, f"({event_id}", "+", "COUNT", limit))
        return [_happening(entry_id, fields) for entry_id, fields in found]

    def newest_before(self, workflow_id: str, event_id: str = "+", limit: int = 1000) -> list[Happening]:
        """Return the entries before this event, newest first."""
        key, last = RunKeys(workflow_id).events, event_id if event_id == "+" else f"({event_id}"
        (found,) = self._connections.send(("XREVRANGE", key, last, "-", "COUNT", limit))
        return [_happening(entry_id, fields) for entry_id, fields in found]


def _happening(entry_id: bytes, fields: list[bytes]) -> Happening:
    event, author = read_event(dict(zip(map(bytes.decode, fields[::2]), fields[1::2], strict=True)))
    event_id = entry_id.decode()
    return Happening(
        event_id=event_id,
        at=to_text(int(event_id.partition("-")[0]) * _MILLISECOND),
        type=event.type,
        state=event.state,
        data=dict(event.data),
        by=author,
    )
