"""A definite no to a well-formed request, as a value: the same record for runs, documents and files."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Nothing was changed: a stable code, what is wrong, what to do next, and seconds to wait where waiting helps."""

    code: str
    message: str
    hint: str
    retry_after_s: float | None = None
