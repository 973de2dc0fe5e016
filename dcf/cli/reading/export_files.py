"""Reads the file of an exported run."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dcf.features.export.form import ExportedRun

MOST_BYTES: Final = 1024**3
"""Bytes of an export that is read from a file."""


def read_file(file: Path) -> "ExportedRun":
    """Read an export from a file."""
    from dcf.cli.documents import read_text
    from dcf.features.export.form import read_export
    from dcf.values.json_text import parse_workflow

    return read_export(parse_workflow(read_text(file, MOST_BYTES)[1], name=str(file), max_bytes=MOST_BYTES))
