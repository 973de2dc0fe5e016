"""Converts records to JSON documents and back.

The reader is tolerant: `done` means succeeded, a lease without a readable expiry counts as expired, unknown fields are
kept. The writer always writes one form. It must not decide about runs.
"""

from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

from dcf.asl.steps import Tolerance
from dcf.core.documents.attached import ATTACHED
from dcf.core.documents.model import (
    DEFAULT_MAX_ATTEMPTS,
    Lease,
    Meta,
    Operation,
    Receipt,
    RunStatus,
    ScopeBounds,
    StateDoc,
    Status,
)
from dcf.core.documents.parents import read_parent
from dcf.core.documents.parking import read_parked
from dcf.core.documents.stored_values import count_of, object_of
from dcf.core.documents.usage import stored_budget
from dcf.core.leasing.blockers import read_blockers
from dcf.values.instants import SECOND, from_text, to_text
from dcf.values.json_text import Json, dump, load

_COMMON_FIELDS = frozenset(
    {"status", "attempts", "lease", "started_at", "finished_at", "last_error", "waits_for", "last"}
)
_RARE_FIELDS = frozenset(
    {
        *("type", "not_before", "delay_s", "deadline", "timeout_s", "heartbeat_s", "scope_epoch", "scope", "visit"),
        "parked",
    }
)
_STATE_FIELDS = _COMMON_FIELDS | _RARE_FIELDS

_COUNTERS = ("reminders", "start_reminders", "retries", "tries_from", "logged", "corrections")

_rare_of = attrgetter("kind", *(_RARE_FIELDS - {"type"}), "attached")
_NOTHING_RARE = (*(None for _ in _RARE_FIELDS), ())
_holder_of = attrgetter("token", "owner_agent_id", "ts", "ttl_s", "expires_at")
_NO_HOLDER = (None,) * 5
_last_of = attrgetter("receipt", "claim", *_COUNTERS)
_NOTHING_LAST = (None, None, *(0 for _ in _COUNTERS))

_STATUSES = {status.value: status for status in Status} | {"done": Status.SUCCEEDED}
_RUN_STATUSES = {status.value: status for status in RunStatus}
_OPERATIONS = {operation.value: operation for operation in Operation}
_USUAL = {
    Operation.COMPLETE: Status.SUCCEEDED,
    Operation.RELEASE: Status.PENDING,
    Operation.UPDATE: Status.RUNNING,
    Operation.LOST: Status.RUNNING,
}
"""The usual status in a receipt of each operation; it is not written."""


def write_state(doc: StateDoc) -> dict[str, Json]:
    """Write a state document for the store: while the state is open, as design section 4 shows it.

    RedisJSON needs about 230 bytes for a ninth field, 130 for a nested object and 600 for a nested receipt (measured,
    2.8.3). So rare fields are written only when set, and the last receipt and the counters are one string of JSON text.
    Of an ended state, empty fields are left out. The string then also has `waits_for` (`w`), and the epoch if it is not
    the time of its start.
    """
    if doc.status.is_terminal:
        return _write_ended(doc)
    written = show_state(doc)
    if doc.lease.key is not None:
        written["lease"] = {**written["lease"], "key": doc.lease.key}
    written["last"] = dump(_write_last(doc))
    return written


def show_state(doc: StateDoc) -> dict[str, Json]:
    """Write a state document for readers: whole, whether the state is open or has ended, and without the receipt."""
    written = {
        **doc.extra,
        "status": str(doc.status),
        "attempts": doc.attempts,
        "lease": write_lease(doc.lease),
        "started_at": _text(doc.started_at),
        "finished_at": _text(doc.finished_at),
        "last_error": doc.last_error,
        "waits_for": dict(doc.waits_for),
    }
    return written | _write_rare(doc)


def whole_state(document: dict[str, Json]) -> dict[str, Json]:
    """Return a stored state document with the fields that are left out of that of an ended state."""
    doc = read_state(document)
    if not doc.status.is_terminal:
        return document
    shown, lease = show_state(doc), document.get("lease")
    return {**shown, **document} | ({"lease": {**shown["lease"], **lease}} if isinstance(lease, dict) else {})


