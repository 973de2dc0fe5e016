"""The facts about a value before a run: it matches the OutputSchema of a Task, or is composed of such values. Pure.

A shape is what is certain. None means that nothing is known; then nothing is said about what is read of the value.
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final, TypeAlias

from dcf.asl.expressions.paths import Path
from dcf.asl.json_schema.syntax import target_of
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.text_pieces import clip
from dcf.workflows.validation.pointers import value_at


@record(frozen=True, slots=True, kw_only=True)
class Promised:
    """A value that matches a schema, which stands inside the OutputSchema `root` of a Task."""

    schema: Json
    root: Json
    task: str


@record(frozen=True, slots=True, kw_only=True)
class Placed:
    """An object of which one member is known, and the others as far as those of `base` are."""

    base: "Shape"
    name: str
    inner: "Shape"


Shape: TypeAlias = Promised | Placed | None


@record(frozen=True, slots=True, kw_only=True)
class NotThere:
    """A member that is not there: `is_certain`, or only not promised, since other members than those listed may be."""

    name: str
    task: str
    is_certain: bool
    others: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a clause that says so, and what was probably meant."""
        verb = "rules out" if self.is_certain else "does not list"
        near = get_close_matches(self.name, self.others, 1) if len(self.name) <= _LONGEST_GUESSED else []
        listed = ", ".join(map(clip, self.others[:_SHOWN]))
        more = f": did you mean '{clip(near[0])}'?" if near else f"; it has {listed}." if listed else "."
        return f"which the OutputSchema of '{self.task}' {verb}{more}"


_SHOWN: Final = 10
_LONGEST_GUESSED: Final = 200
"""Characters of a name for which a similar one is sought: the time grows with their square."""

_DEPTH: Final = 20
_COMBINED: Final = frozenset(
    {"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "const", "enum", "$ref"}
)
"""Keywords with which `properties` do not describe the members completely."""

_NOTES: Final = frozenset({"title", "description", "default", "examples", "$comment", "deprecated", "readOnly"})


def follow(shape: Shape, steps: Iterable[str | int], *, maps: bool) -> Shape | NotThere:
    """Return the shape of the value at these steps. `maps`: a name is read of all elements of an array."""
    for step in steps:
        member_shape = _member(shape, step, maps=maps)
        if member_shape is None or isinstance(member_shape, NotThere):
            return member_shape
        shape = member_shape
    return shape


def select(shape: Shape, path: Path | None) -> Shape | NotThere:
    """Return the shape of the value at a JSONPath; None for a path with several values, or not into the input."""
    if path is None or not path.in_document:
        return None
    selected = follow(shape, path.steps, maps=False)
    return selected if path.search is None or isinstance(selected, NotThere) else None


def put(path: Path | None, raw: Shape, result: Shape) -> Shape:
    """Return the shape of an input with a result at a ResultPath; a null path discards the result."""
    if path is None:
        return raw
    if not path.in_document or path.search is not None or not all(isinstance(step, str) for step in path.steps):
        return None
    return _put([str(step) for step in path.steps], raw, result)


def elements(shape: Shape) -> Shape:
    """Return the shape of each element of an array."""
    member = (
        _member(shape, 0, maps=False) if isinstance(shape, Promised) and "prefixItems" not in shape.schema else None
    )
    return None if isinstance(member, NotThere) else member


def _put(steps: list[str], raw: Shape, result: Shape) -> Shape:
    if not steps:
        return result
    inner = _member(raw, steps[0], maps=False)
    placed = _put(steps[1:], None if isinstance(inner, NotThere) else inner, result)
    return Placed(base=_without(raw, steps[0]), name=steps[0], inner=placed)


def _without(shape: Shape, name: str) -> Shape:
    """Forget an earlier value of a member, so that a loop does not make shapes grow."""
    if not isinstance(shape, Placed):
        return shape
    base = _without(shape.base, name)
    return base if shape.name == name else Placed(base=base, name=shape.name, inner=shape.inner)


def _member(shape: Shape, step: str | int, *, maps: bool) -> Shape | NotThere:
    if isinstance(shape, Placed):
        return shape.inner if shape.name == step else _member(shape.base, step, maps=maps)
    for _ in range(_DEPTH):
        if shape is None or not isinstance(shape.schema, dict):
            return None
        following = _plainer(shape, step, maps=maps)
        if following is None:
            return _of_object(shape, step) if isinstance(step, str) else _of_array(shape, step)
        if isinstance(following, NotThere):
            return following
        shape = following
    return None


def _plainer(shape: Promised, step: str | int, *, maps: bool) -> Promised | NotThere | None:
    """Follow a reference, an alternative to null, or an array whose elements are read; None if there is none."""
    schema = shape.schema
    words = schema.keys() - _NOTES - {"$defs", "definitions", "$schema", "$id"}
    if words == {"$ref"}:
        return _at(shape, value_at(shape.root, target_of(schema["$ref"]) or ""))
    if words in ({"anyOf"}, {"oneOf"}):
        (several,) = words
        possible = [branch for branch in schema[several] if branch != {"type": "null"}]
        return _at(shape, possible[0]) if len(possible) == 1 else None
    if isinstance(step, str) and schema.get("type") == "array":
        items = schema.get("items", True)
        is_known = maps and "prefixItems" not in schema
        if is_known:
            return _at(shape, items)
        return None if maps else NotThere(name=step, task=shape.task, is_certain=True)
    return None


def _of_object(shape: Promised, name: str) -> Shape | NotThere:
    schema = shape.schema
    if _excludes(schema, "object") and _excludes(schema, "array"):
        return NotThere(name=name, task=shape.task, is_certain=True)
    if schema.get("type", "object") != "object":
        return None
    properties = schema.get("properties", {})
    if name in properties:
        return _at(shape, properties[name])
    return _unlisted(shape, name)


def _unlisted(shape: Promised, name: str) -> Shape | NotThere:
    """Return the shape of a member that is not among the properties."""
    schema, others = shape.schema, tuple(shape.schema.get("properties", {}))
    if name in schema.get("required", ()) or "patternProperties" in schema:
        return None
    if schema.get("additionalProperties") is False:
        return NotThere(name=name, task=shape.task, is_certain=True, others=others)
    if "additionalProperties" in schema:
        return _at(shape, schema["additionalProperties"])
    is_told = bool(others) and _COMBINED.isdisjoint(schema)
    return NotThere(name=name, task=shape.task, is_certain=False, others=others) if is_told else None


def _of_array(shape: Promised, index: int) -> Shape | NotThere:
    schema = shape.schema
    if _excludes(schema, "array"):
        return NotThere(name=str(index), task=shape.task, is_certain=True)
    if schema.get("type") != "array" or "prefixItems" in schema:
        return None
    return _at(shape, schema.get("items", True))


def _excludes(schema: Mapping[str, Json], kind: str) -> bool:
    """Return True if no value of this type matches."""
    named = schema.get("type")
    return named is not None and kind not in ([named] if isinstance(named, str) else named)


def _at(shape: Promised, schema: Json) -> Promised:
    return Promised(schema=schema, root=shape.root, task=shape.task)
