"""Looks up the members of an object in the record: attribute, name, type and default of each."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, Union, get_args, get_origin, get_type_hints

from dcf.values.records import record

Nested: TypeAlias = Any
"""The codec of a record in another: an object or a class with the methods of `Codec`."""

SPREAD: Final = "**"


@record(frozen=True, slots=True, kw_only=True)
class Member:
    """One member. `attribute` is a path of names. `codecs` are those of attributes; `nested` makes one for a record."""

    attribute: str
    name: str
    hint: Any
    default: Any
    is_time: bool
    is_count: bool
    left_out: str
    is_spread: bool
    is_read: bool
    is_optional: bool
    codecs: Mapping[str, Nested]
    nested: Callable[[Any], Nested]

    @property
    def has_codec(self) -> bool:
        """True if a codec was named for the attribute."""
        return self.attribute in self.codecs

    def codec(self, hint: Any) -> Nested:
        """Return the codec of a record of this type in the member."""
        return self.codecs.get(self.attribute) or self.nested(hint)

    @property
    def condition(self) -> str | None:
        """The expression of `v` by which the member is written; None if it always is."""
        if self.left_out == "defaults" and self.default is not None:
            return None if self.default is MISSING else "v != default" if self.default else "v"
        if self.left_out == "empty" and is_container(self.hint):
            return "v"
        return "v is not None" if self.left_out != "nothing" and plain_type(self.hint)[1] else None


def members_of(
    kind: type[Any],
    attributes: Sequence[str],
    *,
    named: Mapping[str, str],
    times: frozenset[str],
    rare: frozenset[str],
    counts: frozenset[str],
    added: frozenset[str],
    left_out: str,
    **others: Any,
) -> tuple[Member, ...]:
    """Return the members of the JSON of a record, in order: all fields, or these attributes."""
    members = []
    for spelled in attributes or [item.name for item in fields(kind)]:
        attribute = spelled.removeprefix(SPREAD)
        hint, default, is_field = _looked_up(kind, attribute)
        members.append(
            Member(
                attribute=attribute,
                name=named.get(attribute, attribute.rpartition(".")[2]),
                hint=hint,
                default=default,
                is_time=attribute in times,
                is_count=attribute in counts,
                is_spread=spelled.startswith(SPREAD),
                left_out="defaults" if attribute in rare else left_out,
                is_optional=left_out != "nothing" or attribute in rare | added,
                is_read=is_field and not spelled.startswith(SPREAD),
                **others,
            )
        )
    return tuple(members)


def _looked_up(kind: type[Any], attribute: str) -> tuple[Any, Any, bool]:
    """Return the type and the default of an attribute of a record, or of a record in it, and whether it is a field."""
    hint: Any = kind
    default: Any = MISSING
    is_field = True
    for name in attribute.split("."):
        kind, _ = plain_type(hint)
        field: Field[Any] | None = kind.__dataclass_fields__.get(name)
        if field is None:
            hint, is_field = get_type_hints(getattr(kind, name).fget)["return"], False
            default = () if is_container(hint) else None if plain_type(hint)[1] else MISSING
        else:
            hint, default = _hints(kind)[name], _default(field)
    return hint, default, is_field


_hints: Final[Callable[[Any], Mapping[str, Any]]] = cache(get_type_hints)
"""Returns the types of the fields of a record: several codecs of a large record ask for them."""


def _default(field: "Field[Any]") -> Any:
    return field.default if field.default_factory is MISSING else field.default_factory()


def kind_at(kind: type[Any], name: str) -> type[Any]:
    """Return the type of the record in a field of another."""
    inner: type[Any] = plain_type(_hints(kind)[name])[0]
    return inner


def plain_type(hint: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether None was part of it. Any JSON value may be None."""
    if get_origin(hint) in (Union, UnionType):
        kinds = [item for item in get_args(hint) if item is not NoneType]
        return reduce(or_, kinds), NoneType in get_args(hint)
    return hint, hint is Any


def is_container(hint: Any) -> bool:
    """Return True for lists, mappings and the like."""
    return is_kind_of(get_origin(plain_type(hint)[0]), Collection)


def is_fixed(hint: Any) -> bool:
    """Return True for tuples of a fixed length. Their items are plain values."""
    return get_origin(hint) is tuple and Ellipsis not in get_args(hint)


def is_kind_of(origin: Any, kind: type[Any]) -> bool:
    """Return True if the origin of a generic type is a class of this kind."""
    return isinstance(origin, type) and issubclass(origin, kind)


def is_record(hint: Any) -> bool:
    """Return True for the type of a record."""
    return isinstance(hint, type) and is_dataclass(hint)
