"""The changes that the JSON tools make to a document, as pure functions.

Each returns the changed document (`Edited`) or a `Refusal`; it never applies a part of a change. Integers stay exact: a
sum that would be rounded is refused.
"""

import math
from typing import Final

from dcf.values.json_paths import MISSING, JsonSteps, find, kind_of, pinned, put, remove, shown
from dcf.values.json_text import MAX_DEPTH, Json, byte_length
from dcf.values.records import record
from dcf.values.refusal import Refusal

_INT_LIMIT: Final = 2**63
_EXACT: Final = 2**53
"""Every integer up to 2^53 can be written as a float without rounding."""

Number = int | float


@record(frozen=True, slots=True, kw_only=True)
class Edited:
    """The changed document, and the path of the changed value in it."""

    document: Json
    at: JsonSteps


def set_value(document: Json, steps: JsonSteps, value: Json) -> Edited | Refusal:
    """Set the value at a path. Missing parents are created as objects."""
    return _edited(put(document, steps, value), steps)


def ensure(document: Json, steps: JsonSteps, default: Json) -> Edited | Refusal:
    """Set the value at a path to `default` if it is missing or null."""
    present = find(document, steps)
    if present is MISSING or present is None:
        return set_value(document, steps, default)
    return Edited(document=document, at=steps)


def append(document: Json, steps: JsonSteps, value: Json, *, spread: bool = False) -> Edited | Refusal:
    """Append to an array or a string. A missing array is created; `spread` appends each element of `value`."""
    present = find(document, steps)
    if isinstance(present, str):
        if isinstance(value, str):
            return set_value(document, steps, present + value)
        return _refuse("wrong_type", f"To the string at {shown(steps)} only a string can be appended.", "Send text.")
    if present is not MISSING and not isinstance(present, list):
        hint = "Append to an array or a string, or replace the value with `json_set`."
        return _refuse("wrong_type", f"At {shown(steps)} is {kind_of(present)}: Target is not an array.", hint)
    if spread and not isinstance(value, list):
        return _refuse("invalid_argument", "spread=true needs an array.", "Send an array, or leave out spread.")
    more = value if spread else [value]
    return set_value(document, steps, [*([] if present is MISSING else present), *more])


def merge(document: Json, steps: JsonSteps, patch: Json) -> Edited | Refusal:
    """Apply a JSON Merge Patch (RFC 7386) to the value at a path. A missing value counts as an empty object."""
    present = find(document, steps)
    return set_value(document, steps, merge_patch(None if present is MISSING else present, patch))


