"""Python values as JSON: what a caller hands over, and what a task function returns. Pure."""

import dataclasses
import enum
from collections.abc import Mapping
from datetime import date, time
from typing import Any, Final

from dcf.values.json_text import MAX_WORKFLOW_DEPTH, Json

_AS_JSON: Final = "model_dump"
"""The method of a pydantic model."""


def plain(value: Any) -> Json:
    """Return a Python value as JSON: dataclasses and models become objects, tuples lists, dates and enums text.

    Other values stay as they are: the code that sends them reports the problem.
    """
    return _plain(value, MAX_WORKFLOW_DEPTH)


def _plain(value: Any, levels: int) -> Json:
    """Return a value of at most `levels` levels as JSON; deeper parts stay as they are, since JSON has fewer levels."""
    if levels < 0:
        return value
    if hasattr(value, _AS_JSON) and not isinstance(value, type):
        return value.model_dump(mode="json", by_alias=True)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain(part, levels - 1) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part, levels - 1) for part in value]
    return _plain(value.value, levels) if isinstance(value, enum.Enum) else _as_text(value)


def _as_text(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date | time) else value
