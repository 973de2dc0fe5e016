"""The agents that wait for unassigned work, and which of them is notified of which ready state. Pure."""

from collections.abc import Sequence
from typing import Final

from dcf.values.records import record

MOST_NOTIFIED: Final = 32
"""Waits that one delivery ends, at most. Others find what is left when they end, or a later delivery reaches them."""

MOST_OF_A_STATE: Final = 16
"""Agents that are notified of the same state, as of a pool: some of them may have died."""


@record(frozen=True, slots=True, kw_only=True)
class Taker:
    """An agent that waits for work of anybody: for states of these names, or for all (None)."""

    agent_id: str
    states: tuple[str, ...] | None = None

    def takes(self, name: str) -> bool:
        """Return True if it waits for states of this name."""
        return self.states is None or name in self.states


def spread(names: Sequence[str], takers: Sequence[Taker]) -> list[tuple[int, str]]:
    """Return whom to notify of which of these states, by number: one state for each wait, and no state twice for one.

    The states with the fewest agents come first, so that waits are not woken for the same state while others are left.
    """
    counts, chosen = [0] * len(names), dict[tuple[int, str], None]()
    for taker in takers:
        if len(chosen) == MOST_NOTIFIED:
            break
        fits = [
            number
            for number, name in enumerate(names)
            if counts[number] < MOST_OF_A_STATE and (number, taker.agent_id) not in chosen and taker.takes(name)
        ]
        if fits:
            number = min(fits, key=counts.__getitem__)
            counts[number] += 1
            chosen[number, taker.agent_id] = None
    return list(chosen)
