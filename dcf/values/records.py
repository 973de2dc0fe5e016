"""`record`: a frozen dataclass that is frozen for mypy, and cheap to declare and to make.

Python sets every field of a frozen dataclass by a call of `object.__setattr__`. That makes construction four times as
slow (measured, 3.11), and a step builds thirty records. Mypy takes `record` for `dataclass` and so refuses assignments
to a field, here and in the tests; equality and hashes are the same. `replace` has the effect of that of dataclasses, in
a fifth of the time: there a loop reads every field, and a step changes ten records of twenty fields.

A dataclass also compiles six methods when it is declared, which took a third of the start of a process (500 classes,
0.5 ms each). A record compiles each method when it is first called: most processes make few of the kinds they know.
"""

import dataclasses
import reprlib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace
else:
    Record = TypeVar("Record", bound=type)

    def record(*, frozen: bool, eq: bool = True, **options: bool) -> Callable[[Record], Record]:
        """Return the decorator of a record; `frozen` must be true, since that is what readers and mypy go by."""
        assert frozen, "a record is frozen"
        make = dataclasses.dataclass(init=False, eq=False, repr=False, **options)
        compiled = {"__init__": _making, **(_COMPARED if eq else {}), "__replace__": _replacing}

        def decorate(kind: Record) -> Record:
            own = frozenset(vars(kind))  # before Python 3.13 adds a `__replace__` of its own
            made = make(kind)
            for name, write in compiled.items():
                if name not in own:
                    setattr(made, name, _compiled_when_called(made, name, write))
            if hasattr(made, "__post_init__") and "__replace__" not in own:
                made.__replace__ = dataclasses.replace  # a base may have a compiled one of its own fields
            if "__repr__" not in own:
                made.__repr__ = _shown
            return made

        return decorate

    def replace(instance: Any, /, **changes: Any) -> Any:
        """Return a copy with other values of some fields. A kind with `__post_init__` computes derived fields again."""
        again = getattr(instance, "__replace__", None)
        return dataclasses.replace(instance, **changes) if again is None else again(**changes)


Method: TypeAlias = Callable[..., Any]


def fields_of(base: type[Any], instance: Any) -> dict[str, Any]:
    """Return the fields that a record has from a base, for a record of another kind with the same base."""
    return {field.name: getattr(instance, field.name) for field in dataclasses.fields(base)}


def _compiled_when_called(kind: type[Any], name: str, write: Callable[[type[Any]], str]) -> Method:
    """Return a method that puts the compiled one in its own place, and calls that."""

    def first(self: Any, *arguments: Any, **named: Any) -> Any:
        method = _compiled(name, write(kind), kind)
        setattr(kind, name, method)
        return method(self, *arguments, **named)

    return first


def _compiled(name: str, source: str, kind: type[Any]) -> Method:
    names: dict[str, Any] = {"make": object.__new__, "_absent": object(), "_fields": kind.__dataclass_fields__}
    # nosemgrep: nothing-of-a-caller-is-executed - the text is made of names of our own fields
    exec(source, names)  # noqa: S102 - the names of our own fields
    made: Method = names[name]
    return made


def _making(kind: type[Any]) -> str:
    """Return the method that makes a record, as that of a dataclass does."""
    made = [field for field in dataclasses.fields(kind) if field.init]
    by_place, by_name = (
        [_parameter(field) for field in made if field.kw_only is is_named] for is_named in (False, True)
    )
    parameters = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    assigned = [(field.name, _value(field)) for field in dataclasses.fields(kind)]
    values = "".join(f"    self.{name} = {value}\n" for name, value in assigned if value is not None)
    after = "    self.__post_init__()\n" if hasattr(kind, "__post_init__") else ""
    return f"def __init__({parameters}):\n{values}{after}" + ("" if values or after else "    pass\n")


def _parameter(field: "dataclasses.Field[Any]") -> str:
    if field.default is not dataclasses.MISSING:
        return f"{field.name}=_fields['{field.name}'].default"
    return field.name if field.default_factory is dataclasses.MISSING else f"{field.name}=_absent"


def _value(field: "dataclasses.Field[Any]") -> str | None:
    """Return the expression of a field's value when a record is made; None if `__post_init__` works it out."""
    if field.default_factory is not dataclasses.MISSING:
        made = f"_fields['{field.name}'].default_factory()"
        return f"{made} if {field.name} is _absent else {field.name}" if field.init else made
    if field.init:
        return field.name
    return None if field.default is dataclasses.MISSING else f"_fields['{field.name}'].default"


def _equality(kind: type[Any]) -> str:
    fields = [form_field.name for form_field in dataclasses.fields(kind) if form_field.compare]
    return (
        "def __eq__(self, other):\n"
        "    if other.__class__ is not self.__class__:\n"
        "        return NotImplemented\n"
        f"    return {_tuple('self', fields)} == {_tuple('other', fields)}\n"
    )


def _hash(kind: type[Any]) -> str:
    hashed = [
        form_field.name
        for form_field in dataclasses.fields(kind)
        if (form_field.compare if form_field.hash is None else form_field.hash)
    ]
    return f"def __hash__(self):\n    return hash({_tuple('self', hashed)})\n"


def _replacing(kind: type[Any]) -> str:
    """Return the method that Python 3.13 calls `__replace__`, written out for the fields of a record."""
    copied = "".join(f"    new.{field.name} = self.{field.name}\n" for field in dataclasses.fields(kind))
    return (
        "def __replace__(self, **changes):\n"
        "    new = make(self.__class__)\n"
        f"{copied}"
        "    for name, value in changes.items():\n"
        "        setattr(new, name, value)\n"
        "    return new\n"
    )


def _tuple(of: str, names: Iterable[str]) -> str:
    return f"({''.join(f'{of}.{name}, ' for name in names)})"


@reprlib.recursive_repr()
def _shown(self: Any) -> str:
    """Return what a dataclass shows of itself."""
    fields = (form_field.name for form_field in dataclasses.fields(self) if form_field.repr)
    return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in fields)})"


_COMPARED = {"__eq__": _equality, "__hash__": _hash}

__all__ = ["fields_of", "record", "replace"]
