"""Marks the field of a record whose members are next to the other fields in JSON, not in an object of their own."""

from collections.abc import Mapping
from typing import Final

SPREAD: Final[Mapping[str, bool]] = {"spread": True}
"""The metadata of such a field."""
