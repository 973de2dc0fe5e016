"""Python values as JSON: what a caller hands over, and what a task function returns."""

import dataclasses
import enum
from datetime import date, time
from typing import Any, Final

from dcf.values.json_text import Json

_AS_JSON: Final = "model_dump"
"""The method of a pydantic model."""


def plain(value: Any) -> Json:
    """Return a Python value as JSON: dataclasses and models become objects, tuples lists, dates and enums text."""
    if hasattr(value, _AS_JSON) and not isinstance(value, type):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, enum.Enum):
        return plain(value.value)
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    return {key: plain(part) for key, part in value.items()} if isinstance(value, dict) else value
