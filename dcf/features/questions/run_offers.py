"""Offers to processes that carry out runs: how questions and notes are stored, and contents of notifications."""

from typing import Final

from dcf.features.questions.events import CONTENT
from dcf.features.questions.storage import ROW
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(parts=(ROW,), notices=(CONTENT,))
