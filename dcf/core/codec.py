"""Records to JSON documents and back.

The reader is tolerant: `done` is read as succeeded, a lease without a readable expiry as expired, fields it does
not know are kept. The writer is canonical. It may not decide anything.
"""

from typing import Any

from dcf.asl.steps import Entry, Tolerance
from dcf.core.model import DEFAULT_MAX_ATTEMPTS, Lease, Meta, RunStatus, ScopeBounds, StateDoc, Status
from dcf.values.instants import SECOND, from_text, to_text
from dcf.values.json_text import Json, dump, load

_STATE_FIELDS = frozenset(
    {
        "status", "attempts", "lease", "started_at", "finished_at", "last_error", "waits_for", "not_before", "last",
        "type", "deadline", "heartbeat_s", "scope_epoch", "scope", "retries", "passed",
    }
)  # fmt: skip

_STATUSES = {status.value: status for status in Status} | {"done": Status.SUCCEEDED}
_RUN_STATUSES = {status.value: status for status in RunStatus}

_ITEM = 2
"""A Map item is kept as its index and its value."""

_LARGEST = 2**53
"""Counts beyond this are nobody's; JSON readers would round them."""


def write_state(doc: StateDoc) -> dict[str, Json]:
    """Write a state document as design section 4 shows it.

    RedisJSON pays about 230 bytes for a ninth field and 600 for nested replies (measured, 2.8.3): so `not_before` is
    there only when it says something, and the stored replies are one JSON text.
    """
    written = {
        **doc.extra,
        "status": doc.status.value,
        "attempts": doc.attempts,
        "lease": write_lease(doc.lease),
        "started_at": _text(doc.started_at),
        "finished_at": _text(doc.finished_at),
        "last_error": doc.last_error,
        "waits_for": dict(doc.waits_for),
        "last": dump(dict(doc.last)),
    }
    rare = {
        "type": doc.kind,
        "not_before": _text(doc.not_before),
        "deadline": _text(doc.deadline),
        "heartbeat_s": doc.heartbeat_s,
        "scope_epoch": doc.scope_epoch,
        "scope": None if doc.scope is None else _write_scope(doc.scope),
        "retries": list(doc.retries) or None,
        "passed": doc.passed or None,
    }
    return written | {name: value for name, value in rare.items() if value is not None}


def write_lease(lease: Lease) -> dict[str, Json]:
    """Write a lease with its token: for the store and for its holder, for nobody else."""
    return {
        "token": lease.token,
        "owner_agent_id": lease.owner_agent_id,
        "ts": _text(lease.ts),
        "ttl_s": lease.ttl_s,
        "epoch": lease.epoch,
        "expires_at": _text(lease.expires_at),
    }


def read_state(document: Json) -> StateDoc:
    """Read a state document from the store, also one that an operator wrote by hand."""
    found = _object(document)
    return StateDoc(
        status=_STATUSES.get(_string(found.get("status")) or "", Status.PENDING),
        attempts=_count(found.get("attempts")),
        lease=_lease(found.get("lease")),
        started_at=from_text(found.get("started_at")),
        finished_at=from_text(found.get("finished_at")),
        last_error=_string(found.get("last_error")),
        waits_for={name: _count(epoch) for name, epoch in _object(found.get("waits_for")).items()},
        not_before=from_text(found.get("not_before")),
        kind=_string(found.get("type")),
        deadline=from_text(found.get("deadline")),
        heartbeat_s=_count(found.get("heartbeat_s")) or None,
        scope_epoch=_count(found.get("scope_epoch")) or None,
        scope=_read_scope(found.get("scope")),
        retries=_counts(found.get("retries")),
        passed=_count(found.get("passed")),
        last=_replies(found.get("last")),
        extra={name: value for name, value in found.items() if name not in _STATE_FIELDS},
    )


def write_entry(entry: Entry) -> dict[str, Json]:
    """Write what entering a state fixed, for when it is left; its counters stand in the state's own document."""
    written: dict[str, Json] = {"raw": entry.raw, "entered_at": entry.entered_at}
    if entry.variables:
        written["variables"] = dict(entry.variables)
    if entry.item is not None:
        written["item"] = list(entry.item)
    return written


def read_entry(document: Json) -> Entry:
    """Read it back."""
    found = _object(document)
    item = found.get("item")
    return Entry(
        raw=found.get("raw"),
        variables=_object(found.get("variables")),
        entered_at=str(found.get("entered_at")),
        item=(item[0], item[1]) if isinstance(item, list) and len(item) == _ITEM else None,
    )


def read_meta(document: Json) -> Meta:
    """Read the deciding part of a meta document; a run whose status makes no sense is not running."""
    found = _object(document)
    status = found.get("status") or RunStatus.RUNNING.value
    return Meta(
        status=_RUN_STATUSES.get(_string(status) or "", RunStatus.PARTIAL),
        definition_sha256=str(found.get("definition_sha256")),
        created_at=str(found.get("created_at") or ""),
        is_started=found.get("started_at") is not None,
        agents={state: read_assignment(value) for state, value in _object(found.get("agents")).items()},
        max_attempts=_count(found.get("max_attempts")) or DEFAULT_MAX_ATTEMPTS,
    )


def read_assignment(value: Json) -> tuple[str, ...]:
    """Read the agents assigned to a state: one id, or a pool of them."""
    pool = value if isinstance(value, list) else [value]
    return tuple(agent for agent in pool if isinstance(agent, str) and agent)


def _lease(found: Json) -> Lease:
    fields = _object(found)
    ts, ttl_s = from_text(fields.get("ts")), _count(fields.get("ttl_s")) or None
    expires_at = from_text(fields.get("expires_at"))
    if expires_at is None and ts is not None and ttl_s is not None:
        expires_at = ts + ttl_s * SECOND
    return Lease(
        token=_string(fields.get("token")),
        owner_agent_id=_string(fields.get("owner_agent_id")),
        ts=ts,
        ttl_s=ttl_s,
        epoch=_count(fields.get("epoch")),
        expires_at=expires_at,
    )


def _write_scope(scope: ScopeBounds) -> dict[str, Json]:
    written: dict[str, Json] = {"size": scope.size, "concurrency": scope.concurrency}
    tolerance = scope.tolerance
    rare = {
        "tolerated_count": tolerance.count,
        "tolerated_percentage": tolerance.percentage,
    }
    return written | {name: value for name, value in rare.items() if value is not None}


def _read_scope(found: Json) -> ScopeBounds | None:
    if not isinstance(found, dict):
        return None
    return ScopeBounds(
        size=_count(found.get("size")),
        concurrency=_count(found.get("concurrency")) or 1,
        tolerance=Tolerance(count=found.get("tolerated_count"), percentage=found.get("tolerated_percentage")),
    )


def _replies(text: Json) -> dict[str, Any]:
    try:
        return _object(load(text))
    except (TypeError, ValueError):
        return {}


def _counts(value: Json) -> tuple[int, ...]:
    return tuple(map(_count, value)) if isinstance(value, list) else ()


def _count(value: Json) -> int:
    """Read a whole number that counts something, `300.0` included; anything else is 0."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 < value <= _LARGEST else 0


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _object(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(micros: int | None) -> str | None:
    return None if micros is None else to_text(micros)
