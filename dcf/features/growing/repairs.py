"""Tries a failed unit again, and takes back a unit with everything that followed it. Pure.

A retry is another attempt of the same unit. A unit that is taken back waits again for its dependencies. The lease
holder of such a unit is fenced out and gets an event. A parent that is worked on keeps its lease, and ends after the
units that were taken back. Outputs leave the run's documents; short ones are recorded in the history.
"""

from collections.abc import Collection, Mapping
from typing import Final

from dcf.core.completing.transition import Transition
from dcf.core.definitions.model import Definition
from dcf.core.documents import receipts
from dcf.core.documents.decision import Decision, Event, Snapshot
from dcf.core.documents.kinds import GATE
from dcf.core.documents.model import Lease, RunStatus, StateDoc, Status
from dcf.core.documents.notices import lost_notices
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER
from dcf.core.leasing.lease import forgotten_claim
from dcf.features.gates.model import NO_GATES, RECORDS
from dcf.features.growing.counts import GROWTH, Growth
from dcf.features.growing.definition import units_of
from dcf.features.growing.model import Units
from dcf.features.growing.progress import WELL, open_unit, settled
from dcf.features.growing.refusals import CANNOT, NOT_GROWING, unknown_unit
from dcf.values.digest import content_fingerprint
from dcf.values.json_text import Json, byte_length
from dcf.values.records import replace

_MOST_NAMED: Final = 200
_SHORT: Final = 4_000
"""Most bytes of an output that was taken back, for a record of it in the history."""

_RETRIABLE: Final = frozenset({Status.FAILED, Status.CANCELLED})


def what_followed(units: Units, name: str, going_on: Collection[str] = ()) -> tuple[str, ...]:
    """Return the unit and all that can come only after it: followers, groups around, parents, and what follows them.

    A parent that is `going_on` did not come after what is below it: it only ends after it.
    """
    followers: dict[str, None] = {name: None}
    pending = [name]
    while pending:
        item = pending.pop()
        unit = units.by_name[item]
        around = (unit.group, None if unit.parent in going_on else unit.parent)
        new = [next_ for next_ in (*units.followers_of(item), *around) if next_ is not None and next_ not in followers]
        followers |= dict.fromkeys(new)
        pending += new
    return tuple(followers)


def to_rewind(units: Units, name: str) -> tuple[str, ...]:
    """Return the states that taking a unit back needs to read: what followed, and what that waits for."""
    if name not in units.by_name:
        return ()
    after = what_followed(units, name)
    return tuple(dict.fromkeys((*after, *(source for name in after for source in units.waits[name]))))


@decided_once
def retry_unit(snapshot: Snapshot, request: RunRequest, name: str, definition: Definition) -> RunDecision:
    """Let a unit that failed be taken again."""
    meta, units = snapshot.existing_meta, units_of(definition)
    if units is None:
        return Decision(answer=NOT_GROWING.refuse())
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    doc = snapshot.states.get(name)
    if doc is None or units.by_name[name].is_group:
        return Decision(answer=unknown_unit(name, units.by_name.get(name)))
    if doc.status not in _RETRIABLE:
        return Decision(answer=CANNOT.refuse(name=name, doc=doc, status="tried again", advice=_NOT_FAILED))
    step = Transition(now=snapshot.now, epoch=doc.lease.next_epoch(snapshot.now), meta=meta)
    again = _reopened(doc, step.epoch, retries=doc.retries + 1)
    step.writes.states[name] = again
    data = request.told(epoch=step.epoch, retry=again.retries, error=doc.last_error)
    step.writes.events.append(Event(type="UnitRetried", state=name, data=data))
    if again.is_ready:
        open_unit(step, name, again, None)
    answer: dict[str, Json] = {
        "unit": name,
        "unit_status": Status.PENDING.value,
        "retries": again.retries,
        "ready": again.is_ready,
        "hint": _RETRIED,
    }
    return Decision(answer=RunAnswer(answer=answer, at=snapshot.now), changes=step.writes)


