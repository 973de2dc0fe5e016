"""Offers to processes that carry out runs: the duty to settle what runs have used."""

from typing import Final

from dcf.features.usage.budget_operations import settling
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(duties=(settling,))
