"""Places in the checkout, so that a test may move to another folder."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]


def capability_of(path: Path) -> str | None:
    """Return the capability whose folder a file of dcf, or a test, is in."""
    _, *parts = path.relative_to(ROOT).parts
    return parts[1] if parts[0] == "features" and len(parts) > 2 else None
