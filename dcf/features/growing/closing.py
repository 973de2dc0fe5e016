"""Seals groups and open runs, and closes runs: it ends additions, and reports the result. Pure.

A group ends automatically once it is sealed and all its units have ended well; so does the run. Closing is strict: what
is open must be skipped first, or the close forced. Not even by force does a run end `succeeded` while a unit, a group
or an issue that blocks it is open.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.completing.transition import Transition
from dcf.core.definitions.model import Definition
from dcf.core.documents import receipts
from dcf.core.documents.decision import Decision, Event, More, Notice, Remaining, Snapshot, WriteSet
from dcf.core.documents.model import Lease, Meta, RunStatus, StateDoc, Status
from dcf.core.documents.notices import NoticeKind, stop_notices, tell_parent
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER
from dcf.core.leasing.halt_refusals import issues_open
from dcf.core.leasing.lease import forgotten_claim
from dcf.core.lifecycle.growing_timeouts import NOT_PAUSED
from dcf.errors import InvalidArgument
from dcf.features.growing.counts import GROWTH, Growth
from dcf.features.growing.definition import units_of
from dcf.features.growing.model import Units
from dcf.features.growing.progress import WELL, close_group, end_if_done, settle
from dcf.features.growing.refusals import NOT_GROWING, STILL_OPEN, UNITS_OPEN, unknown_unit
from dcf.values.digest import content_fingerprint
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

LONGEST_SUMMARY: Final = 8_000
MOST_POINTS: Final = 50
LONGEST_POINT: Final = 1_000
MAX_METRICS: Final = 8_000
"""Most bytes of the metrics of a close."""


@record(frozen=True, slots=True, kw_only=True)
class Seal:
    """Request to seal a group, or the whole run (`group` None).

    `only_if_done`: refuse while anything in it has not ended well. `force`: skip what has not. `ends`: the group ends
    with this status although units in it have failed; refuse while one is open.
    """

    group: str | None = None
    only_if_done: bool = False
    force: bool = False
    ends: Status | None = None

    def arguments(self) -> dict[str, Json]:
        """Return what is asked for, for its fingerprint."""
        ends = {} if self.ends is None else {"ends": self.ends.value}
        return {"group": self.group, "only_if_done": self.only_if_done, "force": self.force, **ends}

    @property
    def reads_all(self) -> bool:
        """True if it depends on how the units in it stand."""
        return self.force or self.only_if_done or self.ends is not None


@record(frozen=True, slots=True, kw_only=True)
class Close:
    """Request to end a run, with what is to be kept of it. `force`: although units have failed or, if it did, are open.

    The run has `output` from then on, if there is one.
    """

    status: RunStatus = RunStatus.SUCCEEDED
    summary: str | None = None
    achievements: tuple[str, ...] = ()
    limitations: tuple[str, ...] = ()
    metrics: Json = None
    output: Mapping[str, Json] | None = None
    force: bool = False

    def arguments(self) -> dict[str, Json]:
        """Return what is asked for, for its fingerprint."""
        output = {} if self.output is None else {"output": dict(self.output)}
        return {"status": self.status.value, **self.told(), **output, "force": self.force}

    def told(self) -> dict[str, Json]:
        """Return what the run keeps of it."""
        members: dict[str, Json] = {
            "summary": self.summary,
            "achievements": list(self.achievements),
            "limitations": list(self.limitations),
            "metrics": self.metrics,
        }
        return {name: value for name, value in members.items() if value not in (None, [])}


def check_points(points: Sequence[str], *, name: str) -> tuple[str, ...]:
    """Return achievements or limitations; raise InvalidArgument where these are too many, empty or too long."""
    if len(points) > MOST_POINTS or not all(0 < len(point) <= LONGEST_POINT for point in points):
        raise InvalidArgument(
            f"{name} is no list of at most {MOST_POINTS} texts of up to {LONGEST_POINT} characters.",
            f'Send {name} as ["A", "B"].',
        )
    return tuple(points)


def to_seal(units: Units, wish: Seal) -> tuple[str, ...]:
    """Return the states that sealing needs to read."""
    if wish.group is None:
        groups = tuple(name for name, unit in units.by_name.items() if unit.is_group)
        return tuple(units.by_name) if wish.reads_all else groups
    if wish.group not in units.by_name:
        return ()
    inside = tuple(units.inside(wish.group)) if wish.reads_all else ()
    return (wish.group, *inside)


@decided_once
def seal(snapshot: Snapshot, request: RunRequest, wish: Seal, definition: Definition) -> RunDecision:
    """Allow no further units there; end it if all its units have ended well. Sealing again has no effect."""
    meta, units, growth, group = snapshot.existing_meta, units_of(definition), snapshot.part(GROWTH), wish.group
    if units is None or growth is None:
        return Decision(answer=NOT_GROWING.refuse())
    left = [
        name
        for name in to_seal(units, wish)
        if not units.by_name[name].is_group and snapshot.states[name].status not in WELL
    ]
    refusal = _unless_sealable(meta.status, units, wish, left) or _unless_ended(snapshot, wish, left)
    if refusal is not None:
        return Decision(answer=refusal)
    if growth.is_sealed(group) and not wish.force:
        return Decision(answer=RunAnswer(answer=_sealed(growth, group, meta.status, new=False), at=snapshot.now))
    step = Transition(now=snapshot.now, epoch=snapshot.now, meta=meta, visited_before=snapshot.states)
    step.writes.put(GROWTH, growth.sealed(group))
    sealed = "RunSealed" if group is None else "GroupSealed"
    step.writes.events.append(Event(type=sealed, state=group, data=request.told()))
    more = _skip(step, snapshot, left if wish.force else [], units) or _close(step, snapshot, units, wish)
    if more is not None:
        return Decision(answer=more)
    growth = step.writes.written(GROWTH) or growth
    end_if_done(step, growth)
    answer = _sealed(growth, group, step.run_status, new=True)
    answer["next_states"] = list(step.entered)
    return step.decision(RunAnswer(answer=answer, at=snapshot.now))


def _unless_sealable(status: RunStatus, units: Units, wish: Seal, left: list[str]) -> Refusal | None:
    group = wish.group
    if status is not RunStatus.RUNNING:
        return RUN_OVER.refuse(status=status)
    if group is not None and (group not in units.by_name or not units.by_name[group].is_group):
        return unknown_unit(group, units.by_name.get(group))
    return UNITS_OPEN.refuse(total=len(left), names=left) if wish.only_if_done and left else None


def _unless_ended(snapshot: Snapshot, wish: Seal, left: list[str]) -> Refusal | None:
    """Refuse to end a group, whatever failed in it, while a unit in it is open."""
    still = [name for name in left if not snapshot.states[name].status.is_terminal]
    return UNITS_OPEN.refuse(total=len(still), names=still) if wish.ends is not None and still else None


def _sealed(growth: Growth, group: str | None, status: RunStatus, *, new: bool) -> dict[str, Json]:
    count = growth.of(group)
    hint = _DONE if not count.open else _LEFT.format(count=count.open)
    return {"group": group, "sealed": new, "open": count.open, "run_status": status.value, "hint": hint}


def _is_done(step: Transition, group: str) -> bool:
    growth = step.writes.written(GROWTH)
    assert growth is not None, "sealing has written it"
    return growth.of(group).is_done


def _skip(step: Transition, snapshot: Snapshot, names: list[str], units: Units) -> More | None:
    """Write that these units are no longer needed, and what follows."""
    for name in names:
        doc = snapshot.states[name]
        step.writes.states[name] = replace(
            doc,
            status=Status.SKIPPED,
            lease=Lease(epoch=max(doc.lease.epoch, step.epoch)),
            finished_at=step.now,
            kind=None,
            attached=doc.attached and doc.lasting,
            claim=None,
        )
        step.writes.timers[name] = None
        step.writes.claims.update(forgotten_claim(doc))
        step.writes.receipts.update(receipts.lost(name, doc, step.now))
        step.writes.notices.extend(stop_notices({name: doc}))
    if names:
        step.writes.events.append(Event(type="StatesSkipped", data={"states": list(names)}))
    return settle(step, snapshot, units, names) if names else None


def _close(step: Transition, snapshot: Snapshot, units: Units, wish: Seal) -> More | None:
    """End the groups that are done now, or the group of the request with the status that it names."""
    doc = None if wish.group is None else step.current(wish.group)
    if wish.ends is None or wish.group is None or doc is None or doc.status.is_terminal or not doc.is_ready:
        return _close_groups(step, snapshot, units, wish.group)
    close_group(step, wish.group, doc, wish.ends)
    if wish.ends is not Status.SUCCEEDED:
        return None
    return settle(step, snapshot, units, (wish.group,))


def _close_groups(step: Transition, snapshot: Snapshot, units: Units, group: str | None) -> More | None:
    """End the groups that are done now: this one, or with the run all of them."""
    names = [group] if group is not None else [name for name, unit in units.by_name.items() if unit.is_group]
    for name in names:
        doc = step.current(name)
        if doc is None:
            return More(states=(name,))
        if doc.status not in WELL and doc.is_ready and _is_done(step, name):
            close_group(step, name, doc)
            more = settle(step, snapshot, units, (name,))
            if more is not None:
                return more
    return None


@decided_once
def close(snapshot: Snapshot, request: RunRequest, wish: Close, definition: Definition) -> RunDecision:
    """End the run. The same request again gets its answer."""
    meta, units, growth = snapshot.existing_meta, units_of(definition), snapshot.part(GROWTH)
    if units is None or growth is None:
        return Decision(answer=NOT_GROWING.refuse())
    if meta.status is not RunStatus.RUNNING:
        return _closed_before(snapshot, wish, meta.status)
    left = [name for name, doc in snapshot.states.items() if _is_left(name, doc, wish, units)]
    refusal = _unless_closable(snapshot, meta, wish, units, growth, left)
    if refusal is not None:
        return Decision(answer=refusal)
    now, status = snapshot.now, wish.status.value
    closing = {**wish.told(), "of": content_fingerprint(wish.arguments()), "at": to_text(now)}
    patch: dict[str, Json] = {"status": status, "finished_at": to_text(now), "closing": closing}
    patch |= {"cause": wish.summary} if wish.status is RunStatus.FAILED else {}
    patch |= {} if wish.output is None else {"output": wish.output}
    patch |= NOT_PAUSED if meta.is_paused else {}
    notice = Notice(type=NoticeKind.FINISHED.value, state=None, epoch=now, reason=status)
    event = Event(type="RunClosed", data=request.told(status=status, left=len(left)))
    return Decision(
        answer=RunAnswer(answer=_told(wish, units, len(left)), at=now),
        changes=WriteSet(
            meta=patch,
            parts=GROWTH.written(growth.sealed(None)),
            events=[event],
            notices=[notice, *tell_parent(meta, now)],
        ),
        remaining=Remaining(run_over=True),
    )


def _unless_closable(
    snapshot: Snapshot, meta: Meta, wish: Close, units: Units, growth: Growth, left: Sequence[str]
) -> Refusal | None:
    """Refuse a close while units have not ended as it needs it, and a success over anything that is open."""
    if left and not wish.force:
        return UNITS_OPEN.refuse(total=len(left), names=left)
    if wish.status is not RunStatus.SUCCEEDED:
        return None
    if meta.blocked_by:
        return issues_open(meta.blocked_by)
    still = [name for name, doc in snapshot.states.items() if _is_open(name, doc, units, growth)]
    return STILL_OPEN.refuse(names=still) if still else None


def _is_open(name: str, doc: StateDoc, units: Units, growth: Growth) -> bool:
    """Return True for a unit that has not ended, and for a group to which units may still be added."""
    if units.by_name[name].is_group:
        return doc.status not in WELL and not growth.is_sealed(name)
    return not doc.status.is_terminal


def _closed_before(snapshot: Snapshot, wish: Close, status: RunStatus) -> RunDecision:
    """Repeat the answer to the same close; refuse any other."""
    closing = (snapshot.meta_document or {}).get("closing")
    if isinstance(closing, dict) and closing.get("of") == content_fingerprint(wish.arguments()):
        answer: dict[str, Json] = {"run_status": status.value, "hint": _CLOSED}
        return Decision(answer=RunAnswer(answer=answer, at=snapshot.now, repeated=True))
    return Decision(answer=RUN_OVER.refuse(status=status))


def _is_left(name: str, doc: StateDoc, wish: Close, units: Units) -> bool:
    """Return True for a unit that has not ended as a strict close of this status needs it."""
    if units.by_name[name].is_group or doc.status in WELL:
        return False
    return wish.status is RunStatus.SUCCEEDED or not doc.status.is_terminal


def _told(wish: Close, units: Units, left: int) -> dict[str, Json]:
    count = sum(not unit.is_group for unit in units.by_name.values())
    return {"run_status": wish.status.value, "units": count, "left": left, "hint": _CLOSED}


_CLOSED: Final = "The run has ended; `finalize_workflow` writes its audit record."
_DONE: Final = "All of it has ended well."
_LEFT: Final = "It ends automatically when the {count} that are open in it have ended well."
