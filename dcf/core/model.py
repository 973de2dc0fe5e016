"""The documents of a run as frozen records, and the words for where a state or a run is.

Shapes only: what may change into what is decided in `lease`, `progress` and `finalization`; how a record
looks as JSON is `codec`'s business.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from hmac import compare_digest

from dcf.asl.state_paths import name_of
from dcf.asl.states import KINDS
from dcf.asl.steps import Entry, Tolerance
from dcf.values.instants import SECOND
from dcf.values.json_text import Json


class Status(StrEnum):
    """Where a state is. Terminal ones never change unless an operator resets them."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing more happens in this visit of the state."""
        return self not in OPEN


OPEN = frozenset({Status.PENDING, Status.RUNNING})

DEFAULT_MAX_ATTEMPTS = 10
"""How often one state may be leased before the run fails, unless the run says otherwise."""


class RunStatus(StrEnum):
    """Where a run is; everything but `running` is final."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PARTIAL = "partial"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who may write a state until when. Times in server microseconds, `ttl_s` in seconds.

    `epoch` is the fencing number: it only grows, and travels along with control from state to state, so a
    state entered again always starts from a higher one (ARCHITECTURE.md, "The epoch is a baton").
    """

    token: str | None = None
    owner_agent_id: str | None = None
    ts: int | None = None
    ttl_s: int | None = None
    epoch: int = 0
    expires_at: int | None = None

    def is_live(self, now: int) -> bool:
        """Whether somebody holds it; a lease without a readable expiry counts as expired."""
        return self.token is not None and self.expires_at is not None and self.expires_at > now

    def is_held_with(self, token: str | None) -> bool:
        """Whether this is its token; how long the answer takes tells nothing about it."""
        if self.token is None or token is None:
            return False
        return compare_digest(self.token.encode(), token.encode())

    def next_epoch(self, now: int) -> int:
        """Make the fencing number of a new grant: larger than any before, also over a failover that lost writes."""
        return max(self.epoch + 1, now)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScopeBounds:
    """An open Parallel or Map: how many branches or iterations must end, how many run at once, how many may fail."""

    size: int
    concurrency: int
    tolerance: Tolerance = field(default_factory=Tolerance)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDoc:
    """One state of a run. `waits_for` maps each state it waits for to the epoch that settled it, or 0.

    `kind` is set for an open state that nobody leases (a Wait, a Parallel, a Map, a Task that is to be entered
    again); `deadline` and `heartbeat_s` are a Task's timeouts. `scope` is there once a Parallel or Map has opened
    what is inside it; inside, `scope_epoch` is the epoch of the scope's document at that time. `retries` and `passed`
    are those of the visit's `Entry`: what changes between visits stands here, where entering the state writes anyway.
    """

    status: Status = Status.PENDING
    attempts: int = 0
    lease: Lease = field(default_factory=Lease)
    started_at: int | None = None
    finished_at: int | None = None
    last_error: str | None = None
    waits_for: Mapping[str, int] = field(default_factory=dict)
    not_before: int | None = None
    kind: str | None = None
    deadline: int | None = None
    heartbeat_s: int | None = None
    scope_epoch: int | None = None
    scope: ScopeBounds | None = None
    retries: tuple[int, ...] = ()
    passed: int = 0
    last: Mapping[str, Json] = field(default_factory=dict)
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether everything it waits for is settled."""
        return all(self.waits_for.values())

    def is_claimable(self, now: int) -> bool:
        """Whether a lease could be granted now: ready, open, due, and nobody holds it."""
        return (
            self.status in OPEN
            and self.kind is None
            and self.is_ready
            and not self.lease.is_live(now)
            and (self.not_before is None or self.not_before <= now)
        )

    @property
    def is_scope(self) -> bool:
        """Whether it is a Parallel or Map that was entered."""
        kind = KINDS.get(self.kind or "")
        return kind is not None and kind.is_scope

    @property
    def is_open_scope(self) -> bool:
        """Whether branches or iterations of it may go on."""
        return self.status is Status.RUNNING and self.scope is not None

    @property
    def tries(self) -> int:
        """How often it was leased since it was entered or retried: lost leases, which the run bears only so often."""
        before = self.last.get("tries_from")
        return self.attempts - (before if isinstance(before, int) else 0)

    @property
    def heartbeat_due(self) -> int | None:
        """When its holder must have renewed the lease, or heartbeats are missed."""
        if self.heartbeat_s is None or self.lease.token is None or self.lease.ts is None:
            return None
        return self.lease.ts + self.heartbeat_s * SECOND

    def timed_out(self, now: int) -> str | None:
        """Name the ASL error of the timeout that is over; None if there is none."""
        if self.deadline is not None and self.deadline <= now:
            return "States.Timeout"
        due = self.heartbeat_due
        return "States.HeartbeatTimeout" if due is not None and due <= now else None

    def attention(self, at: int) -> int:
        """Tell when the clock must look at it: then, or before, where a timeout ends before."""
        return min(time for time in (at, self.deadline, self.heartbeat_due) if time is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateInput:
    """What a state was given: `effective` is what its worker sees, `entry` what the engine needs when it is left.

    `stateful` says that what follows may read variables or the context object.
    """

    entry: Entry
    effective: Json
    stateful: bool = False

    @property
    def must_keep_entry(self) -> bool:
        """Whether leaving the state needs more than its input says."""
        kept = self.entry
        return self.stateful or kept.raw is not self.effective or bool(kept.variables)


@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """The part of a run's meta document that decisions need.

    `agents` holds only the states asked for, by name; an empty tuple means that any agent may take the state.
    """

    status: RunStatus
    definition_sha256: str
    created_at: str = ""
    is_started: bool = False
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_attempts: int = DEFAULT_MAX_ATTEMPTS

    def assigned(self, path: str) -> tuple[str, ...]:
        """List who may take the state; inside a scope it is assigned by its name, which no other state has."""
        return self.agents.get(name_of(path), ())

    def may_take(self, path: str, agent_id: str) -> bool:
        """Whether this agent is assigned to the state, alone or in a pool, or nobody is."""
        assigned = self.assigned(path)
        return not assigned or agent_id in assigned
