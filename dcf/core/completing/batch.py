"""Several writes of holders in one transaction, as if they came one after the other. Pure.

A worker that has several states in hand so completes them with one round trip. Each write is decided by `progress` on
what the writes before it leave. This module decides nothing else.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from functools import reduce
from typing import Any, TypeAlias

from dcf.core.completing import progress
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced
from dcf.core.documents.answers import Updated
from dcf.core.documents.decision import Decision, More, Remaining, Snapshot, Tally, WriteSet
from dcf.core.documents.model import Meta, RunStatus
from dcf.core.documents.parts import Parts, seen_after, written_by
from dcf.core.documents.usage import plus, stored_budget
from dcf.core.leasing.blockers import read_blockers
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal

Answers: TypeAlias = tuple[Updated | Refusal, ...]

Decided: TypeAlias = Decision[Answers | More]
"""Has a name since Python evaluates the annotations of an inner function each time that it is made."""


def update_all(
    snapshot: Snapshot, requests: Sequence[Update], definition: Definition, context: Mapping[str, Json]
) -> Decided:
    """Apply the writes in order. Each gets the answer that it would get alone; those that are refused change nothing.

    The snapshot has what all of them need. Next states that are claimed count together: no more than the last request
    asks for, and only the last one looks for states that were ready before.
    """
    if len(requests) == 1:
        alone = progress.update(snapshot, requests[0], definition, context)
        answer = alone.answer if isinstance(alone.answer, More) else (alone.answer,)
        return Decision(answer=answer, changes=alone.changes, remaining=alone.remaining)
    answers: list[Updated | Refusal] = []
    made: list[Decision[Updated | Refusal | More]] = []
    left = requests[-1].claim_most if requests else 0
    for request in requests:
        is_last = request is requests[-1]
        update = _claiming(request, left) if is_last else replace(_claiming(request, left), only_entered=True)
        decision = progress.update(snapshot, update, definition, context)
        if isinstance(decision.answer, More):
            return Decision(answer=decision.answer)
        answers.append(decision.answer)
        made.append(decision)
        if decision.changes is not None:
            left -= claims_of([decision.answer])
            snapshot = _after(snapshot, decision.changes)
    return Decision(
        answer=tuple(answers),
        changes=_together([item.changes for item in made if item.changes is not None]),
        remaining=reduce(_both, (item.remaining for item in made), Remaining()),
    )


def _claiming(request: Update, left: int) -> Update:
    """Return the request with the number of states that may still be claimed."""
    if request.claim_ttl_s is None:
        return request
    return replace(request, claim_most=left) if left > 0 else replace(request, claim_ttl_s=None)


def claims_of(answers: Iterable[Updated | Refusal]) -> int:
    """Return how many leases on next states were granted with these answers."""
    return sum(len(answer.claims) for answer in answers if isinstance(answer, Updated))


def _after(snapshot: Snapshot, changes: WriteSet) -> Snapshot:
    """Return what the next write would read if these changes were committed."""
    counted = {path: read.plus(changes.ended.get(path, Tally())) for path, read in snapshot.tallies.items()}
    after = fenced(
        replace(
            snapshot,
            meta=None if snapshot.meta is None else _after_patch(snapshot.meta, changes.meta),
            states={**snapshot.states, **changes.states},
            outputs={**snapshot.outputs, **changes.outputs},
            tallies=counted,
            receipts={**snapshot.receipts, **changes.receipts},
            usage=_after_charges(snapshot.usage, changes),
            parts=seen_after(snapshot.parts, changes.parts),
            signals=changes.signals[-1] if changes.signals else snapshot.signals,
        )
    )
    return replace(after, void={**snapshot.void, **after.void})


def _after_charges(sums: Mapping[str, int] | None, changes: WriteSet) -> Mapping[str, int] | None:
    if sums is None or not changes.usage:
        return sums
    return reduce(plus, (charge.usage for charge in changes.usage), dict(sums))


def _after_patch(meta: Meta, patch: Mapping[str, Json]) -> Meta:
    if "blocked_by" in patch:
        meta = replace(meta, blocked_by=read_blockers(patch["blocked_by"]))
    if "budget" in patch:
        meta = replace(meta, budget=stored_budget(patch["budget"]))
    return replace(meta, status=RunStatus(patch["status"])) if "status" in patch else meta


def _together(changes: list[WriteSet]) -> WriteSet | None:
    """Return one record of these changes, the later of two writes to the same place; None if there are none."""
    if len(changes) < 2:  # noqa: PLR2004 - the usual case, and nothing to do
        return changes[0] if changes else None
    names = [row.name for row in fields(WriteSet)]
    rows: dict[str, Any] = {name: _joined([getattr(more, name) for more in changes]) for name in names}
    parts: Parts = {}
    for more in changes:
        parts = written_by(parts, more.parts)
    return WriteSet(**{**rows, "parts": parts})


def _joined(values: list[Any]) -> Any:
    match values[0]:
        case dict():
            return _merged(values)
        case list() | tuple():
            return type(values[0])(part for value in values for part in value)
    return next((value for value in reversed(values) if value), values[-1])


def _merged(values: list[dict[Any, Any]]) -> dict[Any, Any]:
    merged: dict[Any, Any] = {}
    for value in values:
        for place, new in value.items():
            old = merged.get(place)
            merged[place] = old.plus(new) if isinstance(old, Tally) and isinstance(new, Tally) else new
    return merged


def _both(before: Remaining, more: Remaining) -> Remaining:
    return Remaining(
        closed=[*before.closed, *more.closed],
        reading={**before.reading, **more.reading},
        paused={**before.paused, **more.paused},
        counting={**before.counting, **more.counting},
        run_over=before.run_over or more.run_over,
    )
