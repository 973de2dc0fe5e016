"""Offers to processes that carry out runs: lists of tasks that wait for a person, and contents of notifications."""

from typing import Final

from dcf.features.people.events import CONTENT
from dcf.features.people.storage import LISTED
from dcf.runs.offers import RunOffer

OFFER: Final = RunOffer(lists=(LISTED,), notices=(CONTENT,))
