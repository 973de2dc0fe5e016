"""The next call in an answer. Imports the standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class NextStep:
    """A call to make now: the tool, its arguments, and why; `destroys` where it does."""

    tool: str
    arguments: Mapping[str, Json]
    why: str
    destroys: bool | None = None
