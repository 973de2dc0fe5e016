"""Claims: leases the next ready states of a run that an agent may take, page by page of the open states.

Concurrent claims skip the states that others are about to lease. This module must not make decisions.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Final

from dcf.core.documents.answers import Leased, NothingReady
from dcf.core.documents.decision import Decision, ReadSet, Seeker, Snapshot
from dcf.core.leasing.claim import MaybeExpired, claim, tokens_of
from dcf.core.leasing.lease import Acquire
from dcf.jitter import JITTER
from dcf.runs.transactions import Transactions
from dcf.values.digest import fingerprint
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

_PAGES: Final = (32, 128)
"""Open states that a claim looks at in a round trip, at first and later."""

_PAUSES_S: Final = (0.002, 0.004, 0.008, 0.016)
"""Longest pauses of a claim that finds only states that others are about to take. After these it races for one."""


class Claims:
    """Claims states. `acquire` leases one by name."""

    def __init__(self, transactions: Transactions, acquire: Callable[[str, Acquire], Leased | Refusal]) -> None:
        self._transactions = transactions
        self._acquire = acquire

    def claim(self, workflow_id: str, wish: Acquire) -> Leased | NothingReady | Refusal:
        """Lease the next ready states that this agent may take, as many as it wishes for."""
        wish = replace(wish, claims=True)
        for pause_s in _PAUSES_S:
            answer = self._look(workflow_id, wish, fingerprint(wish.token))
            if not isinstance(answer, NothingReady) or not answer.is_contested:
                return answer
            time.sleep(JITTER.uniform(pause_s / 2, pause_s))
        return self._look(workflow_id, wish, "")

    def _look(self, workflow_id: str, wish: Acquire, mark: str) -> Leased | NothingReady | Refusal:
        """Claim states; with a mark, none that others are about to take."""
        offset, page, is_contested = 0, 0, False
        seeker = Seeker(most=wish.most, owner="" if wish.any_owner else wish.owner, mark=mark)
        while True:
            length = _PAGES[min(page, len(_PAGES) - 1)]
            reads = ReadSet(open_states=(offset, length), seeker=seeker, claims=tokens_of(wish))
            answer = self._transactions.on_run(workflow_id, reads, partial(_claimed, wish)).answer
            if isinstance(answer, MaybeExpired):
                taken = self._acquire(workflow_id, replace(wish, state=answer.state))
                if isinstance(taken, Leased):
                    return taken
                answer = _PassOver((answer.state,))
            if isinstance(answer, _PassOver):
                seeker = replace(seeker, passed=(*seeker.passed, *answer.states))
                continue
            if not isinstance(answer, NothingReady):
                return answer
            is_contested = is_contested or answer.is_contested
            if answer.examined < length:
                return replace(answer, is_contested=is_contested)
            offset, page = offset + length, page + 1


@record(frozen=True, slots=True)
class _PassOver:
    """Returned in place of an answer: these states looked ready, and cannot be taken by this agent now."""

    states: tuple[str, ...]


def _claimed(wish: Acquire, snapshot: Snapshot) -> Decision[Leased | MaybeExpired | NothingReady | Refusal | _PassOver]:
    decision = claim(snapshot, wish)
    if isinstance(decision.answer, NothingReady) and snapshot.inputs:
        return Decision(answer=_PassOver(tuple(snapshot.inputs)))
    return decision