def write_lease(lease: Lease) -> dict[str, Json]:
    """Write a lease with its token. Only the store and the lease's holder may see the result."""
    return {
        "token": lease.token,
        "owner_agent_id": lease.owner_agent_id,
        "ts": _text(lease.ts),
        "ttl_s": lease.ttl_s,
        "epoch": lease.epoch,
        "expires_at": _text(lease.expires_at),
    } | ({"awaits_sign": True} if lease.awaits_sign else {})


def read_state(document: Json) -> StateDoc:
    """Read a state document from the store. Fields that an operator broke get their defaults."""
    fields = object_of(document)
    last, started_at, finished_at = (
        _last(fields.get("last")),
        from_text(fields.get("started_at")),
        from_text(fields.get("finished_at")),
    )
    waits_for = fields.get("waits_for") if "waits_for" in fields else last.get("w")
    return StateDoc(
        status=_STATUSES.get(_string(fields.get("status")) or "", Status.PENDING),
        attempts=count_of(fields.get("attempts")),
        lease=_lease(fields.get("lease"), last.get("epoch", started_at)),
        started_at=started_at,
        finished_at=finished_at,
        last_error=_string(fields.get("last_error")),
        waits_for={name: count_of(epoch) for name, epoch in object_of(waits_for).items()},
        **_read_last(last, finished_at),
        **({} if fields.keys() <= _COMMON_FIELDS else _read_rare(fields)),
    )


def whole_meta(document: Mapping[str, Json]) -> Mapping[str, Json]:
    """Return a meta document with `deps` as an object; in that of an ended run it is JSON text."""
    deps = document.get("deps")
    return {**document, "deps": load(deps)} if isinstance(deps, str) else document


def whole_definition(document: Json) -> Json:
    """Return a stored workflow as an object; that of an ended run is JSON text."""
    return load(document) if isinstance(document, str) else document


def write_receipt(receipt: Receipt) -> dict[str, Json]:
    """Write a receipt; fields with their usual value are left out."""
    usual = _USUAL[receipt.operation]
    rare: dict[str, Json] = {
        "of": receipt.content or None,
        "out": receipt.output_written or None,
        "status": None if receipt.status is usual else receipt.status.value,
        "run_status": None if receipt.run_status is RunStatus.RUNNING else receipt.run_status.value,
        "claimed": _one_or_all(receipt.claimed) if receipt.claimed else None,
        "next": None if receipt.next_states == receipt.claimed else list(receipt.next_states),
    }
    written: dict[str, Json] = {"req": receipt.request, "at": receipt.at}
    if receipt.operation is not Operation.COMPLETE:
        written["op"] = receipt.operation.value
    return written | _present(rare)


def read_receipt(document: Json) -> Receipt | None:
    """Read a receipt; None for anything else."""
    fields = object_of(document)
    operation, request = _OPERATIONS.get(_string(fields.get("op", "complete")) or ""), _string(fields.get("req"))
    if operation is None or request is None:
        return None
    claimed, following = _one_or_more(fields.get("claimed")), fields.get("next")
    return Receipt(
        request=request,
        operation=operation,
        at=count_of(fields.get("at")),
        status=_STATUSES.get(_string(fields.get("status")) or "", _USUAL[operation]),
        content=_string(fields.get("of")) or "",
        output_written=True in (fields.get("out"), fields.get("output")),  # the long name is that of earlier versions
        run_status=_RUN_STATUSES.get(_string(fields.get("run_status")) or "", RunStatus.RUNNING),
        next_states=tuple(following) if isinstance(following, list) else claimed,
        claimed=claimed,
    )


