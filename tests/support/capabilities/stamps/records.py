"""The answer of the verb."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StampedOutput:
    """How many `lines` the book had before."""

    lines: int
