"""Compiles what reads a record: leniently, where an operator may have edited the document, or strictly.

A lenient reader never raises: of what is damaged it returns the field's default, or else what is empty. A strict one
takes plain values as they are, and raises KeyError, TypeError or ValueError where it cannot make the record.
"""

from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal, get_args, get_origin

from dcf.values.instants import from_text
from dcf.values.record_json.members import Member, is_fixed, is_kind_of, is_record, kind_at, plain_type

_EMPTY: Final = {str: "''", int: "0", bool: "False"}
_NAMES: Final[Mapping[str, Any]] = {
    "from_text": from_text,
    "from_iso": datetime.fromisoformat,
    "numbers": frozenset((int, float)),
    "largest": 2**53,  # JSON readers round larger integers
    "missing": object(),
}


def reading(kind: type[Any], members: Sequence[Member], *, strict: bool, whole: bool) -> tuple[str, dict[str, Any]]:
    """Return the source of the function `read`, and what its names mean."""
    names = dict(_NAMES)
    lines = ["def read(d, **others):"]
    if not strict:
        lines.append("    d = d if d.__class__ is dict else {}")
    values: dict[str, str] = {}
    for number, member in enumerate(item for item in members if item.is_read):
        values[member.attribute] = f"a_{number}"
        reader = _Reader(member, names, strict=strict, whole=whole)
        lines += [f"    {line}" for line in reader.lines(f"a_{number}", f"default_{number}")]
    made = _made(kind, "", values, names)
    return "\n".join([*lines, f"    return {made.removesuffix(')')}, **others)", ""]), names


def _made(kind: type[Any], path: str, values: Mapping[str, str], names: dict[str, Any]) -> str:
    """Return the expression that makes the record at a path of attributes, and the records in it."""
    inside = dict.fromkeys(name.removeprefix(path).partition(".")[0] for name in values if name.startswith(path))
    arguments = ", ".join(
        f"{name}={values.get(path + name) or _made(kind_at(kind, name), f'{path}{name}.', values, names)}"
        for name in inside
    )
    make = f"make_{len(names)}"
    names[make] = kind
    return f"{make}({arguments})"


