"""Offers to processes that carry out runs: the duty to refresh the limits of projects and agents."""

from typing import Final

from dcf.features.work.limit_operations import refreshing
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(duties=(refreshing,))
