"""Finds running runs without an open state, among keys that a reconciliation has listed: they cannot continue.

All documents of a run are written by one command, so no torn log leaves some of them. A Redis that is broken may, or a
change by hand. No agent can carry out a lost state, so such a run is listed as stuck. Does not write.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from dcf.core.documents.model import RunStatus
from dcf.core.listing.checks import ListFlaw, ListKind
from dcf.core.listing.runs import listed_at
from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connection, exchange
from dcf.store.forms.form import DocumentForm
from dcf.store.keys import table as keys
from dcf.store.keys.documents import document_of
from dcf.store.keys.table import RunKeys
from dcf.store.lists.lost_timers import is_open_state
from dcf.store.lists.shards import place_of
from dcf.values.records import record

_FIELDS: Final = ("status", "created_at", "held_end", "grown", "states")


@record(frozen=True, slots=True, kw_only=True)
class _RunWithoutTimers:
    """A running run that is not listed as stuck and has no timer: its states may be lost."""

    keys: RunKeys
    states: tuple[str, ...]
    flaw: ListFlaw


def without_open_states(
    names: Sequence[str], shards: int, form: DocumentForm, connection: Connection
) -> tuple[ListFlaw, ...]:
    """Return a flaw for each run whose meta document is among these keys, and which the list of stuck runs lacks."""
    runs = [document.run for key in names if (document := document_of(key)) is not None and document.kind == "meta"]
    stuck = [place_of(keys.STUCK, run.workflow_id, shards) for run in runs]
    # Timers are counted before and after the document is read: a run that ends or begins meanwhile is not judged.
    reads = [command for run, index in zip(runs, stuck, strict=True) for command in _between_counts(form, run, index)]
    replies = iter(exchange(connection, reads) if reads else [])
    silent = [
        _read(form, run, index, [next(replies) for _ in range(4)]) for run, index in zip(runs, stuck, strict=True)
    ]
    return tuple(run.flaw for run in silent if run is not None and not _has_open(form, run, connection))


def _has_open(form: DocumentForm, run: "_RunWithoutTimers", connection: Connection) -> bool:
    """Return True if a state of the run is open. Few runs are looked at so closely."""
    reads: list[Command] = [form.read(run.keys.state(name)) for name in run.states]
    return any(is_open_state(form, reply) for reply in (exchange(connection, reads) if reads else ()))


def _between_counts(form: DocumentForm, run: RunKeys, stuck: str) -> Iterator[Command]:
    """Yield the commands that read how a run is listed and its meta document, and count its timers before and after."""
    yield ("ZSCORE", stuck, run.workflow_id)
    yield ("ZCARD", run.timers)
    yield form.members(run.meta, _FIELDS)
    yield ("ZCARD", run.timers)


def _read(form: DocumentForm, run: RunKeys, stuck: str, replies: Sequence[Reply]) -> _RunWithoutTimers | None:
    """Return a run whose states must be read. An open run, or a run whose end is held, may have no open state."""
    listed, before, meta, after = replies
    if listed is not None or (before, after) != (0, 0) or isinstance(meta, Exception):
        return None
    fields = form.values(_FIELDS, meta) or {}
    if fields.get("status") != RunStatus.RUNNING or fields.get("held_end") is not None or fields.get("grown") is True:
        return None
    states, at = fields.get("states"), listed_at(fields.get("created_at"), 0)
    return _RunWithoutTimers(
        keys=run,
        states=tuple(map(str, states)) if isinstance(states, list) else (),
        flaw=ListFlaw(kind=ListKind.CATALOG, index=stuck, name=run.workflow_id, score=at, is_missing=True),
    )
