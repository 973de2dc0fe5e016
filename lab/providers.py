"""A scripted provider: it bills each call of a turn, and rejects all calls of an account for a while now and then.

Its windows depend on the account and the time alone, so all processes see the same ones. Two of three have an end
that the provider tells; the others end without a word.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dcf.core.documents.usage_sums import money
from dcf.hosting.protocol import AgentLimited
from dcf.values.instants import SECOND
from lab.turn_notes import Notes

MODEL: Final = "lab-model"
CURRENCY: Final = "EUR"
NANOS: Final = 3000
"""Most billionths for a token; the table of prices has the same."""

MOST_CALLS: Final = 3
MOST_TOKENS: Final = 2000
MOST_OF_TURN: Final = MOST_CALLS * MOST_TOKENS
LARGEST_TURN: Final = MOST_OF_TURN * NANOS
_EVERY: Final = 120 * SECOND
_SHORTEST_S: Final = 8
_LONGEST_S: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Rejects calls from its begin to its end, in the lab's time. `form`: how the provider names the end."""

    begin: int
    end: int
    form: str | None


def window_at(account: str, moment: int) -> Window | None:
    """Return the window that an account is in."""
    number = moment // _EVERY
    luck = random.Random(f"{account} {number}")
    begin = number * _EVERY + int(luck.uniform(0, 0.5) * _EVERY)
    end = begin + int(luck.uniform(_SHORTEST_S, _LONGEST_S) * SECOND)
    window = Window(begin=begin, end=end, form=luck.choice(("until", "after_s", None)))
    return window if window.begin <= moment < window.end else None


@dataclass(frozen=True, slots=True)
class Provider:
    """The provider as one process sees it; `now` is the lab's time. While the file `peace` is there, it accepts all."""

    now: Callable[[], int]
    peace: Path
    notes: Notes

    def call(self, account: str, reservation: str, number: int) -> Mapping[str, Any]:
        """Bill a call of a turn, and return its usage as a model reports it; raise AgentLimited in a window."""
        moment = self.now()
        window = None if self.peace.exists() else window_at(account, moment)
        if window is not None:
            self.notes.add("rejected", account=account, reservation=reservation)
            raise _limit_of(window, moment)
        luck = random.Random(f"{reservation} {number}")
        tokens_in, tokens_out = luck.randint(1, MOST_TOKENS - 500), luck.randint(0, 500)
        nanos = luck.randint(0, (tokens_in + tokens_out) * NANOS)
        bill = {"tokens_in": tokens_in, "tokens_out": tokens_out, "nanos": nanos}
        self.notes.add("billed", account=account, reservation=reservation, **bill)
        return {"tokens_in": tokens_in, "tokens_out": tokens_out, "cost": money(nanos), "currency": CURRENCY}


def _limit_of(window: Window, moment: int) -> AgentLimited:
    if window.form == "until":
        return AgentLimited(window.end / SECOND)
    if window.form == "after_s":
        return AgentLimited(after_s=(window.end - moment) / SECOND)
    return AgentLimited()
