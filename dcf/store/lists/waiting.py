"""Goes through lists of what waits, across runs: sorted sets of `<run>/<state>` by since when it waits.

An entry may be stale, so a page is made of the documents of the states that entries name. The capability that keeps a
list says what waits, and takes entries off. This module never writes.
"""

from collections.abc import Callable, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Final, Generic, TypeVar

from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.listing.waiting import WaitingPlace
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.keys.parts import read_member
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.state_texts import read_text
from dcf.values.instants import SECOND
from dcf.values.records import record

Place = TypeVar("Place", bound=WaitingPlace)

BEING_OPENED: Final = 60 * SECOND
"""An entry younger than this may be of something that is just being opened."""

_SAME_TIME: Final = 10
"""Entries that may have the very time of a place, and are read besides."""

_FACTS: Final = ("status", "project")


@record(frozen=True, slots=True, kw_only=True)
class WaitingState(Generic[Place]):
    """A state of a running run that an entry names, the project of the run, and the reply to what was read besides."""

    place: Place
    workflow_id: str
    path: str
    doc: StateDoc
    project: str | None
    more: Reply


class WaitingLists(Generic[Place]):
    """The lists of one capability, whose places are of this kind."""

    def __init__(self, connections: Connections, kind: type[Place]) -> None:
        self._connections = connections
        self._kind = kind

    def entries(self, keys: Sequence[str], place: Place | None, count: int) -> tuple[list[Place], int]:
        """Return `count` entries after a place, of all these lists together, each once; and the server's time."""
        first = [_range(key, place, 0, count + _SAME_TIME) for key in keys]
        clock, *replies = self._connections.send(("TIME",), *first)
        pages = [self._enough(key, reply, place, count) for key, reply in zip(keys, replies, strict=True)]
        entries = merge(*pages, key=attrgetter("order"))
        return list(islice(dict.fromkeys(entries), count)), micros(clock)

    def states(
        self, places: Sequence[Place], more: Callable[[RunKeys, str, Place], Command]
    ) -> list[tuple[Place, WaitingState[Place] | None]]:
        """Return entries with their states, in one packet; None for a state that is not in a running run."""
        form, named = self._connections.form, [read_member(place.entry) for place in places]
        commands: list[Command] = []
        for place, (workflow_id, path) in zip(places, named, strict=True):
            run = RunKeys(workflow_id)
            commands += [form.members(run.meta, _FACTS), form.read(run.state(path)), more(run, path, place)]
        replies = self._connections.ask(*commands) if commands else []
        read = zip(places, named, replies[::3], replies[1::3], replies[2::3], strict=True)
        return [(place, self._state(place, *names, *reply)) for place, names, *reply in read]

    def _state(
        self, place: Place, workflow_id: str, path: str, meta: Reply, state: Reply, more: Reply
    ) -> WaitingState[Place] | None:
        form = self._connections.form
        facts = (None if isinstance(meta, Exception) else form.values(_FACTS, meta)) or {}
        text = None if isinstance(state, Exception) else form.text(state)
        doc = read_text(text) if facts.get("status") == RunStatus.RUNNING and text is not None else None
        if doc is None:
            return None
        project = facts.get("project")
        return WaitingState(place=place, workflow_id=workflow_id, path=path, doc=doc, project=project, more=more)

    def _enough(self, key: str, reply: list[bytes], place: Place | None, count: int) -> list[Place]:
        """Return `count` entries after the place, or all: more are read where many began to wait at its moment."""
        size = count + _SAME_TIME
        read = last = self._places(reply)
        while len(last) == size and len(_after(read, place)) < count:
            (further,) = self._connections.send(_range(key, place, len(read), size))
            last = self._places(further)
            read = read + last
        return _after(read, place)

    def _places(self, reply: list[bytes]) -> list[Place]:
        pairs = zip(reply[::2], reply[1::2], strict=True)
        return [self._kind(at=int(float(score)), entry=name.decode()) for name, score in pairs]


def _range(key: str, place: WaitingPlace | None, skipped: int, most: int) -> Command:
    low = "-inf" if place is None else str(place.at)
    return ("ZRANGE", key, low, "+inf", "BYSCORE", "LIMIT", skipped, most, "WITHSCORES")


def _after(places: list[Place], place: Place | None) -> list[Place]:
    return [entry for entry in places if place is None or entry.order > place.order]
