"""Files that ship with dcf: the example workflows. In a wheel they lie inside the package, in a checkout beside it."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_PLACES = (_PACKAGE / "data", _PACKAGE.parent)


def find_file(path: Path) -> Path | None:
    """The file as given, or the shipped one of that name; None where there is neither."""
    if path.exists():
        return path
    if path.is_absolute():
        return None
    return next((place / path for place in _PLACES if (place / path).is_file()), None)
