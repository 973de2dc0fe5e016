"""`record`: a frozen dataclass that is frozen for mypy, and not once more each time that one is made.

Python sets every field of a frozen dataclass by a call of `object.__setattr__`, which makes it four times as slow to
build (measured, 3.11), and a step builds thirty. mypy takes `record` for `dataclass` and so refuses whatever assigns to
a field, here and in the tests; equality and hashes are the same. `replace` does what that of dataclasses does, for
records in a fifth of the time: there a loop looks at every field, and a step changes ten records of twenty fields.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as record
    from dataclasses import replace
else:
    import dataclasses

    Record = TypeVar("Record", bound=type)

    def record(*, frozen: bool, **options: bool) -> Callable[[Record], Record]:
        """Return the decorator of a record; `frozen` must be true, since that is what readers and mypy go by."""
        assert frozen, "a record is frozen"
        make = dataclasses.dataclass(unsafe_hash=options.get("eq", True), **options)

        def decorate(kind: Record) -> Record:
            made = make(kind)
            if not hasattr(made, "__post_init__"):
                made.__replace__ = _replacing(made)
            return made

        return decorate

    def replace(one: Any, /, **changes: Any) -> Any:
        """Return a copy with other values of some fields. What works fields out of others is made anew."""
        again = getattr(one, "__replace__", None)
        return dataclasses.replace(one, **changes) if again is None else again(**changes)


def _replacing(kind: type[Any]) -> Callable[..., Any]:
    """Return the method that Python 3.13 calls `__replace__`, written out for the fields of a record.

    Dataclasses write `__init__` in the same way.
    """
    copied = "".join(f"    new.{name} = self.{name}\n" for name in kind.__dataclass_fields__)
    source = (
        "def __replace__(self, **changes):\n"
        "    new = make(self.__class__)\n"
        f"{copied}"
        "    for name, value in changes.items():\n"
        "        setattr(new, name, value)\n"
        "    return new\n"
    )
    names: dict[str, Any] = {"make": object.__new__}
    # nosemgrep: nothing-of-a-caller-is-executed - the text is made of names of our own fields
    exec(source, names)  # nosec B102 # noqa: S102 - the names of our own fields
    made: Callable[..., Any] = names["__replace__"]
    return made


__all__ = ["record", "replace"]