@decided_once
def rewind_unit(snapshot: Snapshot, request: RunRequest, name: str, definition: Definition) -> RunDecision:
    """Reopen a unit that was begun, and everything that followed it."""
    meta, units, growth = snapshot.existing_meta, units_of(definition), snapshot.part(GROWTH)
    if units is None or growth is None:
        return Decision(answer=NOT_GROWING.refuse())
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    doc = snapshot.states.get(name)
    if doc is None or units.by_name[name].is_group:
        return Decision(answer=unknown_unit(name, units.by_name.get(name)))
    if doc.status is Status.PENDING:
        return Decision(answer=CANNOT.refuse(name=name, doc=doc, status="taken back", advice=_NOT_BEGUN))
    after = what_followed(units, name, _going_on(snapshot.states))
    epoch = max(snapshot.states[path].lease.next_epoch(snapshot.now) for path in after)
    step = Transition(now=snapshot.now, epoch=epoch, meta=meta)
    undone = {path: state for path in after if _is_undone(path, state := snapshot.states[path], name, after)}
    for path, state in undone.items():
        growth = _undo(step, snapshot, path, state, units, growth, after)
        data = request.told(epoch=step.epoch, was=state.status.value, unit=name, **_output(snapshot, path))
        step.writes.events.append(Event(type="UnitRewound", state=path, data=data))
    step.writes.put(GROWTH, growth)
    if (snapshot.meta_document or {}).get("held_end") is not None:
        step.writes.meta["held_end"] = None
    for path in undone:  # a parent does not wait for what is below it, to begin
        if step.writes.states[path].is_ready and not units.by_name[path].is_group:
            open_unit(step, path, step.writes.states[path], None)
    rewound: list[Json] = [path for path, staffed in undone.items() if staffed.status is not Status.PENDING]
    answer: dict[str, Json] = {
        "unit": name,
        "rewound": rewound[:_MOST_NAMED],
        "rewound_count": len(rewound),
        "hint": _REWOUND,
    }
    return Decision(answer=RunAnswer(answer=answer, at=snapshot.now), changes=step.writes)


def _going_on(docs: Mapping[str, StateDoc]) -> frozenset[str]:
    """Return the units in progress. A unit that was submitted to its gates is not: it rests on the units below it."""
    return frozenset(path for path, doc in docs.items() if doc.status is Status.RUNNING and not doc.is_judged)


def _is_undone(path: str, doc: StateDoc, name: str, after: tuple[str, ...]) -> bool:
    """Return True for the unit itself, for units started since, and for units that wait for less than they must."""
    if path == name or doc.status is not Status.PENDING:
        return True
    undone = set(after)
    return any(epoch and source in undone for source, epoch in doc.waits_for.items())


def _undo(
    step: Transition, snapshot: Snapshot, path: str, doc: StateDoc, units: Units, growth: Growth, after: tuple[str, ...]
) -> Growth:
    """Write a document as it was before control came to it; return the counts with it open again."""
    undone = frozenset(after)
    waits = {wait: 0 if wait in undone else settled(snapshot.states.get(wait)) for wait in units.waits[path]}
    step.writes.states[path] = replace(_reopened(doc, step.epoch, retries=doc.retries), waits_for=waits)
    if "Gates" in units.by_name[path].told:
        step.writes.put(RECORDS, {path: NO_GATES})  # the next output is judged again
    step.writes.timers[path] = None
    step.writes.claims.update(forgotten_claim(doc))
    step.writes.receipts.update(receipts.lost(path, doc, snapshot.now))
    step.writes.notices.extend(lost_notices(path, doc.lease, "rewound"))
    if path in snapshot.outputs:
        step.writes.dropped.append(path)
    unit = units.by_name[path]
    return growth.opened(unit.group, unit.parent) if doc.status in WELL else growth


def _reopened(doc: StateDoc, epoch: int, *, retries: int) -> StateDoc:
    """Return the document of a unit that was not taken yet, with what is kept of its earlier attempts."""
    return StateDoc(
        attempts=doc.attempts,
        lease=Lease(epoch=epoch),
        last_error=doc.last_error,
        waits_for=doc.waits_for,
        kind=None if doc.kind == GATE else doc.kind,
        receipt=doc.receipt,
        retries=retries,
        tries_from=doc.attempts,
        extra=doc.extra,
    )


def _output(snapshot: Snapshot, path: str) -> Mapping[str, Json]:
    """Return what the history keeps of an output that was taken back."""
    if path not in snapshot.outputs:
        return {}
    output = snapshot.outputs[path]
    size = byte_length(output)
    return {"output": output} if size <= _SHORT else {"output_bytes": size, "output_is": content_fingerprint(output)}


_NOT_FAILED: Final = "Only a unit that failed is tried again. `rewind_unit` reopens a unit that is done or worked on."
_NOT_BEGUN: Final = "It has not been begun: nothing is to be taken back."
_RETRIED: Final = "Its agents are notified, and the next lease shows the last error."
_REWOUND: Final = "Holders are told to stop and their writes are refused; the unit can be taken again when it is ready."
