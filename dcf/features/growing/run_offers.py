"""Offers to processes that carry out runs: how units are stored, and how the definitions of open runs are loaded."""

from typing import Final

from dcf.features.growing.storage import ROWS
from dcf.features.growing.unit_cache import LOADING
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(parts=ROWS, growing=LOADING)
