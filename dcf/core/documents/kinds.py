"""Types of the documents of states that are no types of the language's states."""

from typing import Final

GATE: Final = "Gate"
"""The output waits for verdicts: its worker keeps the lease, which does not expire."""

GROUP: Final = "Group"
"""A group of units. No agent leases it."""
