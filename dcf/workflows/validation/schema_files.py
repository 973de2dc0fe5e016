"""Reads the schema that the settings name from its file."""

import json
from pathlib import Path
from typing import Final

from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

MAX_SCHEMA: Final = 1024 * 1024


def read_schema(path: Path) -> dict[str, Json]:
    """Read a schema from a file; raise InvalidArgument when it is not a JSON Schema."""
    try:
        with path.open("rb") as file:
            found_schema = json.loads(file.read(MAX_SCHEMA))
    except (OSError, ValueError, RecursionError):
        raise useless() from None
    if not isinstance(found_schema, dict):
        raise useless()
    return found_schema


def useless() -> InvalidArgument:
    """Return the error for a configured schema that is none."""
    return InvalidArgument(
        "The configured schema cannot be read as JSON Schema 2020-12.",
        "Check the file that DCF_WORKFLOW_SCHEMA or DCF_SKILL_SCHEMA names.",
    )
