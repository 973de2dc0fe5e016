"""Offers to processes that carry out runs: how the book is stored, and the duty to note looks."""

from typing import Final

from dcf.runs.offers import RunOffer
from tests.support.capabilities.stamps.operations import counting
from tests.support.capabilities.stamps.storage import ROW

OFFER: Final = RunOffer(parts=(ROW,), duties=(counting,))
