"""Offers to processes that carry out runs: how verdicts are stored, and lists of outputs that wait for them."""

from typing import Final

from dcf.features.gates.storage import LISTED, ROW
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(parts=(ROW,), lists=(LISTED,))
