"""Decides whether a run is stuck: the one definition for `why`, the lists, the page and the metrics. Pure.

A running run is stuck if somebody has to do something before it continues:

- an issue blocks it, or it is on hold;
- the agents of a state were reminded three times without success, or the run was not started in time;
- a state keeps failing, or its holder renews the lease for an hour without a result.

A paused run is not stuck, since its pause is intended. A run that waits for a time, for the end of a usage limit, for
something outside or for a verdict is not stuck.

All of this follows from the documents of the run, and changes only with them. So the commit that changes it also
changes the list of stuck runs. A missing timer loop, or a Redis that refuses writes, is no fault of a run: `why` names
it, and the metrics of the timer loop and of Redis show it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.core.documents.decision import WriteSet
from dcf.core.documents.model import Meta, Operation, RunStatus, StateDoc
from dcf.core.leasing.blockers import read_blockers
from dcf.values.instants import SECOND
from dcf.values.records import replace

STUCK_REMINDERS: Final = 3
"""After this number of reminders without success (a minute and three quarters) a state is stuck."""

NO_PROGRESS_FOR: Final = 3600 * SECOND
"""A lease that was renewed for so long without a result or a partial one is stuck."""

MANY_RETRIES: Final = 2
MANY_TRIES: Final = 3
"""After this number of retries, or of lost leases, a state keeps failing."""


def is_stuck(meta: Meta, docs: Iterable[StateDoc]) -> bool:
    """Return True if the run is stuck; `docs` are its open states."""
    if meta.status is not RunStatus.RUNNING or meta.is_paused:
        return False
    return bool(meta.blocked_by) or any(is_stuck_state(doc, is_started=meta.is_started) for doc in docs)


def is_stuck_state(doc: StateDoc, *, is_started: bool) -> bool:
    """Return True if the run cannot continue in this state until somebody does something."""
    if doc.status.is_terminal or doc.is_judged or doc.is_open_scope or doc.is_parked:
        return False
    if doc.attached and any(value.awaits_answer() for value in doc.attached):
        return False
    since_limit = doc.reminders - (0 if doc.parked is None else doc.parked.reminders)
    is_ignored = since_limit >= STUCK_REMINDERS or (doc.start_reminders > 0 and not is_started)
    return is_ignored or _keeps_failing(doc) or _brings_nothing(doc)


def stuck_mark(meta: Meta | None, before: Mapping[str, StateDoc], changes: WriteSet) -> bool | None:
    """Return whether these changes list the run as stuck (True), take it off that list (False), or neither.

    `meta` and `before` are what the changes were decided by. A change that takes the run off may not know of another
    state that is stuck: its next reminder or failure lists the run again.
    """
    if meta is None:
        return None
    after = _after(meta, changes)
    if after is not meta and (after.is_paused, after.blocked_by) != (meta.is_paused, meta.blocked_by):
        return is_stuck(after, {**before, **changes.states}.values())
    if after.is_halted:
        return None
    mark = False if "started_at" in changes.meta else None
    for path, doc in changes.states.items():
        if is_stuck_state(doc, is_started=after.is_started):
            return True
        old = before.get(path)
        if old is not None and is_stuck_state(old, is_started=meta.is_started):
            mark = False
    return mark


def progress_of(doc: StateDoc) -> int | None:
    """Return when the holder last wrote anything: a partial output, or else when it took the lease."""
    written = doc.receipt
    if written is None or written.operation is not Operation.UPDATE:
        return doc.started_at
    return max(written.at, doc.started_at or 0)


def _keeps_failing(doc: StateDoc) -> bool:
    """Return True if it failed repeatedly and has no holder, as far as the timer loop has found."""
    if doc.lease.token is None:
        return doc.retries >= MANY_RETRIES
    return doc.reminders > 0 and (doc.retries >= MANY_RETRIES or doc.tries >= MANY_TRIES)


def _brings_nothing(doc: StateDoc) -> bool:
    since = progress_of(doc)
    if doc.lease.token is None or doc.lease.ts is None or since is None:
        return False
    return doc.lease.ts - since > NO_PROGRESS_FOR


def _after(meta: Meta, changes: WriteSet) -> Meta:
    """Return meta as it is after the changes, as far as it decides here."""
    patch = changes.meta
    if patch.keys().isdisjoint({"paused_at", "blocked_by", "started_at"}):
        return meta
    return replace(
        meta,
        is_paused=patch["paused_at"] is not None if "paused_at" in patch else meta.is_paused,
        blocked_by=read_blockers(patch["blocked_by"]) if "blocked_by" in patch else meta.blocked_by,
        is_started=meta.is_started or "started_at" in patch,
    )