class _Reader:
    """Makes the expressions that read one member."""

    def __init__(self, member: Member, names: dict[str, Any], *, strict: bool, whole: bool) -> None:
        self._member, self._names, self._strict, self._whole = member, names, strict, whole

    def lines(self, variable: str, default_name: str) -> list[str]:
        """Return the lines that set a variable to the member's value."""
        member, name = self._member, repr(self._member.name)
        hint, optional = plain_type(member.hint)
        default = self._default(default_name)
        if not self._strict:
            is_needed = self._whole and default is None and not optional
            empty = default or ("None" if optional or is_needed else self._empty(hint))
            lines = [f"v = d.get({name})", f"{variable} = {self._lenient(hint, 'v', empty, 0)}"]
            return [*lines, f"if {variable} is None: return None"] if is_needed else lines
        strict = self._strictly(member.hint, "v", 0)
        if default is None or not member.is_optional:
            return [f"v = d[{name}]", f"{variable} = {strict}"]
        return [f"v = d.get({name}, missing)", f"{variable} = {default} if v is missing else {strict}"]

    def _default(self, name: str) -> str | None:
        """Return the expression of the field's default; None if it has none."""
        default = self._member.default
        if default is MISSING or default is None:
            return None if default is MISSING else "None"
        if default == {} and default.__class__ is dict:
            return "{}"  # another one each time
        self._names[name] = default
        return name

    def _empty(self, hint: Any) -> str:
        """Return the expression of what a value of this type is where it is damaged and has no default."""
        origin = get_origin(hint)
        if is_kind_of(origin, Mapping):
            return "{}"
        if is_record(hint) or self._member.has_codec:
            return ""  # its own reader makes one
        return "()" if is_kind_of(origin, Sequence) else _EMPTY.get(hint, "None")

    def _lenient(self, hint: Any, value: str, empty: str, depth: int) -> str:
        """Return the expression of a value that may be damaged."""
        origin, inner = get_origin(hint), get_args(hint)
        if is_kind_of(origin, Mapping):
            return f"({self._lenient_mapping(inner[1], value, depth)} if {value}.__class__ is dict else {empty})"
        if is_fixed(hint):
            return f"(tuple({value}) if {value}.__class__ is list and len({value}) == {len(inner)} else {empty})"
        if is_kind_of(origin, Sequence):
            item = f"x{depth}"
            read, condition = self._lenient_item(inner[0], item, depth + 1)
            return f"(tuple([{read} for {item} in {value}{condition}]) if {value}.__class__ is list else {empty})"
        if origin is Literal:
            return f"({value} if {value} in {inner!r} else {empty})"
        if is_record(hint) or self._member.has_codec:
            read = f"{self._nested(hint)}.read({value})"
            return f"({read} if {value}.__class__ is dict else {empty})" if empty else read
        return self._lenient_scalar(hint, value, empty)

    def _lenient_mapping(self, hint: Any, value: str, depth: int) -> str:
        if hint is Any:
            return value
        key, item, condition = f"k{depth}", f"x{depth}", ""
        if is_kind_of(get_origin(hint), Mapping):
            read, condition = self._lenient_item(hint, item, depth + 1)
        else:
            read = self._lenient(hint, item, self._empty(hint), depth + 1)
        return f"{{{key}: {read} for {key}, {item} in {value}.items(){condition}}}"

    def _lenient_item(self, hint: Any, item: str, depth: int) -> tuple[str, str]:
        """Return the expression of an item of a list, and the condition under which it is kept."""
        if is_record(hint) and self._whole:
            return f"y{depth}", f" if (y{depth} := {self._nested(hint)}.read({item})) is not None"
        if is_record(hint):
            return f"{self._nested(hint)}.read({item})", f" if {item}.__class__ is dict"
        if is_kind_of(get_origin(hint), Mapping):
            return self._lenient_mapping(get_args(hint)[1], item, depth), f" if {item}.__class__ is dict"
        if hint is str and not self._member.is_time:
            return item, f" if {item}.__class__ is str"
        return self._lenient(hint, item, self._empty(hint), depth), ""

    def _lenient_scalar(self, hint: Any, value: str, empty: str) -> str:
        if self._member.is_time:
            return f"from_text({value})" if empty == "None" else f"(from_text({value}) or {empty})"
        if hint is int:
            least = 1 if self._member.is_count else 0
            return f"(int({value}) if {value}.__class__ in numbers and {least} <= {value} <= largest else {empty})"
        if hint in (str, bool):
            return f"({value} if {value}.__class__ is {hint.__name__} else {empty})"
        if isinstance(hint, type) and issubclass(hint, Enum):
            name = self._named({item.value: item for item in hint})
            return f"({name}.get({value}, {empty}) if {value}.__class__ is str else {empty})"
        return value

    def _strictly(self, hint: Any, value: str, depth: int) -> str:
        """Return the expression of a value that is not damaged."""
        plain, optional = plain_type(hint)
        if self._member.is_time and optional:
            return f"from_text({value})"
        read = self._strictly_plain(plain, value, depth)
        return read if read == value or not optional else f"(None if {value} is None else {read})"

    def _strictly_plain(self, hint: Any, value: str, depth: int) -> str:
        origin, inner = get_origin(hint), get_args(hint)
        key, item = f"k{depth}", f"x{depth}"
        if is_kind_of(origin, Mapping):
            read = self._strictly(inner[1], item, depth + 1)
            return value if read == item else f"{{{key}: {read} for {key}, {item} in {value}.items()}}"
        if is_kind_of(origin, Sequence):
            read = item if is_fixed(hint) else self._strictly(inner[0], item, depth + 1)
            value = f"({value} or ())" if self._member.left_out != "nothing" else value
            return f"tuple({value})" if read == item else f"tuple([{read} for {item} in {value}])"
        if is_record(hint) or self._member.has_codec:
            return f"{self._nested(hint)}.read({value})"
        if self._member.is_time:
            return f"(from_text({value}) or 0)"
        if hint is datetime:
            return f"from_iso({value})"
        return f"{self._named(hint)}({value})" if isinstance(hint, type) and issubclass(hint, Enum) else value

    def _nested(self, hint: Any) -> str:
        return self._named(self._member.codec(hint))

    def _named(self, value: Any) -> str:
        name = f"name_{len(self._names)}"
        self._names[name] = value
        return name
