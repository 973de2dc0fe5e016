"""The result of a reconciliation of the lists across runs, and the trouble that made Redis reject a write. Pure."""

from collections.abc import Mapping
from typing import Self

from dcf.errors import DcfError, StoreUnavailable
from dcf.values.record_json.codec import json_method
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Trouble:
    """Why Redis does not do what was asked of it, and what an operator can do: a sentence each."""

    message: str
    remedy: str

    @classmethod
    def of(cls, error: DcfError) -> Self:
        """Return what an error of the store tells an operator."""
        return cls(message=error.message, remedy=error.remedy if isinstance(error, StoreUnavailable) else error.hint)


@record(frozen=True, slots=True, kw_only=True)
class SweepResult:
    """The result of a check of the lists: missing and dangling entries by kind of list, and whether they were repaired.

    `trouble` is why the check failed: the Redis user may not list keys, or a key is of a foreign type.
    """

    at: int
    missing: Mapping[str, int]
    dangling: Mapping[str, int]
    repaired: bool
    trouble: Trouble | None = None

    as_json = json_method()