def read_meta(document: Json, agents: Mapping[str, tuple[str, ...]] | None = None) -> Meta:
    """Read the part of a meta document that decisions use. An unknown status counts as `partial`: not running.

    `agents` are assignments that were read apart from the document.
    """
    fields = object_of(document)
    if agents is None:
        agents = {state: read_assignment(value) for state, value in object_of(fields.get("agents")).items()}
    status = fields.get("status") or RunStatus.RUNNING
    return Meta(
        status=_RUN_STATUSES.get(_string(status) or "", RunStatus.PARTIAL),
        definition_sha256=str(fields.get("definition_sha256")),
        created_at=str(fields.get("created_at") or ""),
        is_started=fields.get("started_at") is not None,
        planner_agent_id=_string(fields.get("planner_agent_id")),
        created_by=_string(fields.get("created_by")),
        is_paused=fields.get("paused_at") is not None and status == RunStatus.RUNNING,
        blocked_by=read_blockers(fields.get("blocked_by")) if status == RunStatus.RUNNING else (),
        agents=agents,
        max_attempts=count_of(fields.get("max_attempts")) or DEFAULT_MAX_ATTEMPTS,
        clock_due_at=from_text(fields.get("clock_due_at")),
        parent=read_parent(fields.get("parent")),
        budget=stored_budget(fields.get("budget")),
        may_expire=fields.get("finalized_at") is not None,
    )


def read_assignment(value: Json) -> tuple[str, ...]:
    """Read the agents assigned to a state: one id or a list of ids. Anything else is dropped."""
    if value is None:
        return ()
    pool = value if isinstance(value, list) else [value]
    return tuple(agent for agent in pool if isinstance(agent, str) and agent)


def _lease(document: Json, epoch: Json) -> Lease:
    """Read a lease; `epoch` is that of an ended state, which is in `last`, or else the time of its start."""
    fields = object_of(document)
    ts, ttl_s = from_text(fields.get("ts")), count_of(fields.get("ttl_s")) or None
    expires_at = from_text(fields.get("expires_at"))
    if expires_at is None and ts is not None and ttl_s is not None:
        expires_at = ts + ttl_s * SECOND
    return Lease(
        token=_string(fields.get("token")),
        owner_agent_id=_string(fields.get("owner_agent_id")),
        ts=ts,
        ttl_s=ttl_s,
        epoch=count_of(fields.get("epoch", epoch)),
        expires_at=expires_at,
        awaits_sign=fields.get("awaits_sign") is True,
        key=_string(fields.get("key")),
    )


def _write_ended(doc: StateDoc) -> dict[str, Json]:
    last = _write_last(doc)
    if doc.lease.epoch != (doc.started_at or 0):
        last["epoch"] = doc.lease.epoch
    if doc.waits_for:
        last["w"] = dict(doc.waits_for)
    written: dict[str, Json] = {
        **doc.extra,
        "status": str(doc.status),
        "attempts": doc.attempts,
        "lease": {} if _holder_of(doc.lease) == _NO_HOLDER else _present({**write_lease(doc.lease), "epoch": None}),
    }
    if doc.started_at is not None:
        written["started_at"] = to_text(doc.started_at)
    if doc.finished_at is not None:
        written["finished_at"] = to_text(doc.finished_at)
    if doc.last_error is not None:
        written["last_error"] = doc.last_error
    written["last"] = dump(last)
    return written | _write_rare(doc)


def _write_rare(doc: StateDoc) -> dict[str, Json]:
    """Write the fields that few states have."""
    if _rare_of(doc) == _NOTHING_RARE:
        return {}
    rare: dict[str, Json] = {
        "type": doc.kind,
        "not_before": _text(doc.not_before),
        "delay_s": doc.delay_s,
        "deadline": _text(doc.deadline),
        "timeout_s": doc.timeout_s,
        "heartbeat_s": doc.heartbeat_s,
        "scope_epoch": doc.scope_epoch,
        "scope": None if doc.scope is None else _write_scope(doc.scope),
        "visit": doc.visit,
        "parked": None if doc.parked is None else doc.parked.as_json(),
    }
    written = _present(rare)
    for value in doc.attached:
        written[value.field] = value.as_json()
    return written


