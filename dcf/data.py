"""Finds files that ship with dcf: example workflows, agent templates, skills.

In a wheel they are inside the package, in a checkout next to it.
"""

from pathlib import Path
from typing import Final

PACKAGE: Final = Path(__file__).parent
"""The directory of dcf's own code."""

_PLACES = (Path(), PACKAGE / "data", PACKAGE.parent)


def find_file(path: Path) -> Path | None:
    """Return the path as given, or that of the shipped file of this name; None if there is neither."""
    return next((place / path for place in _PLACES if _is_there(place / path)), None)


def find_directory(path: Path) -> Path:
    """Return the path as given, or that of the shipped directory of this name; as given if there is neither."""
    return next((place / path for place in _PLACES if (place / path).is_dir()), path)


def _is_there(path: Path) -> bool:
    """Return True if the path can be opened as a file: regular files and pipes can, directories cannot."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return False
