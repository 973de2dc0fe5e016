"""The types of values, as the compiler knows them: they are made from the annotations of the author. Pure."""

import dataclasses
import enum
import types
import typing
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Final

from dcf.values.records import record, replace

_LISTS: Final = (list, Sequence)
_DICTS: Final = (dict, Mapping)
_WRAPPERS: Final = (typing.Annotated, typing.Required, typing.NotRequired)


@record(frozen=True, slots=True)
class ValueType:
    """The type of a JSON value, as Python sees it.

    `kind` is int, float, str, bool, null, list, dict, obj (its fields are known) or any. `item` is that of a list or
    dict. `optional`: it may be None. `by_dot`: its fields are read as attributes. `declared` is the class behind it.
    """

    kind: str
    item: "ValueType | None" = None
    fields: "tuple[Field, ...]" = ()
    optional: bool = False
    by_dot: bool = False
    declared: Any = None

    @property
    def is_number(self) -> bool:
        """True for an int or a float that is never None."""
        return self.kind in {"int", "float"} and not self.optional

    @property
    def is_scalar(self) -> bool:
        """True for what has no parts."""
        return self.kind in {"int", "float", "str", "bool", "null"}

    @property
    def is_list(self) -> bool:
        """True for a list that is never None."""
        return self.kind == "list" and not self.optional

    @property
    def is_mapping(self) -> bool:
        """True for a dict that is never None, also if its keys are known."""
        return self.kind in {"dict", "obj"} and not self.by_dot and not self.optional

    @property
    def element(self) -> "ValueType":
        """The type of what a list or dict holds."""
        return self.item or ANY

    @property
    def values(self) -> "ValueType":
        """The type of the values of a dict, or of all fields of an object."""
        if self.kind == "dict":
            return self.element
        return joined([field.type for field in self.fields]) or ANY

    def field(self, name: str) -> "Field | None":
        """Return a field by its name."""
        return next((field for field in self.fields if field.name == name), None)

    @property
    def annotation(self) -> "ValueType":
        """The nearest type that an annotation can name: there an object that is written out is a dict."""
        if self.kind == "obj" and self.declared is None:
            values = self.values.annotation
            return ValueType("dict", None if values.kind == "any" else values, optional=self.optional)
        return self if self.item is None else replace(self, item=self.item.annotation)

    def __str__(self) -> str:
        if self.kind == "obj" and self.declared is None:
            parts = [f"'{field.name}': {field.type}" for field in self.fields[:_SHOWN_FIELDS]]
            more = ["..."] if len(self.fields) > _SHOWN_FIELDS else []
            text = f"{{{', '.join([*parts, *more])}}}"
            return f"{text} | None" if self.optional else text
        text = self.declared.__name__ if self.declared is not None else _NAMES.get(self.kind, self.kind)
        if self.item is not None:
            text = f"list[{self.item}]" if self.kind == "list" else f"dict[str, {self.item}]"
        return f"{text} | None" if self.optional else text


@record(frozen=True, slots=True)
class Field:
    """A field of an object. `always`: no object is without it."""

    name: str
    type: ValueType
    always: bool = True


_NAMES: Final = {"any": "Any", "null": "None"}
_SHOWN_FIELDS: Final = 8

ANY: Final = ValueType("any")
INT: Final = ValueType("int")
FLOAT: Final = ValueType("float")
STR: Final = ValueType("str")
BOOL: Final = ValueType("bool")
NULL: Final = ValueType("null")

_SIMPLE: Final[dict[Any, ValueType]] = {
    int: INT,
    float: FLOAT,
    str: STR,
    bool: BOOL,
    None: NULL,
    type(None): NULL,
    list: ValueType("list", ANY),
    dict: ValueType("dict", ANY),
}


def list_of(item: ValueType) -> ValueType:
    """Return the type of a list of these."""
    return ValueType("list", item)


def optional(kind: ValueType) -> ValueType:
    """Return the type of a value that may also be None."""
    return kind if kind.kind in {"any", "null"} else replace(kind, optional=True)


def present(kind: ValueType) -> ValueType:
    """Return the type of a value that is not None."""
    return replace(kind, optional=False) if kind.optional else kind


def join(left: ValueType, right: ValueType) -> ValueType | None:
    """Return the type of a value that is one or the other; None where they have nothing in common."""
    if left == right or "any" in {left.kind, right.kind}:
        return left if left == right else ANY
    if "null" in {left.kind, right.kind}:
        return optional(right if left.kind == "null" else left)
    if left.optional or right.optional:
        both = join(present(left), present(right))
        return None if both is None else optional(both)
    return _joined_present(left, right)


def _joined_present(left: ValueType, right: ValueType) -> ValueType | None:
    if {left.kind, right.kind} == {"int", "float"}:
        return FLOAT
    if left.kind == right.kind in {"list", "dict"}:
        item = join(left.element, right.element)
        return None if item is None else ValueType(left.kind, item)
    if left.kind == right.kind == "obj" and not left.by_dot and not right.by_dot:
        return _joined_objects(left, right)
    return None


