"""Turns `WriteSet` of a run into the commands of one MULTI: one function per kind of write, in one table.

All documents go into as few commands as their form allows, however many states a transition changes. Index entries are
not part of the transaction. They are sent just before it, so that nothing is committed without its index entry.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final, TypeAlias

from dcf.core.documents import codec
from dcf.core.documents.decision import Event, Notice, Packed, Snapshot, Tally, WriteSet
from dcf.core.documents.model import Receipt, RunReceipt, StateDoc, StateInput
from dcf.core.documents.operations import write_run_receipt
from dcf.core.documents.signals import Signals, write_signals
from dcf.core.leasing.blockers import read_blockers
from dcf.core.leasing.stuck import stuck_mark
from dcf.core.listing import runs as catalog
from dcf.store.access.authors import current_author
from dcf.store.connection.commands import Command, Reply
from dcf.store.extensions import LISTS, PARTS
from dcf.store.forms.form import DocumentForm, Member
from dcf.store.keys import table as keys
from dcf.store.keys.parts import encode_state, receipt_field
from dcf.store.keys.projects import PROJECTS
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import in_shard, shard_of
from dcf.store.transaction.event_fields import write_events
from dcf.store.transaction.state_texts import write_text
from dcf.store.transaction.usage_sums import charge_commands, owed_command
from dcf.values.instants import SECOND
from dcf.values.json_text import Json, dump, dump_bytes

_ASSIGNED_LIFE_S: Final = 30 * 24 * 3600

_ADD: Final = "HINCRBY"

_FACETED: Final = frozenset({"status", "agents", "tags", "blocked_by", "for_anybody"})
"""Fields of meta that change while a run exists, and under which it is listed."""


@dataclass(slots=True)
class Packet:
    """The commands of one MULTI while they are collected: documents by key, members of documents by key and name."""

    deleted: list[str] = field(default_factory=list)
    documents: dict[str, bytes] = field(default_factory=dict)
    members: dict[tuple[str, Member], bytes] = field(default_factory=dict)
    others: list[Command] = field(default_factory=list)

    def commands(self, form: DocumentForm, *, keep_expiry: bool = False) -> list[Command]:
        """Return the commands, in an order that reads well in MONITOR."""
        written = form.put_all(self.documents, self.members, deleted=self.deleted, keep_expiry=keep_expiry)
        return [*written, *self.others]


Writer: TypeAlias = Callable[[Packet, RunKeys, Any], None]
"""Function that adds the commands of one non-empty row of `WriteSet`."""

Announcer: TypeAlias = Callable[[RunKeys, Any, int, str], Iterable[Command]]
"""Function that returns the index commands of one row of `WriteSet`, at a server time, for the run's shard."""


def commit_commands(form: DocumentForm, run: RunKeys, changes: WriteSet, *, keep_expiry: bool = False) -> list[Command]:
    """Return the commands that make the changes. The keys of a finalized run may expire, and must keep their expiry."""
    packet = Packet()
    for write, row in zip(WRITES.values(), _ROWS(changes), strict=True):
        if row:
            write(packet, run, row)
    for part, written in changes.parts.items():
        PARTS.rows[part].write(packet, run, written)
    return packet.commands(form, keep_expiry=keep_expiry)


def announcements(run: RunKeys, changes: WriteSet, seen: Snapshot, shards: int = 1) -> list[Command]:
    """Return the commands that add the run to indexes; `seen` is what the changes were decided by.

    `shards` is in how many parts Redis keeps each list of runs.
    """
    shard = "" if shards == 1 else shard_of(run.workflow_id, shards)
    commands = [*_faceted(run, changes, seen, shard)] if changes.meta_document or changes.meta else []
    for row, announce in ANNOUNCES.items():
        result = getattr(changes, row)
        if result:
            commands += announce(run, result, seen.now, shard)
    for part, opened in LISTS.opened:
        if changes.states if part is None else part in changes.parts:
            commands += opened(run.workflow_id, changes.states)
    mark = stuck_mark(seen.meta, seen.states, changes)
    if mark is not None:
        commands.append(_mark_command(keys.STUCK, run, seen, shard, is_on=mark))
    if "blocked_by" in changes.meta:
        is_on = any(blocker.is_hold for blocker in read_blockers(changes.meta["blocked_by"]))
        commands.append(_mark_command(keys.HELD, run, seen, shard, is_on=is_on))
    if changes.agents:
        commands += facet_commands(run, {"agents": changes.agents}, _created_at(seen), shard)
    if changes.usage:
        commands.append(owed_command(run, seen.now))
    at = changes.due(seen.now, None if seen.meta is None else seen.meta.clock_due_at)
    return commands if at is None else [*commands, due_command(run, at)]


def facet_commands(run: RunKeys, meta: Mapping[str, Json], at: int, shard: str) -> Iterator[Command]:
    """Yield the commands that list a run, created at this time, under what these fields of its meta say."""
    for facet, value in catalog.facets_of(meta):
        yield ("ZADD", in_shard(keys.runs_by(facet, value), shard), at, run.workflow_id)
        if facet is catalog.Facet.PROJECT:
            yield ("ZADD", PROJECTS, "XX", "GT", at, value)  # XX: only projects with a document are listed


