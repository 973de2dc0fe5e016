"""The documents of a run as frozen records, and the statuses of states and runs.

Data only. `lease`, `progress` and `finalization` decide which changes are allowed; `codec` converts records to JSON.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from hmac import compare_digest
from operator import attrgetter
from typing import TypeVar

from dcf.asl.resources import WAITING
from dcf.asl.state_paths import name_of
from dcf.asl.steps import Entry, Tolerance
from dcf.core.documents.attached import Attached
from dcf.core.documents.kinds import GATE
from dcf.core.documents.parents import Parent
from dcf.core.documents.parking import Parked
from dcf.core.documents.usage import Budget
from dcf.core.leasing.blockers import Blocker
from dcf.values.instants import SECOND
from dcf.values.json_text import Json
from dcf.values.records import record, replace

Kind = TypeVar("Kind", bound=Attached)


class Status(StrEnum):
    """Status of a state. A terminal one never changes unless an operator resets it."""

    PENDING = "pending"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELLED = "cancelled"

    is_terminal: bool
    """True if nothing more happens in this visit of the state."""

    def __init__(self, text: str) -> None:
        self.is_terminal = text not in {"pending", "running"}


OPEN = frozenset({Status.PENDING, Status.RUNNING})

_MOST_AWAITED = 5
"""Most states that a message names of those that a state waits for."""

DEFAULT_MAX_ATTEMPTS = 10
"""Most leases of one state before the run fails, unless the run sets another number."""


class RunStatus(StrEnum):
    """Status of a run. All but `running` are final."""

    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    PARTIAL = "partial"


@record(frozen=True, slots=True, kw_only=True)
class Lease:
    """The lease on a state: who may write it, and until when. Times in server microseconds, `ttl_s` in seconds.

    `epoch` is the fencing token that outside systems can compare: it only grows. Each entered state starts from the
    epoch of the completion that entered it (docs/decisions/execution/fencing.md). While it `awaits_sign`, no call came
    with its token, and it may end before `ttl_s` is over (`core/leasing/first_terms.py`). `key` names the API key,
    bound to an agent, for which dcf drew the token; None where the holder drew it (the same page).
    """

    token: str | None = None
    owner_agent_id: str | None = None
    ts: int | None = None
    ttl_s: int | None = None
    epoch: int = 0
    expires_at: int | None = None
    awaits_sign: bool = False
    key: str | None = None

    def is_live(self, now: int) -> bool:
        """Return True if the lease is held and has not expired. Without a readable expiry it counts as expired."""
        return self.token is not None and self.expires_at is not None and self.expires_at > now

    def is_held_with(self, token: str | None) -> bool:
        """Return True if this is the lease's token. Compares in constant time."""
        if self.token is None or token is None:
            return False
        return compare_digest(self.token.encode(), token.encode())

    def is_regained_by(self, key: str | None, owner: str | None, now: int) -> bool:
        """Return True if the lease is live, and dcf drew its token for this key and agent."""
        return key is not None and self.key == key and self.owner_agent_id == owner and self.is_live(now)

    def next_epoch(self, now: int) -> int:
        """Return the fencing number of a new grant: larger than any before, even after a failover that lost writes."""
        return max(self.epoch + 1, now)


class Operation(StrEnum):
    """Kinds of requests with a receipt. `lost` marks a token whose lease ended without a request of its holder."""

    COMPLETE = "complete"
    RELEASE = "release"
    UPDATE = "update"
    LOST = "lost"


