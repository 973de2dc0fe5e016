"""The lists of outputs that wait for verdicts, across runs: by agent, person and group, and of what anybody may judge.

`cp:idx:gates:agent:<id>`, `:person:<id>`, `:group:<name>` and `:any` are sorted sets of `<run>/<state>` by since when
the output waits. An entry is written just before the commit that opens the gate, so that none is missing, and taken off
after the one that closes it. If the process dies between, the next reader of the list takes it off.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dcf.core.documents.model import StateDoc
from dcf.core.listing.checks import ListKind
from dcf.features.gates.listing import ANY, GatePlace, GateQuery
from dcf.features.gates.model import RECORDS, GateRecord, Records, open_gates, read_record, submission_of, write_record
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.extensions import PartRow, StateLists
from dcf.store.keys.parts import encode_state, member, read_member
from dcf.store.keys.table import RunKeys
from dcf.store.lists.elsewhere import ask, take_off_unless
from dcf.store.lists.waiting import BEING_OPENED, WaitingLists, WaitingState
from dcf.store.transaction.reading import fields_of_hash
from dcf.store.transaction.writing import Packet
from dcf.values.json_text import Json, dump_bytes, load

WAITING: Final = "cp:idx:gates:"
_SPARE: Final = 10
"""Entries read beyond the page, in place of stale ones."""

_TAKE_OFF: Final = take_off_unless(
    "state.status == 'running' and state.type == 'Gate'"
    " and (type(state.gated) ~= 'table' or state.gated.number ~= tonumber(ARGV[2]))"
)
"""Lua script that takes an entry off a list, unless its state waits again with another submission than ARGV[2]."""


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
        yield _unlist(queue, member(run.workflow_id, path), before)


def _unlist(queue: str, entry: str, seen: StateDoc | None) -> Command:
    submission = None if seen is None else submission_of(seen)
    number = 0 if submission is None else submission.number
    workflow_id, path = read_member(entry)
    return ("EVAL", _TAKE_OFF, 1, f"{WAITING}{queue}", entry, number, RunKeys(workflow_id).state(path))


def record_in(state: WaitingState[GatePlace]) -> GateRecord:
    """Return the record of the verdicts on a state that waits for more."""
    return read_record(load(state.more) if isinstance(state.more, bytes) else None)


class GateLists:
    """The lists of outputs that wait for verdicts in one Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._lists = WaitingLists(connections, GatePlace)

    def page(self, query: GateQuery) -> tuple[list[WaitingState[GatePlace]], GatePlace | None]:
        """Return a page, longest waiting first, and the place for the next page: two round trips, as a rule."""
        limit = query.limit + _SPARE
        places, now = self._lists.entries([f"{WAITING}{queue}" for queue in query.queues], query.place, limit)
        rows, stale = self._rows(places, query, now)
        if stale:
            ask(self._connections, *stale)
        shown = rows[: query.limit]
        if len(rows) > query.limit:
            return shown, shown[-1].place
        return shown, places[-1] if len(places) == limit else None

    def inputs(self, states: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Json]:
        """Return the inputs of these states, each by its run and path, in one packet; what is gone is left out."""
        form = self._connections.form
        reads = [form.read(RunKeys(workflow_id).input(path)) for workflow_id, path in states]
        replies = self._connections.ask(*reads) if reads else ()
        texts = [None if isinstance(reply, Exception) else form.text(reply) for reply in replies]
        return {state: load(text) for state, text in zip(states, texts, strict=True) if text is not None}

    def _rows(
        self, places: Sequence[GatePlace], query: GateQuery, now: int
    ) -> tuple[list[WaitingState[GatePlace]], list[Command]]:
        """Return the states that wait, and the commands that take off what waits no more."""
        rows: list[WaitingState[GatePlace]] = []
        stale: list[Command] = []
        for place, state in self._lists.states(places, _ask_record):
            judged = state if state is not None and state.doc.is_judged else None
            if judged is not None and not queues_of(judged.doc).isdisjoint(query.queues):
                rows += [judged] if query.project in (None, judged.project) else []
            elif place.at < now - BEING_OPENED:
                seen = None if judged is None else judged.doc
                stale += [_unlist(queue, place.entry, seen) for queue in query.queues]
        return rows, stale


def _ask_record(run: RunKeys, path: str, _: GatePlace) -> Command:
    return ("HGET", run.gates, encode_state(path))


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
