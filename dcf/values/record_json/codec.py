"""`RecordCodec` and `json_method`: records as JSON objects and back, derived from the types of the records' fields.

A codec adds to the types only the order and the names of members, points in time, and the members to leave out. Its
methods are compiled at their first call, so a member costs no call of a function. pydantic does not serve here: a
reader must repair damaged documents, and child processes of the host lack pydantic.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar

from dcf.values.json_text import Json

R = TypeVar("R")
LeftOut: TypeAlias = Literal["nothing", "none", "empty", "defaults"]
"""Members that an object lacks: those that are None, also those that are empty, or those with the field's default."""

_NOTHING: Final[Mapping[str, Any]] = {}


class RecordCodec(Generic[R]):
    """Writes and reads the JSON of one kind of record.

    `attributes` are those of the record in the order of the JSON, all fields by default. `people.groups` is an
    attribute of a record in it, `**facts` the members of a mapping. `named` are the names that differ in the JSON. The
    integers in `times` are text there. `codecs` write and read attributes, by their names: each has the methods of a
    codec. The attributes in `rare` are left out where they have the field's default.

    The reader is lenient: what is damaged has the field's default, or else is empty; so is 0 for those in `counts`. A
    `whole` one returns None if a member is damaged that has no default. With `strict` it raises KeyError,
    TypeError or ValueError where something is missing, and does not look at plain values. Documents of older versions
    lack the attributes in `added`. Records inside are written and read the same way.
    """

    def __init__(
        self,
        kind: type[R],
        attributes: str = "",
        *,
        named: Mapping[str, str] = _NOTHING,
        times: str = "",
        left_out: LeftOut = "nothing",
        codecs: Mapping[str, Any] = _NOTHING,
        rare: str = "",
        counts: str = "",
        strict: bool = False,
        whole: bool = False,
        added: str = "",
        shown: bool = False,
    ) -> None:
        self._kind, self._strict, self._whole, self._shown = kind, strict, whole, shown
        self._rare, self._counts = rare, counts
        self._attributes, self._named, self._times, self._left_out = attributes, named, times, left_out
        self._codecs, self._added = codecs, added
        # A partial is called without a call of Python.
        self.write: partial[dict[str, Json]] = partial(self._first, "write")
        """Return the record as a JSON object."""
        self.read: partial[R] = partial(self._first, "read")
        """Return the record that was written. Keywords are the fields that are not in the JSON."""

    def _first(self, name: Literal["write", "read"], *arguments: Any, **others: Any) -> Any:
        """Compile a method, put it in place of this one, and call it."""
        method = self._compiled(name)
        # The partial itself is changed, since other modules have it under names of their own.
        getattr(self, name).__setstate__((method, (), {}, {}))
        return method(*arguments, **others)

    def _compiled(self, name: str) -> Callable[..., Any]:
        # Imported here, because many commands import codecs and call none.
        from dcf.values.record_json.members import members_of  # noqa: PLC0415
        from dcf.values.record_json.reading import reading  # noqa: PLC0415
        from dcf.values.record_json.writing import writing  # noqa: PLC0415

        members = members_of(
            self._kind,
            self._attributes.split(),
            named=self._named,
            times=frozenset(self._times.split()),
            rare=frozenset(self._rare.split()),
            counts=frozenset(self._counts.split()),
            added=frozenset(self._added.split()),
            left_out=self._left_out,
            codecs=self._codecs,
            nested=self._nested,
        )
        source, names = (
            writing(members)
            if name == "write"
            else reading(self._kind, members, strict=self._strict, whole=self._whole)
        )
        # nosemgrep: nothing-of-a-caller-is-executed - the text is made of names of our own fields
        exec(source, names)  # noqa: S102 - the names of our own fields
        method: Callable[..., Any] = names[name]
        return method

    def _nested(self, kind: type[Any]) -> Any:
        """Return what writes and reads a record in this one."""
        if self._shown and hasattr(kind, "as_json"):
            return AsJson
        return RecordCodec(
            kind,
            times=self._times,
            left_out=self._left_out,
            rare=self._rare,
            counts=self._counts,
            strict=self._strict,
            whole=self._whole,
            added=self._added,
            shown=self._shown,
        )


class AsJson:
    """Writes a record as its method `as_json` does."""

    @staticmethod
    def write(value: Any) -> Json:
        """Return the record as JSON."""
        return value.as_json()


def json_method(
    attributes: str = "",
    *,
    named: Mapping[str, str] = _NOTHING,
    times: str = "",
    left_out: LeftOut = "nothing",
    codecs: Mapping[str, Any] = _NOTHING,
    rare: str = "",
) -> Callable[[Any], dict[str, Json]]:
    """Return the method `as_json` of a record, by which readers see it. The arguments are those of `RecordCodec`."""

    def as_json(self: Any) -> dict[str, Json]:
        codec = RecordCodec(
            type(self), attributes, named=named, times=times, left_out=left_out, codecs=codecs, rare=rare, shown=True
        )
        written: dict[str, Json] = codec.write(self)
        type(self).as_json = codec.write.func  # what was compiled takes the place of this function
        return written

    return as_json


__all__ = ["AsJson", "RecordCodec", "json_method"]
