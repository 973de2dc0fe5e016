"""Places in the checkout, so that a test may move to another folder."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
