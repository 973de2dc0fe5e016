"""How a worker treats a state that it took: drawn from the run's seed, the state and the attempt.

After a few attempts every worker behaves, so that every run ends.
"""

import random
from dataclasses import dataclass

_MISBEHAVING_ATTEMPTS = 4
_HABITS = {
    "calm": 30,
    "twice": 16,
    "at once": 8,
    "renewing": 8,
    "writing": 10,
    "claiming": 14,
    "gathering": 10,
    "giving back": 8,
    "asking": 7,
    "correcting": 12,
    "vanishing": 5,
    "oversleeping": 6,
    "changing its mind": 8,
    "intruding": 6,
}
"""Weights of what workers do.

`vanishing` never answers, `oversleeping` answers when its lease has expired. `gathering` takes further states of the
run and completes all of them in one transaction, which brings as many leases. `asking` asks people, and gives the state
back or keeps it, `correcting` corrects its result twice.
"""

_ALWAYS_FINISHING = ("calm", "twice", "claiming", "gathering", "renewing", "writing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """A worker's behaviour with a lease. `botches`: it first delivers an output that its Task's schema rejects."""

    name: str
    ttl_s: int
    tells: bool
    botches: bool = False


def habit_of(seed: int, path: str, attempt: int) -> Habit:
    """Return what the worker does who takes this state for this time."""
    luck = random.Random(f"{seed} {path} {attempt}")
    names = list(_HABITS) if attempt <= _MISBEHAVING_ATTEMPTS else list(_ALWAYS_FINISHING)
    (name,) = luck.choices(names, [_HABITS[name] for name in names])
    brief = name in {"vanishing", "oversleeping"}
    ttl_s, tells = 2 if brief else luck.choice((5, 8, 12)), luck.random() < 0.7
    return Habit(name=name, ttl_s=ttl_s, tells=tells, botches=luck.random() < 0.4)
