"""Compares the outputs that a plan demands of a phase with the files that are there. It opens no file.

A helper on the agent's machine, or the server in the project's directory, says which of them exist. Without either, a
file that a task of the phase reported as changed is known to be there, and of the others nothing is known.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from dcf.core.text.path_globs import covers
from dcf.profiles.growing_runs import RunUnit
from dcf.profiles.mission_control.words import files_of, outcome_of

_WILD: Final = frozenset("*?[")


def found_outputs(root: Path, outputs: Iterable[str]) -> list[str]:
    """Return the outputs that exist below a directory: paths, or globs that a file matches."""
    return [path for path in outputs if _exists(root, path)]


def missing_outputs(
    outputs: Sequence[str], existing: Sequence[str] | None, tasks: Iterable[RunUnit]
) -> tuple[list[str], list[str]]:
    """Return the outputs that are missing, and those of which nothing is known (`existing` is None)."""
    left = [path for path in outputs if path not in (existing or ())]
    if existing is not None:
        return left, []
    changed = [path for task in tasks for kind in ("added", "modified") for path in files_of(outcome_of(task))[kind]]
    return [], [path for path in left if not any(covers(path, file) for file in changed)]


def _exists(root: Path, path: str) -> bool:
    """Return True for a file below the directory; a path that leads out of it is none of the project's outputs."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        return False
    try:
        if _WILD & set(path):
            return next(root.glob(path), None) is not None
        return (root / path).exists()
    except (OSError, ValueError):
        return False
