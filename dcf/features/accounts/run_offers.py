"""Offers to processes that carry out runs: the duty to read again which agents have accounts."""

from typing import Final

from dcf.features.accounts.admission_operations import refreshing
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(duties=(refreshing,))
