"""Asks about an agent before the control plane grants it a lease, and before its lost lease counts as an attempt.

The answers are not in the documents of a run: an account is shared by agents of many runs. So they are read before the
transaction, and only of agents that have an account.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from dcf.core.completing import progress
from dcf.core.completing.updates import Update
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents import receipts
from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.parking import Closure
from dcf.core.extensions import Ending
from dcf.core.leasing import lease
from dcf.core.leasing.lost_leases import Excusing, LostLease, excuse_lost
from dcf.core.leasing.parking import Excuse
from dcf.runs.follow_ups import FollowUps
from dcf.runs.transactions import Transactions
from dcf.values.records import replace
from dcf.values.refusal import Refusal

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed

Answer = TypeVar("Answer")

UNNAMED: Final = "no agent was named whose lease may be excused"
_NONE: Final[Mapping[str, str]] = {}


class Admissions(Protocol):
    """Knows the agents that have accounts, and reads whether these are closed."""

    @property
    def agents(self) -> Mapping[str, str]:
        """The accounts of agents, as this process knows them."""

    def closure(self, agent: str) -> Closure | None:
        """Return until when no turn of an agent that has an account may start; None if one may."""

    def excuse(self, lost: LostLease) -> Excuse | None:
        """Return why the attempt is not counted, and until when the agent cannot work; None if it counts."""

    def note_parked(self, account: str, workflow_id: str, state: str, until: int) -> None:
        """Note a state that waits for the account: it is resumed if an operator opens the account."""


class Admitting:
    """Asks the admissions, if there are any, and applies what they say."""

    admissions: Admissions | None = None

    def __init__(
        self, transactions: Transactions, follow_ups: FollowUps, end: Callable[[str, str, Ending], None]
    ) -> None:
        self._transactions = transactions
        self._follow_ups = follow_ups
        self._end = end

    def closure(self, agent: str) -> Closure | None:
        """Return until when no turn of the agent may start, if it has an account that is closed."""
        if self.admissions is None or agent not in self.admissions.agents:
            return None
        return self.admissions.closure(agent)

    def judged(self, workflow_id: str, decide: Callable[[Mapping[str, str]], Answer]) -> Answer:
        """Return a decision. If it meets a lost lease, that is excused first, or counts."""
        answer = decide(_NONE if self.admissions is None else self.admissions.agents)
        if isinstance(answer, LostLease):
            self._excuse(workflow_id, answer)
            answer = decide(_NONE)
        return answer

    def acquire(self, workflow_id: str, path: str, request: lease.Acquire) -> Leased | Refusal:
        """Grant the lease on a state, or refuse it. A state that would wait for too long fails."""
        used_before = ((path, receipts.token_key(request.token)),)
        reads = ReadSet(states=with_scopes([path]), inputs=(path,), agents=(path,), receipts=used_before)

        def decided(excusable: Mapping[str, str]) -> Leased | LostLease | Refusal:
            decide = partial(lease.acquire, request=replace(request, state=path, excusable=excusable))
            done: Committed[Leased | LostLease | Refusal]
            done = self._transactions.on_state(workflow_id, path, reads, decide)
            self._follow_ups.deliver(workflow_id, done)
            return done.answer

        answer = self.judged(workflow_id, decided)
        assert not isinstance(answer, LostLease), UNNAMED
        if isinstance(answer, Refusal) and request.closed is not None:
            self._refused(workflow_id, path, answer, request.closed)
        return answer

    def _refused(self, workflow_id: str, path: str, refusal: Refusal, closed: Closure) -> None:
        if refusal.code == "parked_too_long":
            self._outwait(workflow_id, path, closed.until)
        if refusal.code == "account_closed" and self.admissions is not None:
            self.admissions.note_parked(closed.account, workflow_id, path, closed.until)

    def unless_closed(self, workflow_id: str, requests: Sequence[Update]) -> Sequence[Update]:
        """Return the writes of a holder, without a claim of what is next where its account is closed."""
        last = requests[-1]
        if last.claim_ttl_s is None or self.admissions is None or not self.admissions.agents:
            return requests
        owner = last.owner or self._holder(workflow_id, last.state)
        if owner is None or self.closure(owner) is None:
            return requests
        return [*requests[:-1], replace(last, claim_ttl_s=None)]

    def _outwait(self, workflow_id: str, path: str, until: int) -> None:
        """Fail a state that would be parked for longer, in all of its visit, than a visit may wait."""
        self._end(workflow_id, path, partial(progress.outwait, until=until))

    def _excuse(self, workflow_id: str, lost: LostLease) -> None:
        if self.admissions is None or (excuse := self.admissions.excuse(lost)) is None:
            return
        reads = ReadSet(states=with_scopes([lost.state]), agents=(lost.state,))
        decide = partial(excuse_lost, lost=lost, excuse=excuse)
        done: Committed[Excusing] = self._transactions.on_state(workflow_id, lost.state, reads, decide)
        self._follow_ups.deliver(workflow_id, done)
        if done.answer == "too_long":
            self._outwait(workflow_id, lost.state, excuse.until or 0)
        if done.answer == "excused" and excuse.account is not None and excuse.until is not None:
            self.admissions.note_parked(excuse.account, workflow_id, lost.state, excuse.until)

    def _holder(self, workflow_id: str, state: str) -> str | None:
        path = self._transactions.path(workflow_id, state)
        doc = self._transactions.store.read(workflow_id, ReadSet(states=(path,))).states.get(path)
        return None if doc is None else doc.lease.owner_agent_id
