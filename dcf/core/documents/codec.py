"""Converts records to JSON documents and back. It must not decide about runs.

The reader is tolerant: `done` means succeeded, a lease without a readable expiry counts as expired, unknown fields are
kept. The writer always writes one form. The JSON follows from the types of the records, with two exceptions. In a
receipt, the usual status depends on the operation and is left out. `Meta` is a selection of fields that is only read.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from dcf.asl.steps import Entry
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
from dcf.core.documents.parking import Parked
from dcf.core.documents.stored_values import count_of, object_of
from dcf.core.documents.usage import stored_budget
from dcf.core.leasing.blockers import read_blockers
from dcf.values.instants import SECOND, from_text
from dcf.values.json_text import Json, dump, load
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import replace

_TIMES: Final = "started_at finished_at not_before deadline"
_COMMON: Final = "status attempts lease started_at finished_at last_error waits_for"
_RARE: Final = "kind not_before delay_s deadline timeout_s heartbeat_s scope_epoch scope visit parked"
_LAST: Final = "claim reminders start_reminders retries tries_from logged corrections"
_COUNTS: Final = "delay_s timeout_s heartbeat_s scope_epoch visit"
_NAMED: Final = {"kind": "type"}
_COMMON_FIELDS: Final = frozenset({*_COMMON.split(), "last"})
_STATE_FIELDS: Final = _COMMON_FIELDS | {_NAMED.get(name, name) for name in _RARE.split()}

_lease: Final = partial(RecordCodec, Lease, times="ts expires_at", rare="awaits_sign key", counts="ttl_s")
_HELD: Final = "token owner_agent_id ts ttl_s"
_STORED_LEASE: Final = _lease()
_ENDED_LEASE: Final = _lease(f"{_HELD} expires_at awaits_sign", left_out="none")
_READ_LEASE: Final = _lease(f"{_HELD} expires_at awaits_sign key")
_SHOWN_LEASE: Final = _lease(f"{_HELD} epoch expires_at awaits_sign")
write_lease: Final = _SHOWN_LEASE.write
"""Writes a lease with its token. Only the store and the lease's holder may see the result."""

_SCOPE: Final = RecordCodec(
    ScopeBounds,
    "size concurrency tolerance.count tolerance.percentage done",
    named={"tolerance.count": "tolerated_count", "tolerance.percentage": "tolerated_percentage"},
    rare="tolerance.count tolerance.percentage done",
    counts="concurrency",
)
_PARKED: Final = RecordCodec(Parked, times="until since", rare="account reminders", whole=True)


def _state(attributes: str, lease: RecordCodec[Lease], rare: str = _RARE) -> RecordCodec[StateDoc]:
    codecs = {"lease": lease, "scope": _SCOPE, "parked": _PARKED}
    return RecordCodec(StateDoc, attributes, named=_NAMED, times=_TIMES, rare=rare, counts=_COUNTS, codecs=codecs)


_OPEN: Final = _state(f"**extra {_COMMON} {_RARE}", _STORED_LEASE)
_SHOWN: Final = _state(f"**extra {_COMMON} {_RARE}", _SHOWN_LEASE)
_ENDED: Final = _state(
    f"**extra {_COMMON.removesuffix(' waits_for')} {_RARE}",
    _ENDED_LEASE,
    rare=f"started_at finished_at last_error {_RARE}",
)
_READ: Final = _state(f"attempts last_error waits_for {_LAST}", _READ_LEASE)
_READ_RARE: Final = _state(f"attempts last_error waits_for {_LAST} {_RARE}", _READ_LEASE)
_WRITE_LAST: Final = RecordCodec(StateDoc, _LAST, left_out="defaults").write

_ENTRY_RARE: Final = "variables retries item silent"
_ENTRY: Final = RecordCodec(Entry, f"raw entered_at {_ENTRY_RARE}", rare=_ENTRY_RARE)
write_entry: Final = _ENTRY.write
"""Writes what was recorded when a state was entered, for use when it is left."""
read_entry: Final = _ENTRY.read

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
    written = (_ENDED if doc.status.is_terminal else _OPEN).write(doc)
    written["last"] = dump(_write_last(doc))
    return _with_attached(written, doc) if doc.attached else written


def show_state(doc: StateDoc) -> dict[str, Json]:
    """Write a state document for readers: whole, whether the state is open or has ended, and without the receipt."""
    return _with_attached(_SHOWN.write(doc), doc)