def merge_patch(target: Json, patch: Json) -> Json:
    """Return `target` with an RFC 7386 patch applied: members replace, null removes, a non-object replaces all."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge_patch(merged.get(name), value)
    return merged


def increment(document: Json, steps: JsonSteps, delta: Number) -> Edited | Refusal:
    """Add `delta` to the number at a path, exactly. A missing number counts as 0."""
    present = find(document, steps)
    present = 0 if present is MISSING else present
    if isinstance(present, bool) or not isinstance(present, int | float):
        hint = "Set a number there first (`json_set`), or name another path."
        return _refuse("wrong_type", f"At {shown(steps)} is {kind_of(present)}: Target is not numeric.", hint)
    total = _sum(present, delta)
    if total is None:
        hint = "Integers are exact up to 64 bits, and together with fractions up to 2^53; use smaller numbers."
        return _refuse("out_of_range", f"The sum at {shown(steps)} cannot be written without rounding.", hint)
    return set_value(document, steps, total)


def delete(document: Json, steps: JsonSteps) -> Edited | Refusal:
    """Delete the value at a path. The root becomes `{}`; a missing value is no error."""
    if not steps:
        return Edited(document={}, at=())
    if find(document, steps) is MISSING:
        return Edited(document=document, at=steps)
    return Edited(document=remove(document, steps), at=steps)


def copy(document: Json, source: JsonSteps, target: JsonSteps, *, overwrite: bool) -> Edited | Refusal:
    """Copy the value at `source` to `target`."""
    value = _source(document, source, target, overwrite=overwrite)
    if isinstance(value, Refusal):
        return value
    return set_value(document, target, find(document, source))


def move(document: Json, source: JsonSteps, target: JsonSteps, *, overwrite: bool) -> Edited | Refusal:
    """Move the value at `source` to `target`. Both paths refer to the document as it was before the move."""
    source, target = pinned(document, source), pinned(document, target)
    value = _source(document, source, target, overwrite=overwrite)
    if isinstance(value, Refusal):
        return value
    if source == target:
        return Edited(document=document, at=target)
    if target[: len(source)] == source:
        hint = "Move it elsewhere first, or copy it with `json_copy`."
        return _refuse("invalid_argument", "A value cannot move into itself.", hint)
    placed = put(document, target, find(document, source))
    if isinstance(placed, Refusal):
        return placed
    if source[: len(target)] == target:  # the target contained the source, which is gone with it
        return Edited(document=placed, at=target)
    return Edited(document=remove(placed, source), at=_after_removal(source, target))


def refuse_growth(before: Json, after: Json, max_bytes: int) -> Refusal | None:
    """Refuse a document that is too large or nested too deep, unless it was so before and did not grow."""
    size = byte_length(after)
    if size > max_bytes and (before is MISSING or size > byte_length(before)):
        hint = "Store the data elsewhere and keep a reference to it, or use several documents."
        return _refuse("too_large", f"The document would have {size} bytes; {max_bytes} are allowed.", hint)
    levels = depth(after)
    if levels > MAX_DEPTH and (before is MISSING or levels > depth(before)):
        return _refuse("too_large", f"The document would be nested deeper than {MAX_DEPTH} levels.", "Keep it flatter.")
    return None


def depth(value: Json) -> int:
    """Return the number of nesting levels; a scalar has one."""
    levels, inner = 0, [value]
    while inner:
        levels += 1
        inner = [part for shape in inner for part in _parts(shape)]
    return levels


def _parts(value: Json) -> list[Json]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _source(document: Json, source: JsonSteps, target: JsonSteps, *, overwrite: bool) -> Refusal | None:
    """Return why a value cannot be taken from `source` to `target`, or None."""
    if not source:
        return _refuse("invalid_argument", "from_path cannot be '$' or empty.", "Name a value inside the document.")
    if find(document, source) is MISSING:
        return _refuse("not_found", f"from_path not found: nothing is at {shown(source)}.", "Look with `json_read`.")
    is_same = pinned(document, source) == pinned(document, target)
    if not overwrite and not is_same and find(document, target) is not MISSING:
        hint = "Choose another `to_path`, or allow overwrite."
        return _refuse("already_exists", f"Destination exists and overwrite=False: {shown(target)}.", hint)
    return None


def _after_removal(source: JsonSteps, target: JsonSteps) -> JsonSteps:
    """Return the target's path after the removal of `source`: later elements of an array move down by one."""
    level = len(source) - 1
    if source[:level] != target[:level] or len(target) <= level:
        return target
    left_place, there = source[level], target[level]
    if isinstance(left_place, int) and isinstance(there, int) and left_place < there:
        return (*target[:level], there - 1, *target[level + 1 :])
    return target


def _sum(present: Number, delta: Number) -> Number | None:
    """Return the exact sum; None if it would be rounded."""
    if isinstance(present, int) and isinstance(delta, int):
        total = present + delta
        return total if -_INT_LIMIT <= total < _INT_LIMIT else None
    if any(isinstance(number, int) and abs(number) > _EXACT for number in (present, delta)):
        return None
    result = float(present) + float(delta)
    was_lost = (result == present and delta != 0) or (result == delta and present != 0)
    return None if was_lost or not math.isfinite(result) else result


def _edited(document: Json | Refusal, at: JsonSteps) -> Edited | Refusal:
    return document if isinstance(document, Refusal) else Edited(document=document, at=at)


def _refuse(code: str, message: str, hint: str) -> Refusal:
    return Refusal(code=code, message=message, hint=hint)