@record(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The answer to an applied request, stored so that a repetition gets the same answer.

    `request` is the fingerprint of the lease token; for a partial write, of token and request id. `content` is the
    fingerprint of what was written (status, output, error), so that other content is not taken for a repetition; the
    first versions kept none. `at` is the server time in microseconds. `next_states` are the Tasks that a completion
    entered, `claimed` those that it leased.
    """

    request: str
    operation: Operation
    at: int
    status: Status
    content: str = ""
    output_written: bool = False
    run_status: RunStatus = RunStatus.RUNNING
    next_states: tuple[str, ...] = ()
    claimed: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class RunReceipt:
    """The answer to an applied request about a whole run, stored so that a repetition gets the same answer.

    `content` is the fingerprint of the request; `at` is the server time in microseconds.
    """

    content: str
    at: int
    answer: Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class ScopeBounds:
    """Limits of an open Parallel or Map: branches or iterations in all, at once, and that may fail.

    `done` are ranges (first and last) of those that had succeeded when it was reopened by `retry_run`.
    """

    size: int
    concurrency: int = 1
    tolerance: Tolerance = field(default_factory=Tolerance)
    done: tuple[tuple[int, int], ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class StateDoc:
    """One state of a run. `waits_for` maps each state it waits for to the epoch that settled it, or 0.

    `kind` is set for an open state that no agent leases: a Wait, a Parallel, a Map, a Task that waits for something
    outside or for a retry that enters it again, or any state before which a long chain paused. `deadline` and
    `heartbeat_s` are a Task's timeouts. When they were set, `not_before` of a retry was `delay_s` ahead, and `deadline`
    was `timeout_s` after that. `scope` is set once a Parallel or Map has opened its branches or iterations; on states
    inside, `scope_epoch` is the epoch that the scope's document had then.

    `receipt` is that of the last applied request; older ones are stored in a hash. `claim` is the fingerprint of the
    token that claimed the state. `reminders` counts the reminders to its agents since it was last leased,
    `start_reminders` those to the planner of a run that was not started. `retries` counts how often a Retrier retried
    it; `tries_from` is the number of attempts before the last of these. `visit` is what the task token of this visit
    names, where there is one. `logged` is the number of the last line that the holder of the lease wrote into the
    history. `corrections` says how often the result was corrected that its input comes from. `parked` is the last
    usage limit that a holder met in this visit. `attached` are the values of capabilities, by their fields; `extra`
    are fields that no code of this process reads.
    """

    status: Status = Status.PENDING
    attempts: int = 0
    lease: Lease = field(default_factory=Lease)
    started_at: int | None = None
    finished_at: int | None = None
    last_error: str | None = None
    waits_for: Mapping[str, int] = field(default_factory=dict)
    not_before: int | None = None
    delay_s: int | None = None
    kind: str | None = None
    deadline: int | None = None
    timeout_s: int | None = None
    heartbeat_s: int | None = None
    scope_epoch: int | None = None
    scope: ScopeBounds | None = None
    receipt: Receipt | None = None
    claim: str | None = None
    reminders: int = 0
    start_reminders: int = 0
    retries: int = 0
    tries_from: int = 0
    visit: int | None = None
    logged: int = 0
    corrections: int = 0
    parked: Parked | None = None
    attached: tuple[Attached, ...] = ()
    extra: Mapping[str, Json] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """True if everything that it waits for is settled."""
        return all(self.waits_for.values())

    @property
    def awaited(self) -> list[str]:
        """The first states that it still waits for, by name."""
        return sorted(state for state, epoch in self.waits_for.items() if not epoch)[:_MOST_AWAITED]

    def is_claimable(self, now: int) -> bool:
        """Return True if a lease could be granted now: the state is open, ready, due and not leased."""
        return (
            self.status in OPEN
            and self.kind is None
            and self.is_ready
            and not self.lease.is_live(now)
            and (self.not_before is None or self.not_before <= now)
        )

    @property
    def is_scope(self) -> bool:
        """True if it is a Parallel or Map that was entered."""
        return self.kind in ("Parallel", "Map")

    @property
    def is_open_scope(self) -> bool:
        """True if its branches or iterations may continue."""
        return self.status is Status.RUNNING and self.scope is not None

    @property
    def waits_outside(self) -> bool:
        """True for a Task that waits for something outside, such as a callback or a person: no agent can lease it."""
        return self.status is Status.RUNNING and self.kind in WAITING

    @property
    def is_parked(self) -> bool:
        """True from when it met a usage limit until it is leased again, or its agents are reminded after the end."""
        is_free = self.parked is not None and self.lease.token is None and not self.reminders
        return is_free and self.parked is not None and self.parked.until == self.not_before

    def limit(self, now: int) -> Parked | None:
        """Return the usage limit that it waits for; None if it waits for something else."""
        return self.parked if self.is_parked and (self.not_before or 0) > now else None

    @property
    def tries(self) -> int:
        """Number of leases since it was entered or retried. The run limits it (max attempts)."""
        return self.attempts - self.tries_from

    @property
    def entry_epoch(self) -> int:
        """Epoch of what entered it, the same for all attempts of this visit; 0 for the first of a run or scope."""
        return max(self.waits_for.values(), default=0)

    @property
    def heartbeat_due(self) -> int | None:
        """Time by which its holder must renew the lease, or the outside show a sign, before the heartbeat times out."""
        is_awaited = self.lease.token is not None or self.waits_outside
        if self.heartbeat_s is None or self.lease.ts is None or not is_awaited or self.is_judged:
            return None
        return self.lease.ts + self.heartbeat_s * SECOND

    def timed_out(self, now: int) -> str | None:
        """Return the ASL error of the timeout that has passed; None if none has."""
        if self.deadline is not None and self.deadline <= now:
            return "States.Timeout"
        due = self.heartbeat_due
        return "States.HeartbeatTimeout" if due is not None and due <= now else None

    @property
    def is_judged(self) -> bool:
        """True if its output waits for the verdicts of gates. Its worker keeps the lease, which does not expire."""
        return self.kind == GATE and self.status is Status.RUNNING

    def is_held(self, now: int) -> bool:
        """Return True if an agent holds it: the lease has not expired, or cannot, since its output is judged."""
        return self.lease.is_live(now) or (self.is_judged and self.lease.token is not None)

    def has_lost_lease(self, now: int) -> bool:
        """Return True if its holder let the lease expire and no agent took over."""
        return self.lease.token is not None and not self.status.is_terminal and not self.is_held(now)

    def attention(self, at: int) -> int:
        """Return when the timer loop must check the state: `at`, or earlier if a timeout ends earlier."""
        if _rarely_due(self) == _NEVER_DUE:
            return at
        times = (at, self.deadline, self.heartbeat_due, *(value.due_in(self) for value in self.attached))
        return min(time for time in times if time is not None)

    def attached_as(self, kind: type[Kind]) -> Kind | None:
        """Return the attached value of this kind; None without one."""
        for value in self.attached:
            if isinstance(value, kind):
                return value
        return None

    def has(self, field: str) -> bool:
        """Return True if a value with this field is attached."""
        return any(value.field == field for value in self.attached)

    def attaching(self, value: Attached) -> "StateDoc":
        """Return the document with this value, in place of the one of its field."""
        others = (other for other in self.attached if other.field != value.field)
        return replace(self, attached=tuple(sorted((*others, value), key=attrgetter("field"))))

    @property
    def lasting(self) -> tuple[Attached, ...]:
        """The attached values without those that end with the lease."""
        return tuple(value for value in self.attached if not value.ends_with_lease)


_rarely_due = attrgetter("deadline", "heartbeat_s", "attached")
_NEVER_DUE = (None, None, ())


@record(frozen=True, slots=True, kw_only=True)
class StateInput:
    """Input of a state: `effective` is what its worker sees, `entry` what the engine needs when the state ends.

    `stateful`: later states may read variables or the context object. `revisits`: an earlier visit may have left an
    entry.
    """

    entry: Entry
    effective: Json
    stateful: bool = False
    revisits: bool = False

    @property
    def must_keep_entry(self) -> bool:
        """True if the engine needs more than the input when the state ends."""
        entry = self.entry
        return (
            self.stateful or entry.raw is not self.effective or bool(entry.variables or entry.retries or entry.silent)
        )


@record(frozen=True, slots=True, kw_only=True)
class Meta:
    """The part of a run's meta document that decisions need.

    `agents` has only the states that were read, by name. An empty tuple means that any agent may take the state.
    `clock_due_at` is the latest time of the next check by the timer loop, None if it is unknown. While the run is
    `is_paused`, or an issue in `blocked_by` is open, no lease is granted. `parent` is the state of another run that
    started this one. `budget` is what the run may use up. Of a run that `may_expire`, writes must keep
    the expiry of keys; this is read where a write would drop it.
    """

    status: RunStatus
    definition_sha256: str
    created_at: str = ""
    is_started: bool = False
    planner_agent_id: str | None = None
    created_by: str | None = None
    is_paused: bool = False
    blocked_by: tuple[Blocker, ...] = ()
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    max_attempts: int = DEFAULT_MAX_ATTEMPTS
    clock_due_at: int | None = None
    parent: Parent | None = None
    budget: Budget | None = None
    may_expire: bool = False

    @property
    def hold(self) -> Blocker | None:
        """Why the run is on hold: its evaluations ended processes. None if it is not."""
        return next((blocker for blocker in self.blocked_by if blocker.is_hold), None)

    @property
    def is_halted(self) -> bool:
        """True if no lease is granted although the run has not ended: it is paused, or an issue blocks it."""
        return self.is_paused or bool(self.blocked_by)

    @property
    def has_planner(self) -> bool:
        """True if the run has a planner, who is notified when the run ends or is stuck."""
        return self.planner_agent_id is not None

    def assigned(self, path: str) -> tuple[str, ...]:
        """Return the assigned agents. A state inside a scope is assigned by its name, which is unique."""
        return self.agents.get(name_of(path), ())

    def may_take(self, path: str, agent_id: str) -> bool:
        """Return True if the agent may take the state: it is assigned, alone or in a pool, or no agent is."""
        assigned = self.assigned(path)
        return not assigned or agent_id in assigned