def whole_state(document: dict[str, Json]) -> dict[str, Json]:
    """Return a stored state document with the fields that are left out of that of an ended state."""
    doc = read_state(document)
    if not doc.status.is_terminal:
        return document
    shown, lease = show_state(doc), document.get("lease")
    return {**shown, **document} | ({"lease": {**shown["lease"], **lease}} if isinstance(lease, dict) else {})


def read_state(document: Json) -> StateDoc:
    """Read a state document from the store. Fields that an operator broke get their defaults."""
    fields = object_of(document)
    last, started_at, finished_at = (
        _last(fields.get("last")),
        from_text(fields.get("started_at")),
        from_text(fields.get("finished_at")),
    )
    is_common = fields.keys() <= _COMMON_FIELDS
    return (_READ if is_common else _READ_RARE).read(
        {"waits_for": last.get("w"), **fields, **last},
        status=_STATUSES.get(_string(fields.get("status")) or "", Status.PENDING),
        lease=_read_lease(fields.get("lease"), last.get("epoch", started_at)),
        started_at=started_at,
        finished_at=finished_at,
        receipt=_last_receipt(last, finished_at),
        **({} if is_common else _read_unknown(fields)),
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


def _read_lease(document: Json, epoch: Json) -> Lease:
    """Read a lease; `epoch` is that of an ended state, which is in `last`, or else the time of its start."""
    fields = object_of(document)
    lease = _READ_LEASE.read(fields, epoch=count_of(fields.get("epoch", epoch)))
    if lease.expires_at is None and lease.ts is not None and lease.ttl_s is not None:
        return replace(lease, expires_at=lease.ts + lease.ttl_s * SECOND)
    return lease


def _with_attached(written: dict[str, Json], doc: StateDoc) -> dict[str, Json]:
    for value in doc.attached:
        written[value.field] = value.as_json()
    return written


def _present(fields: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value is not None}


def _write_last(doc: StateDoc) -> dict[str, Json]:
    """Write the last receipt (`r`) and the counters. The time of a receipt is left out where it is that of the end."""
    last = _WRITE_LAST(doc)
    if doc.receipt is not None:
        last["r"] = write_receipt(doc.receipt)
        if doc.receipt.at == doc.finished_at:
            del last["r"]["at"]
    if doc.status.is_terminal:
        if doc.lease.epoch != (doc.started_at or 0):
            last["epoch"] = doc.lease.epoch
        if doc.waits_for:
            last["w"] = dict(doc.waits_for)
    return last


def _read_unknown(document: dict[str, Any]) -> dict[str, Any]:
    """Read the values of capabilities, and keep the fields that no code reads."""
    attached = [value for kind in ATTACHED.kinds if (value := kind.read(document.get(kind.field))) is not None]
    known = _STATE_FIELDS | ATTACHED.fields
    extra = {name: value for name, value in document.items() if name not in known}
    return {"attached": tuple(attached), "extra": extra}


def _last(text: Json) -> dict[str, Any]:
    """Parse the string `last`; unreadable text is empty."""
    try:
        return object_of(load(text))
    except (TypeError, ValueError):
        return {}


def _last_receipt(document: Mapping[str, Any], finished_at: int | None) -> Receipt | None:
    """Read the last receipt.

    Earlier versions had a long name for the receipt, and the first ones a receipt for each operation.
    """
    receipt = document.get("r") or document.get("receipt")
    if receipt is None and not document.keys().isdisjoint(_OPERATIONS):
        receipt = _first_receipt(document)
    return read_receipt({"at": finished_at, **receipt}) if isinstance(receipt, dict) else None


def _first_receipt(last: Mapping[str, Any]) -> Json:
    """Return the receipt that the first versions wrote, of the end of the state if there is one; None without any."""
    receipts = ((operation, last.get(operation)) for operation in _OPERATIONS)
    return next(({"op": operation, **receipt} for operation, receipt in receipts if isinstance(receipt, dict)), None)


def _one_or_all(names: tuple[str, ...]) -> Json:
    """Write names: nothing, a single one as it is, or a list."""
    return list(names) if len(names) > 1 else next(iter(names), None)


def _one_or_more(value: Json) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(map(str, value)) if isinstance(value, list) else ()


def _string(value: Json) -> str | None:
    return value if isinstance(value, str) else None
