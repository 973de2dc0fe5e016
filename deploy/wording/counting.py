"""Reads the files of the project, and counts their hard places by folder."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from deploy.wording.passages import passages
from deploy.wording.rules import Reason, reasons

_SKIPPED: Final = frozenset({".venv", ".git", "node_modules", "__pycache__", "build", "dist", ".mypy_cache"})
_IGNORED: Final = "plain: ignore"


class Place(NamedTuple):
    """A place that is hard to read."""

    path: Path
    line: int
    kind: str
    reason: Reason


def files_of(path: Path) -> Iterator[Path]:
    """Yield the Markdown and Python files at or below a path."""
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    yield from (
        file for file in files if file.suffix in {".md", ".py"} and not _SKIPPED & {*file.parts} and file.is_file()
    )


def places_in(path: Path) -> Iterator[Place]:
    """Yield the hard places of a file; a line with the comment `plain: ignore` has none."""
    lines = path.read_text("utf-8").splitlines()
    for passage in passages(path):
        if _IGNORED not in lines[passage.line - 1]:
            yield from (Place(path, passage.line, passage.kind, reason) for reason in reasons(passage))


def rate(*paths: Path) -> float:
    """Return the hard places per 1,000 lines in the files at or below the paths."""
    files = [file for path in paths for file in files_of(path)]
    lines = sum(file.read_text("utf-8").count("\n") for file in files)
    return 1000 * sum(1 for file in files for _ in places_in(file)) / max(1, lines)
