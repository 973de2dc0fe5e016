"""`record`: a frozen dataclass that is frozen for mypy, and not once more each time that one is made.

Python sets every field of a frozen dataclass by a call of `object.__setattr__`, which makes it four times as slow to
build (measured, 3.11), and a step builds thirty. mypy takes `record` for `dataclass` and so refuses whatever assigns to
a field, here and in the tests; `replace`, equality and hashes are the same.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from dataclasses import dataclass as record
else:
    from dataclasses import dataclass

    Record = TypeVar("Record", bound=type)

    def record(*, frozen: bool, **options: bool) -> Callable[[Record], Record]:
        """Return the decorator of a record; `frozen` must be true, since that is what readers and mypy go by."""
        assert frozen, "a record is frozen"
        return dataclass(unsafe_hash=options.get("eq", True), **options)


__all__ = ["record"]
