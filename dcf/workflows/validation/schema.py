"""Stage 1: the form of a document, as a JSON Schema 2020-12 describes it.

The library that checks it is imported with the first document: no run and few commands need it.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dcf.values.json_text import Json
from dcf.workflows.validation.verdict import Finding

SCHEMA_NAME: Final = "letta_asl_workflow_schema_v2.2.0.json"


def check_schema(document: Json, schema: Mapping[str, Json] | None = None, name: str = SCHEMA_NAME) -> list[Finding]:
    """List what does not match the schema; the default is the schema of this name that dcf ships."""
    from dcf.workflows.validation.form import check_form  # noqa: PLC0415 - see the docstring of the module

    return check_form(document, schema, name)


def is_schema(schema: Mapping[str, Json]) -> bool:
    """Return True for a valid JSON Schema 2020-12."""
    from dcf.workflows.validation import form  # noqa: PLC0415 - see the docstring of the module

    return form.is_schema(schema)


def configured_schema(chosen: Path | None, directory: Path | None, name: str) -> Path | None:
    """Return the schema file that the settings name; None for the schema that dcf ships."""
    if chosen is not None or directory is None:
        return chosen
    return directory / name if (directory / name).is_file() else None


def schema_text(finding: Finding) -> str:
    """Return a finding as an entry of the seed contract's list `schema_errors`."""
    return f"{finding.path[1:] or '<root>'}: {finding.message}"
