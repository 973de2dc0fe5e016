"""Offers to the engine that a write that reports usage is charged, and blocks the run once its budget is used up."""

from typing import Final

from dcf.core.extensions import Capability
from dcf.features.usage.charging import decide_charged

OFFER: Final = Capability(charging=decide_charged)
