"""Offers to the engine that questions which were not answered in time are given up."""

from typing import Final

from dcf.core.extensions import Capability
from dcf.features.questions.unanswered import look

QUESTIONS: Final = Capability(name="questions", looks=look)
