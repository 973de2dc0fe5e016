"""Tells the control plane which agents have accounts, and whether these are closed.

A process keeps the accounts of agents; its timer loop, or the grant of a lease a while later, reads them again. Whether
an account is closed is read for each grant, except for agents whose host reserves each turn: of these it is read only
while this process knows of a limit. So a turn of such an agent costs one round trip, that of its reservation.
"""

import threading
import time
from collections.abc import Mapping
from typing import Final

from dcf.core.documents.parking import Closure
from dcf.core.leasing.lost_leases import LostLease
from dcf.core.leasing.parking import Excuse
from dcf.features.accounts.storage import AccountStore
from dcf.runs.clock.duties import Duty
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections
from dcf.values.instants import SECOND

_KEPT_S: Final = 5.0


class AccountAdmissions:
    """The agents with accounts that a process knows."""

    def __init__(self, store: AccountStore) -> None:
        self._store = store
        self._agents: Mapping[str, str] = {}
        self._hosted: frozenset[str] = frozenset()
        self._limits: dict[str, float] = {}
        self._read_at = float("-inf")
        self._taking_over = threading.Lock()

    @property
    def agents(self) -> Mapping[str, str]:
        """The accounts of agents, as they were some seconds ago at most."""
        if time.monotonic() - self._read_at >= _KEPT_S:
            self.refresh()
        return self._agents

    def refresh(self) -> None:
        """Read the accounts of agents again. Of two reads at once the one that began later counts."""
        began = time.monotonic()
        agents, hosted = self._store.assigned()
        with self._taking_over:
            if began >= self._read_at:
                self._agents, self._hosted, self._read_at = agents, hosted, began

    def note_limit(self, account: str, lasts: int) -> None:
        """Note that the account is closed, for `lasts` microseconds, unless it is opened before."""
        self._limits[account] = time.monotonic() + lasts / SECOND

    def closure(self, agent: str) -> Closure | None:
        """Return until when no turn of the agent may start; None if one may."""
        account, is_hosted = self._agents.get(agent), agent in self._hosted
        if account is None or (is_hosted and self._limits.get(account, 0.0) <= time.monotonic()):
            return None
        known = self._store.closures(account)
        until = known.next_turn() if is_hosted else known.until
        if until == 0:
            return None
        lasts = until - known.now
        return Closure(account=account, until=until, lasts=lasts, kind=known.limit, by=known.by or None)

    def excuse(self, lost: LostLease) -> Excuse | None:
        """Excuse a lost lease if the account of its holder was closed at some time between its begin and its end."""
        account = self._agents.get(lost.agent)
        known = None if account is None else self._store.closures(account)
        if known is None or not known.overlap(lost.since, lost.until):
            return None
        until = known.next_turn() if lost.agent in self._hosted else known.until
        return Excuse(until=until or None, kind=known.limit, account=account, by=known.by or None)

    def note_parked(self, account: str, workflow_id: str, state: str, until: int) -> None:
        """Note a state that waits for the account: it is resumed if an operator opens the account."""
        self._store.note_parked(account, workflow_id, state, until)


def admissions_of(plane: ControlPlane) -> AccountAdmissions:
    """Return the admissions that a control plane asks before it grants a lease."""
    admissions = plane.admitting.admissions
    assert isinstance(admissions, AccountAdmissions), "made with the control plane"
    return admissions


def refreshing(plane: ControlPlane, _: Connections) -> Duty:
    """Return the duty to read the accounts of agents again for this process."""
    admissions = plane.admitting.admissions

    def refresh(_: int) -> None:
        if isinstance(admissions, AccountAdmissions):
            admissions.refresh()

    return refresh
