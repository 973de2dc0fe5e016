"""The text of a derived data file: rows as objects with the names of their members, in lines that show a change."""

import json
from typing import Any


def json_source(rows: Any) -> str:
    """Return rows, which may be named tuples, as JSON; members that have their default are left out."""
    return json.dumps(_plain(rows), indent=2, ensure_ascii=False) + "\n"


def members(row: Any) -> dict[str, Any]:
    """Return the members of a named tuple that do not have their default."""
    defaults = row._field_defaults
    return {name: value for name, value in row._asdict().items() if name not in defaults or value != defaults[name]}


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return _plain(members(value))
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value
