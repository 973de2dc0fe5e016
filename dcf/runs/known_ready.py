"""Names of states that this process's commits entered and left to others, so that they are probably still ready.

A completion that may lease one more state reads one of these by its name. That costs half of a search through the open
states of the run. Redis decides: a state that another worker has leased is no longer ready. Then all names are
forgotten, since other workers are active there. Names are taken from the opposite end of the order in which open states
are searched. This module must not make decisions.
"""

from collections.abc import Iterable
from typing import Final, TypeAlias

from dcf.core.documents.answers import Updated
from dcf.core.documents.decision import Seeker
from dcf.values.refusal import Refusal

_MOST_RUNS: Final = 256
_MOST_STATES: Final = 1024

_Place: TypeAlias = tuple[str, str]
"""A run, and the agent that may take the states."""


class KnownReady:
    """Paths of states by run and agent; beyond 256 of these the oldest are dropped."""

    def __init__(self) -> None:
        self._kept: dict[_Place, list[str]] = {}

    def keep(self, workflow_id: str, owner: str, answers: Iterable[Updated | Refusal]) -> None:
        """Keep what completions of this agent left."""
        left = list[str]()
        for answer in answers:
            if isinstance(answer, Updated):
                left += answer.left
        if left:
            place = (workflow_id, owner)
            self._kept[place] = sorted([*self._kept.pop(place, ()), *left])[-_MOST_STATES:]
            for oldest in list(self._kept)[:-_MOST_RUNS]:
                self._kept.pop(oldest, None)

    def take(self, workflow_id: str, seeker: Seeker) -> tuple[str, ...]:
        """Return as many as are sought at most, and forget them."""
        known = self._kept.get((workflow_id, seeker.owner))
        if not known:
            return ()
        taken = known[-seeker.most :]
        del known[-seeker.most :]
        return tuple(taken)

    def forget(self, workflow_id: str, owner: str) -> None:
        """Forget all of a run: others take them as well."""
        self._kept.pop((workflow_id, owner), None)
