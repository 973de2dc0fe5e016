"""Enforces limits of work in progress where leases are granted: reserves a slot, has the lease granted, settles.

Limits are few and seldom change, so a process keeps them; its timer loop, or the grant of a lease a while later, reads
them again. Without a limit this module has no effect on a grant. A completion with a claim of the next state is carried
out alone, and the claim after it, so that the ended lease makes room for the new one.
"""

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dcf.core.completing.batch import Answers
from dcf.core.completing.updates import Update
from dcf.core.documents.answers import Leased, NothingReady, Updated
from dcf.core.documents.model import RunStatus
from dcf.core.documents.usage import Budget, changed_budget
from dcf.core.leasing.claim import tokens_of
from dcf.core.leasing.lease import Acquire
from dcf.errors import NotFound
from dcf.features.work.limit_storage import Reservation, WorkLimits, limits_in
from dcf.features.work.limits import LeaseSlot, LimitReached, WorkLimit
from dcf.features.work.refusals import work_limit_reached
from dcf.runs.clock.duties import Duty
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections
from dcf.values.digest import next_token
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal

_FRESH_S: Final = 1.0
_KEPT_S: Final = 5.0
"""Seconds after which the grant of a lease reads the limits again, if no clock of the process did."""


class WorkLimiting:
    """The limits that a process knows, and the grants under them."""

    def __init__(self, store: WorkLimits) -> None:
        self._store = store
        self._known: dict[str, int] = {}
        self._budgets: dict[str, Budget] = {}
        self._read_at = float("-inf")
        self._taking_over = threading.Lock()

    def put(self, limit: WorkLimit) -> None:
        """Set a limit; other processes know it within seconds."""
        self._store.put(limit)
        self.refresh()

    def put_budget(self, project: str, change: Mapping[str, Json]) -> None:
        """Change the budget of a project (`usage.changed_budget`); other processes know it within seconds."""
        self._store.put_budget(project, lambda before: changed_budget(before, change))
        self.refresh()

    def budget_of(self, project: str) -> Budget | None:
        """Return the budget of a project, if it has one."""
        self.refresh(_KEPT_S)
        return self._budgets.get(project)

    def refresh(self, older_s: float = 0.0) -> None:
        """Read the limits again, if what is known is older. Of two reads at once the one that began later counts."""
        began = time.monotonic()
        if began - self._read_at >= older_s:
            known, budgets = self._store.read()
            with self._taking_over:
                if began >= self._read_at:
                    self._known, self._budgets, self._read_at = known, budgets, began

    def freshen(self) -> None:
        """Read the limits again for a call that looks for work, unless that was a moment ago."""
        self.refresh(_FRESH_S)

    def of(self, kind: str, name: str) -> int | None:
        """Return the limit of an agent or a project, if it has one."""
        self.refresh(_KEPT_S)
        return self._known.get(f"{kind}:{name}")

    @property
    def are_any(self) -> bool:
        """True if there is any limit."""
        if time.monotonic() - self._read_at >= _KEPT_S:  # asked by every grant
            self.refresh()
        return bool(self._known)

    def acquire(
        self, workflow_id: str, project: str | None, request: Acquire, grant: Callable[[], Leased | Refusal]
    ) -> Leased | Refusal:
        """Have a lease granted, if the limits leave room for it."""
        limits = limits_in(self._known, request.owner, project)
        if not limits:
            return grant()
        place = LeaseSlot(workflow_id=workflow_id, state=request.state)
        reserved = self._store.reserve(limits, request.owner, [place], secrets.token_hex(4))
        if isinstance(reserved, LimitReached):
            return work_limit_reached(reserved)
        try:
            answer = grant()
        except NotFound:
            self._store.settle(reserved, [])
            raise
        self._store.settle(reserved, [] if isinstance(answer, Refusal) else [place])
        return answer

    def claim(
        self,
        workflow_id: str,
        project: str | None,
        wish: Acquire,
        grant: Callable[[Acquire], Leased | NothingReady | Refusal],
    ) -> Leased | NothingReady | Refusal:
        """Have as many leases claimed as the limits leave room for."""
        limits = limits_in(self._known, wish.owner, project)
        if not limits:
            return grant(wish)
        places = [LeaseSlot(workflow_id=workflow_id, token=token) for token in tokens_of(wish)]
        reserved = self._store.reserve(limits, wish.owner, places, secrets.token_hex(4))
        if isinstance(reserved, LimitReached):
            return work_limit_reached(reserved)
        answer = grant(replace(wish, most=len(reserved.places)))
        self._settle(reserved, workflow_id, answer)
        return answer

    def update_all(
        self,
        project: str | None,
        requests: Sequence[Update],
        write: Callable[[Sequence[Update]], Answers],
        claim: Callable[[Acquire], Leased | NothingReady | Refusal],
    ) -> Answers:
        """Have writes applied, and then what is next claimed that they ask for, if that counts under a limit."""
        last = requests[-1]
        agents = any(name.startswith("agent:") for name in self._known)
        is_limited = bool(limits_in(self._known, last.owner, project)) or (last.owner is None and agents)
        if last.claim_ttl_s is None or not is_limited:
            return write(requests)
        answers = list(write([replace(update, claim_ttl_s=None) for update in requests]))
        done = answers[-1]
        owner = last.owner or (done.owner if isinstance(done, Updated) else None)
        if not isinstance(done, Updated) or done.run_status is not RunStatus.RUNNING:
            return tuple(answers)
        if owner is None or last.token is None or last.is_partial:
            return tuple(answers)
        token = next_token(last.token, "\nnext")
        claimed = claim(Acquire(state="", owner=owner, token=token, ttl_s=last.claim_ttl_s, most=last.claim_most))
        if isinstance(claimed, Leased):
            answers[-1] = replace(done, claims=(replace(claimed, others=()), *claimed.others), repeated=False)
        return tuple(answers)

    def _settle(self, reserved: Reservation, workflow_id: str, answer: Leased | NothingReady | Refusal) -> None:
        granted = (answer, *answer.others) if isinstance(answer, Leased) else ()
        self._store.settle(reserved, [LeaseSlot(workflow_id=workflow_id, state=lease.state) for lease in granted])


def limits_of(plane: ControlPlane) -> WorkLimiting | None:
    """Return the limits that a control plane asks before it grants a lease; None if it asks none."""
    limits = plane.limits
    assert limits is None or isinstance(limits, WorkLimiting), "there are no other limits"
    return limits


def refreshing(plane: ControlPlane, _: Connections) -> Duty:
    """Return the duty to read the limits again for this process."""
    limits = limits_of(plane)

    def refresh(_: int) -> None:
        if limits is not None:
            limits.refresh()

    return refresh