def due_command(run: RunKeys, at: int) -> Command:
    """Return the command that makes the timer loop check the run at this time, or at an earlier time that is noted."""
    return ("ZADD", keys.due(run.workflow_id), "LT", at, run.workflow_id)


def read_counts(run: RunKeys, changes: WriteSet, commands: list[Command], results: list[Reply]) -> dict[str, Tally]:
    """Return the counts after the commit of the scopes that it added to."""
    counted = {
        command[:3]: int(result) for command, result in zip(commands, results, strict=True) if command[0] == _ADD
    }
    return {
        path: Tally(done=counted[_ADD, run.join(path), "done"], failed=counted.get((_ADD, run.join(path), "failed"), 0))
        for path in changes.ended
    }


def event_commands(run: RunKeys, events: Sequence[Event]) -> list[Command]:
    """Return the commands that add events to the run's history; their author is the caller, if there was one."""
    return [("XADD", run.events, "*", *fields) for fields in write_events(events, current_author())]


def notice_command(run: RunKeys, notice: Notice) -> Command:
    """Return the command that adds a notification to the outbox."""
    fields: list[str | int] = ["type", notice.type, "epoch", notice.epoch, "reason", notice.reason]
    target = {"state": notice.state, "source": notice.source, "agent_id": notice.agent_id, "about": notice.about}
    fields += [part for name, value in target.items() if value is not None for part in (name, value)]
    fields += [] if notice.content is None else ["content", dump(dict(notice.content))]
    return ("XADD", run.outbox, "*", *fields)


def _documents(key: Callable[[RunKeys, str], str]) -> Writer:
    """Return a writer of one document per path."""

    def write(packet: Packet, run: RunKeys, documents: Mapping[str, Json]) -> None:
        for path, document in documents.items():
            packet.documents[key(run, path)] = dump_bytes(document)

    return write


def _document(key: Callable[[RunKeys], str]) -> Writer:
    """Return a writer of one document of the run."""

    def write(packet: Packet, run: RunKeys, document: Mapping[str, Json]) -> None:
        packet.documents[key(run)] = dump_bytes(dict(document))

    return write


def _deleted(key: Callable[[RunKeys, str], str]) -> Writer:
    """Return a writer that deletes one key per path."""

    def write(packet: Packet, run: RunKeys, paths: Sequence[str]) -> None:
        packet.deleted += [key(run, path) for path in paths]

    return write


def _forgotten(packet: Packet, run: RunKeys, paths: Sequence[str]) -> None:
    packet.deleted += [key(path) for path in paths for key in (run.state, run.input, run.entry, run.output)]


def _packed(packet: Packet, run: RunKeys, packed: Packed) -> None:
    """Write documents as JSON strings of their text."""
    packet.documents[run.definition] = dump_bytes(dump(dict(packed.definition)))
    packet.members[run.meta, "deps"] = dump_bytes(dump(dict(packed.deps)))


def _meta(packet: Packet, run: RunKeys, fields: Mapping[str, Json]) -> None:
    for name, value in fields.items():
        packet.members[run.meta, name] = dump_bytes(value)


def _states(packet: Packet, run: RunKeys, states: Mapping[str, StateDoc]) -> None:
    for path, doc in states.items():
        packet.documents[run.state(path)] = write_text(doc)


def _inputs(packet: Packet, run: RunKeys, inputs: Mapping[str, StateInput]) -> None:
    for path, state_input in inputs.items():
        packet.documents[run.input(path)] = dump_bytes(state_input.effective)
        if state_input.must_keep_entry:
            packet.documents[run.entry(path)] = dump_bytes(codec.write_entry(state_input.entry))
        elif state_input.revisits:
            # The entry of an earlier visit must not count for this one; null costs no further command, unlike DEL.
            packet.documents[run.entry(path)] = b"null"


def _ended(packet: Packet, run: RunKeys, ended: Mapping[str, Tally]) -> None:
    for path, tally in ended.items():
        packet.others.append((_ADD, run.join(path), "done", tally.done))
        if tally.failed:
            packet.others.append((_ADD, run.join(path), "failed", tally.failed))
            packet.others.append(("HSET", run.join(path), "failure", dump([tally.error, tally.cause])))


def _signals(packet: Packet, run: RunKeys, signals: Sequence[Signals]) -> None:
    packet.documents[run.signals] = dump_bytes(write_signals(signals[-1]))


def _agents(packet: Packet, run: RunKeys, agents: Mapping[str, Json]) -> None:
    for name, pool in agents.items():
        packet.members[run.meta, ("agents", name)] = dump_bytes(pool)


def _events(packet: Packet, run: RunKeys, events: Sequence[Event]) -> None:
    packet.others += event_commands(run, events)


