"""Offers to processes that carry out runs: how entries of the journal are stored."""

from typing import Final

from dcf.features.journal.storage import ROW
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(parts=(ROW,))
