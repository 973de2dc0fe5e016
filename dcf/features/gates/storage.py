"""The lists of outputs that wait for verdicts, across runs: by agent, person and group, and of what anybody may judge.

`cp:idx:gates:agent:<id>`, `:person:<id>`, `:group:<name>` and `:any` are sorted sets of `<run>/<state>` by since when
the output waits. An entry is written just before the commit that opens the gate, so that none is missing, and taken off
after the one that closes it. If the process dies between, the next reader of the list takes it off.
"""

from collections.abc import Iterator, Mapping, Sequence
from heapq import merge
from itertools import islice
from typing import Final

from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.listing.checks import ListKind
from dcf.features.gates.listing import ANY, GatePlace, GateQuery
from dcf.features.gates.model import RECORDS, GateRecord, Records, open_gates, read_record, submission_of, write_record
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import micros
from dcf.store.extensions import PartRow, StateLists
from dcf.store.forms.form import DocumentForm
from dcf.store.keys.parts import encode_state, member, read_member
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import ask, take_off_unless
from dcf.store.transaction.reading import fields_of_hash
from dcf.store.transaction.state_texts import read_text
from dcf.store.transaction.writing import Packet
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump_bytes, load
from dcf.values.records import record

WAITING: Final = "cp:idx:gates:"
_SPARE: Final = 10
"""Entries read beyond the page, in place of stale ones."""

FACTS: Final = ("status", "project")
"""Members of meta that are read of each run on a list."""

_BEING_OPENED: Final = 60 * SECOND
"""An entry younger than this may be of a gate that is just being opened."""

_TAKE_OFF: Final = take_off_unless(
    "state.status == 'running' and state.type == 'Gate'"
    " and (type(state.gated) ~= 'table' or state.gated.number ~= tonumber(ARGV[2]))"
)
"""Lua script that takes an entry off a list, unless its state waits again with another submission than ARGV[2]."""


@record(frozen=True, slots=True, kw_only=True)
class WaitingState:
    """A state that waits for verdicts, as it was read for a list."""

    place: GatePlace
    workflow_id: str
    path: str
    doc: StateDoc
    kept: GateRecord
    project: str | None = None


def queues_of(doc: StateDoc) -> frozenset[str]:
    """Return the lists that a state is on while its output is judged."""
    queues: set[str] = set()
    for open_gate in open_gates(doc):
        named = open_gate.queues if open_gate.by_people else [f"agent:{name}" for name in open_gate.to]
        queues.update(named or (ANY,))
    return frozenset(queues)


def place_of(workflow_id: str, path: str, doc: StateDoc) -> GatePlace:
    """Return the place of a state in lists: since when it waits, and its name."""
    submission = submission_of(doc)
    since = 0 if submission is None else max((open_gate.since for open_gate in submission.open), default=0)
    return GatePlace(at=since, entry=member(workflow_id, path))


def listed_commands(workflow_id: str, states: Mapping[str, StateDoc]) -> Iterator[Command]:
    """Yield the commands that list what waits for verdicts from now on."""
    for path, doc in states.items():
        place = place_of(workflow_id, path, doc)
        for queue in sorted(queues_of(doc)):
            yield ("ZADD", f"{WAITING}{queue}", place.at, place.entry)


def unlisted_commands(run: RunKeys, path: str, before: StateDoc, after: StateDoc) -> Iterator[Command]:
    """Yield the commands, for after the commit, that take a state off the lists for which it no longer waits."""
    for queue in sorted(queues_of(before) - queues_of(after)):
        yield _unlist(queue, run, path, before)


def _unlist(queue: str, run: RunKeys, path: str, seen: StateDoc | None) -> Command:
    submission = None if seen is None else submission_of(seen)
    number = 0 if submission is None else submission.number
    entry = member(run.workflow_id, path)
    return ("EVAL", _TAKE_OFF, 1, f"{WAITING}{queue}", entry, number, run.state(path))