def _present(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _write_scope(scope: ScopeBounds) -> dict[str, Json]:
    written: dict[str, Json] = {"size": scope.size, "concurrency": scope.concurrency}
    tolerance = scope.tolerance
    rare = {
        "tolerated_count": tolerance.count,
        "tolerated_percentage": tolerance.percentage,
        "done": [list(done_range) for done_range in scope.done] or None,
    }
    return written | {name: value for name, value in rare.items() if value is not None}


def _read_scope(document: Json) -> ScopeBounds | None:
    if not isinstance(document, dict):
        return None
    return ScopeBounds(
        size=count_of(document.get("size")),
        concurrency=count_of(document.get("concurrency")) or 1,
        tolerance=Tolerance(count=document.get("tolerated_count"), percentage=document.get("tolerated_percentage")),
        done=tuple((count_of(first), count_of(last)) for first, last in document.get("done") or ()),
    )


def _write_last(doc: StateDoc) -> dict[str, Json]:
    """Write the last receipt (`r`) and the counters. The time of a receipt is left out where it is that of the end."""
    if _last_of(doc) == _NOTHING_LAST:
        return {}
    receipt = None if doc.receipt is None else write_receipt(doc.receipt)
    if receipt is not None and receipt["at"] == doc.finished_at:
        del receipt["at"]
    return _present(
        {
            "r": receipt,
            "claim": doc.claim,
            "reminders": doc.reminders or None,
            "start_reminders": doc.start_reminders or None,
            "retries": doc.retries or None,
            "tries_from": doc.tries_from or None,
            "logged": doc.logged or None,
            "corrections": doc.corrections or None,
        }
    )


def _read_rare(document: dict[str, Any]) -> dict[str, Any]:
    """Read the fields that few states have, by field name, and keep unknown ones."""
    attached = [value for kind in ATTACHED.kinds if (value := kind.read(document.get(kind.field))) is not None]
    known = _STATE_FIELDS | ATTACHED.fields
    return {
        "not_before": from_text(document.get("not_before")),
        "delay_s": count_of(document.get("delay_s")) or None,
        "kind": _string(document.get("type")),
        "deadline": from_text(document.get("deadline")),
        "timeout_s": count_of(document.get("timeout_s")) or None,
        "heartbeat_s": count_of(document.get("heartbeat_s")) or None,
        "scope_epoch": count_of(document.get("scope_epoch")) or None,
        "scope": _read_scope(document.get("scope")),
        "visit": count_of(document.get("visit")) or None,
        "parked": read_parked(document.get("parked")),
        "attached": tuple(attached),
        "extra": {name: value for name, value in document.items() if name not in known},
    }


def _last(text: Json) -> dict[str, Any]:
    """Parse the string `last`; unreadable text is empty."""
    try:
        return object_of(load(text))
    except (TypeError, ValueError):
        return {}


def _read_last(document: Mapping[str, Any], finished_at: int | None) -> dict[str, Any]:
    """Read the last receipt and the counters that are not zero, by field name.

    Earlier versions had a long name for the receipt, and the first ones a receipt for each operation.
    """
    receipt = document["r"] if "r" in document else document.get("receipt", _first_receipt(document))
    if isinstance(receipt, dict):
        receipt = {"at": finished_at, **receipt}
    counters = {name: count_of(document[name]) for name in _COUNTERS if name in document}
    return {"receipt": read_receipt(receipt), "claim": _string(document.get("claim")), **counters}


def _first_receipt(last: Mapping[str, Any]) -> Json:
    """Return the receipt that the first versions wrote, of the end of the state if there is one; None without any."""
    receipts = ((operation.value, last.get(operation.value)) for operation in Operation)
    return next(({"op": operation, **receipt} for operation, receipt in receipts if isinstance(receipt, dict)), None)


def _one_or_all(names: tuple[str, ...]) -> Json:
    """Write names: nothing, a single one as it is, or a list."""
    return list(names) if len(names) > 1 else next(iter(names), None)


def _one_or_more(value: Json) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value)) if isinstance(value, list) else ()


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) else None


@lru_cache(maxsize=1024)
def _text(micros: int | None) -> str | None:
    return None if micros is None else to_text(micros)