def _joined_objects(left: ValueType, right: ValueType) -> ValueType | None:
    fields: list[Field] = []
    for name in dict.fromkeys(field.name for field in (*left.fields, *right.fields)):
        ours, theirs = left.field(name), right.field(name)
        if ours is None or theirs is None:
            known = ours or theirs
            assert known is not None, "the name is of one of the two"
            fields.append(replace(known, always=False))
            continue
        both = join(ours.type, theirs.type)
        if both is None:
            return None
        fields.append(Field(name, both, ours.always and theirs.always))
    declared = left.declared if left.declared is right.declared else None
    return ValueType("obj", None, tuple(fields), declared=declared)


def joined(kinds: Sequence[ValueType]) -> ValueType | None:
    """Return the type of a value that is any of these; ANY for none, None where two have nothing in common."""
    result: ValueType | None = kinds[0] if kinds else ANY
    for kind in kinds[1:]:
        result = None if result is None else join(result, kind)
    return result


def fits(value: ValueType, place: ValueType) -> bool:
    """Return True if a value of one type may stand where the other is wanted. Any fits, as for type checkers."""
    if "any" in {value.kind, place.kind}:
        return True
    if value.kind == "null":
        return place.optional or place.kind == "null"
    if value.optional and not place.optional:
        return False
    if value.kind == "obj":
        return _object_fits(value, place)
    if value.kind == place.kind in {"list", "dict"}:
        return fits(value.element, place.element)
    return value.kind == place.kind or (value.kind, place.kind) == ("int", "float")


def _object_fits(value: ValueType, place: ValueType) -> bool:
    if place.kind == "dict":
        return not value.by_dot and all(fits(field.type, place.element) for field in value.fields)
    if place.kind != "obj":
        return False
    if value.declared is not None or place.by_dot:
        return value.declared is place.declared
    names = {field.name for field in value.fields}
    if not names <= {field.name for field in place.fields}:
        return False
    return all(_field_fits(value.field(field.name), field) for field in place.fields)


def _field_fits(field: Field | None, place: Field) -> bool:
    if field is None:
        return not place.always
    return fits(field.type, place.type) and (field.always or not place.always)


def type_of(hint: Any) -> ValueType:
    """Return the type of an annotation that was resolved; ANY if it is no JSON value, or unknown here."""
    if isinstance(hint, Hashable) and hint in _SIMPLE:
        return _SIMPLE[hint]
    origin = typing.get_origin(hint)
    if origin is not None:
        return _generic_type(origin, typing.get_args(hint))
    return _class_type(hint) if isinstance(hint, type) else ANY


def _generic_type(origin: Any, arguments: Sequence[Any]) -> ValueType:
    if origin in _WRAPPERS:
        return type_of(arguments[0])
    if origin is typing.Literal:
        return joined([type_of(type(value)) for value in arguments]) or ANY
    if origin in {typing.Union, types.UnionType}:
        return _union([type_of(argument) for argument in arguments])
    if origin in _LISTS:
        return list_of(type_of(arguments[0]))
    return ValueType("dict", type_of(arguments[1])) if origin in _DICTS else ANY


def _union(kinds: Sequence[ValueType]) -> ValueType:
    others = [kind for kind in kinds if kind.kind != "null"]
    result = joined(others) or ANY
    return optional(result) if len(others) < len(kinds) else result


def _class_type(hint: type) -> ValueType:
    if issubclass(hint, enum.StrEnum):
        return STR
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint)
        fields = tuple(Field(field.name, type_of(hints[field.name])) for field in dataclasses.fields(hint))
        return ValueType("obj", None, fields, by_dot=True, declared=hint)
    if typing.is_typeddict(hint):
        hints, required = typing.get_type_hints(hint), required_keys(hint)
        fields = tuple(Field(name, type_of(part), name in required) for name, part in hints.items())
        return ValueType("obj", None, fields, declared=hint)
    if is_model(hint):
        models: Any = hint
        fields = tuple(Field(name, type_of(field.annotation)) for name, field in models.model_fields.items())
        return ValueType("obj", None, fields, by_dot=True, declared=hint)
    return ANY


def required_keys(kind: Any) -> frozenset[str]:
    """Return the keys that every dict of a TypedDict has."""
    return frozenset(kind.__required_keys__)


def is_model(hint: Any) -> bool:
    """Return True for a pydantic model, without importing pydantic."""
    return isinstance(hint, type) and hasattr(hint, "model_fields") and hasattr(hint, "model_json_schema")


def is_record_class(hint: Any) -> bool:
    """Return True for a class whose objects are made of fields: a dataclass, a TypedDict or a pydantic model."""
    return isinstance(hint, type) and (dataclasses.is_dataclass(hint) or typing.is_typeddict(hint) or is_model(hint))


def default_of(kind: Any, name: str) -> Any:
    """Return what a field of a record class is without a value; raise LookupError if it needs one."""
    if dataclasses.is_dataclass(kind):
        field = next(field for field in dataclasses.fields(kind) if field.name == name)
        if field.default is not dataclasses.MISSING:
            return field.default
        if field.default_factory is not dataclasses.MISSING:
            return field.default_factory()
    elif is_model(kind) and not kind.model_fields[name].is_required():
        return kind.model_fields[name].get_default(call_default_factory=True)
    raise LookupError(name)