class GateLists:
    """The lists of outputs that wait for verdicts in one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def page(self, query: GateQuery) -> tuple[list[WaitingState], GatePlace | None]:
        """Return a page, longest waiting first, and the place for the next page: two round trips, as a rule."""
        limit = query.limit + _SPARE
        first = [_range(queue, query.place, 0, limit + _SPARE) for queue in query.queues]
        clock, *replies = self._connections.send(("TIME",), *first)
        pages = [self._enough(*page, query.place, limit) for page in zip(query.queues, replies, strict=True)]
        after = list(islice(dict.fromkeys(merge(*pages, key=lambda place_of_gate: place_of_gate.order)), limit))
        rows, stale = self._rows(after, query, micros(clock))
        if stale:
            ask(self._connections, *stale)
        shown = rows[: query.limit]
        if len(rows) > query.limit:
            return shown, shown[-1].place
        return shown, after[-1] if len(after) == limit else None

    def inputs(self, states: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Json]:
        """Return the inputs of these states, each by its run and path, in one packet; what is gone is left out."""
        form = self._connections.form
        reads = [form.read(RunKeys(workflow_id).input(path)) for workflow_id, path in states]
        replies = self._connections.ask(*reads) if reads else ()
        texts = [None if isinstance(reply, Exception) else form.text(reply) for reply in replies]
        return {state: load(text) for state, text in zip(states, texts, strict=True) if text is not None}

    def _enough(self, queue: str, reply: list[bytes], place: GatePlace | None, count: int) -> list[GatePlace]:
        """Return `wanted` entries after the place, or all: more are read where many began to wait at its moment."""
        size = count + _SPARE
        read = last = _places(reply)
        while len(last) == size and len(_after(read, place)) < count:
            (more,) = self._connections.send(_range(queue, place, len(read), size))
            last = _places(more)
            read = read + last
        return _after(read, place)

    def _rows(
        self, places: Sequence[GatePlace], query: GateQuery, now: int
    ) -> tuple[list[WaitingState], list[Command]]:
        """Return what the documents say of these entries, and the commands that take off what waits no more."""
        form, named = self._connections.form, [read_member(place.entry) for place in places]
        commands = [command for workflow_id, path in named for command in _reads(form, RunKeys(workflow_id), path)]
        replies = iter(self._connections.ask(*commands) if commands else ())
        rows: list[WaitingState] = []
        stale: list[Command] = []
        for place, (workflow_id, path) in zip(places, named, strict=True):
            row = _row(form, place, workflow_id, path, (next(replies), next(replies), next(replies)))
            if row is not None and not queues_of(row.doc).isdisjoint(query.queues):
                rows += [row] if query.project in (None, row.project) else []
            elif place.at < now - _BEING_OPENED:
                seen, run = None if row is None else row.doc, RunKeys(workflow_id)
                stale += [_unlist(queue, run, path, seen) for queue in query.queues]
        return rows, stale


def _range(queue: str, place: GatePlace | None, skipped: int, most: int) -> Command:
    low = "-inf" if place is None else str(place.at)
    return ("ZRANGE", f"{WAITING}{queue}", low, "+inf", "BYSCORE", "LIMIT", skipped, most, "WITHSCORES")


def _after(gate_places: Sequence[GatePlace], place: GatePlace | None) -> list[GatePlace]:
    return [place_of_gate for place_of_gate in gate_places if place is None or place_of_gate.order > place.order]


def _places(reply: list[bytes]) -> list[GatePlace]:
    pairs = zip(reply[::2], reply[1::2], strict=True)
    return [GatePlace(at=int(float(score)), entry=name.decode()) for name, score in pairs]


def _reads(form: DocumentForm, run: RunKeys, path: str) -> tuple[Command, Command, Command]:
    return (form.members(run.meta, FACTS), form.read(run.state(path)), ("HGET", run.gates, encode_state(path)))


def _row(
    form: DocumentForm, place: GatePlace, workflow_id: str, path: str, replies: tuple[Reply, Reply, Reply]
) -> WaitingState | None:
    meta, state, record_text = replies
    facts = (None if isinstance(meta, Exception) else form.values(FACTS, meta)) or {}
    text = None if isinstance(state, Exception) else form.text(state)
    doc = read_text(text) if facts.get("status") == RunStatus.RUNNING and text is not None else None
    if doc is None or not doc.is_judged:
        return None
    gate_record = read_record(load(record_text) if isinstance(record_text, bytes) else None)
    return WaitingState(
        place=place, workflow_id=workflow_id, path=path, doc=doc, kept=gate_record, project=facts.get("project")
    )


LISTED: Final = StateLists(
    kind=ListKind.GATES,
    prefix=WAITING,
    is_listed=lambda doc: doc.is_judged,
    part=RECORDS,
    opened=listed_commands,
)


def _write(packet: Packet, run: RunKeys, records: Records) -> None:
    fields = [
        part
        for path, record in records.items()
        if record is not None
        for part in (encode_state(path), dump_bytes(write_record(record)))
    ]
    packet.others.append(("HSET", run.gates, *fields))


ROW: Final = PartRow(part=RECORDS, ask=fields_of_hash(lambda run: run.gates, encode_state, read_record), write=_write)