def _notices(packet: Packet, run: RunKeys, notices: Sequence[Notice]) -> None:
    packet.others += [notice_command(run, notice) for notice in notices]


def _timers(packet: Packet, run: RunKeys, timers: Mapping[str, int | None]) -> None:
    unlisted = [encode_state(path) for path, due in timers.items() if due is None]
    if unlisted:
        packet.others.append(("ZREM", run.timers, *unlisted))
    if len(unlisted) < len(timers):
        due = [part for path, at in timers.items() if at is not None for part in (at, encode_state(path))]
        packet.others.append(("ZADD", run.timers, *due))


def _sooner(packet: Packet, run: RunKeys, sooner: Mapping[str, int]) -> None:
    due = [part for path, at in sooner.items() for part in (at, encode_state(path))]
    packet.others.append(("ZADD", run.timers, "XX", "LT", *due))


def _claims(packet: Packet, run: RunKeys, claims: Mapping[str, str | None]) -> None:
    for mark, path in claims.items():
        if path is None:
            packet.others.append(("HDEL", run.claims, mark))
        else:
            packet.others.append(("HSET", run.claims, mark, encode_state(path)))


def _sizes(packet: Packet, run: RunKeys, sizes: Mapping[str, int]) -> None:
    for path, size in sizes.items():
        packet.others.append(("ZADD", run.scopes, "GT", size, encode_state(path)))


def _receipts(packet: Packet, run: RunKeys, receipts: Mapping[tuple[str, str], Receipt]) -> None:
    for (path, request), receipt in receipts.items():
        text = dump_bytes(codec.write_receipt(receipt))
        packet.others.append(("HSET", run.receipts, receipt_field(path, request), text))


def _run_receipts(packet: Packet, run: RunKeys, receipts: Mapping[str, RunReceipt]) -> None:
    for request, receipt in receipts.items():
        packet.others.append(("HSET", run.receipts, receipt_field("", request), dump_bytes(write_run_receipt(receipt))))


def _faceted(run: RunKeys, changes: WriteSet, seen: Snapshot, shard: str) -> Iterator[Command]:
    if changes.meta_document is not None:
        yield from facet_commands(run, changes.meta_document, seen.now, shard)
    elif not _FACETED.isdisjoint(changes.meta):
        yield from facet_commands(run, changes.meta, _created_at(seen), shard)


def _mark_command(marked: str, run: RunKeys, seen: Snapshot, shard: str, *, is_on: bool) -> Command:
    """Return the command that enters the run in a list of those that need help, or takes it off."""
    index = in_shard(marked, shard)
    return ("ZADD", index, _created_at(seen), run.workflow_id) if is_on else ("ZREM", index, run.workflow_id)


def _created_at(seen: Snapshot) -> int:
    return catalog.listed_at("" if seen.meta is None else seen.meta.created_at, seen.now)


def _listed(run: RunKeys, _: bool, now: int, shard: str) -> Iterator[Command]:
    yield ("ZADD", in_shard(keys.RUNS, shard), "NX", now, run.workflow_id)  # NX: a listed run keeps its place
    yield ("ZADD", in_shard(keys.LIVE, shard), now, run.workflow_id)


def _assigned(run: RunKeys, agent_ids: Sequence[str], now: int, _: str) -> Iterator[Command]:
    for key in map(keys.assigned, agent_ids):
        yield ("ZADD", key, now // SECOND, run.workflow_id)
        yield ("EXPIRE", key, _ASSIGNED_LIFE_S)


ANNOUNCES: Final[Mapping[str, Announcer]] = {"listed": _listed, "assigned": _assigned}
"""Index entries by row of `WriteSet`; sent before the transaction."""

WRITES: Final[Mapping[str, Writer]] = {
    "opened": _deleted(RunKeys.join),
    "dropped": _deleted(RunKeys.output),
    "forgotten": _forgotten,
    "meta_document": _document(lambda run: run.meta),
    "definition": _document(lambda run: run.definition),
    "secret": lambda packet, run, secret: packet.others.append(("SET", run.secret, secret)),
    "packed": _packed,
    "meta": _meta,
    "states": _states,
    "inputs": _inputs,
    "outputs": _documents(RunKeys.output),
    "items": _documents(RunKeys.items),
    "results": _documents(RunKeys.results),
    "audit": _document(lambda run: run.audit),
    "ended": _ended,
    "events": _events,
    "notices": _notices,
    "timers": _timers,
    "sooner": _sooner,
    "claims": _claims,
    "sizes": _sizes,
    "receipts": _receipts,
    "run_receipts": _run_receipts,
    "signals": _signals,
    "usage": lambda packet, run, charges: packet.others.extend(charge_commands(run, charges)),
    "agents": _agents,
    "evaluated": lambda packet, run, marks: packet.others.append(("HDEL", run.evaluating, *marks)),
    "absolved": lambda packet, run, _: packet.deleted.append(run.evaluating),
}
"""Writer of each row of `WriteSet`, in the order of writing; parts come after them."""

_ROWS: Final = attrgetter(*WRITES)
