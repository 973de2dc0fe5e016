"""Files that ship with dcf: example workflows, agent templates, skills.

In a wheel they lie inside the package, in a checkout beside it.
"""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_PLACES = (Path(), _PACKAGE / "data", _PACKAGE.parent)


def find_file(path: Path) -> Path | None:
    """Return the file as given, or the shipped one of that name; None where there is neither."""
    return next((place / path for place in _PLACES if _is_there(place / path)), None)


def find_directory(path: Path) -> Path:
    """Return the directory as given, or the shipped one of that name; as given where there is neither."""
    return next((place / path for place in _PLACES if (place / path).is_dir()), path)


def _is_there(path: Path) -> bool:
    """Say whether it can be read as a file; a pipe will do, a directory or an impossible name will not."""
    try:
        return path.exists() and not path.is_dir()
    except OSError:
        return False
