"""The counts of this process for monitoring: leases, takeovers, conflicts, notifications, and how long tools take.

`current` is None unless metrics are configured; then an event costs only a check of it. No label has the id of a run, a
state or an agent, and at most 100 accounts are named. No decision may rest on the counts, and this module must not send
them.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import itemgetter
from typing import Final, TypeAlias

from dcf.core.documents.decision import WriteSet
from dcf.values.instants import SECOND

SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
"""Upper bounds of the buckets of histograms."""

MOST_READY: Final = 10_000
"""Ready states that are remembered until they are leased; the oldest is forgotten first."""

MOST_ACCOUNTS: Final = 100
"""Accounts that metrics name; the refusals of all others are counted together."""

_OTHERS: Final = "(others)"

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})

Labels: TypeAlias = tuple[str, ...]


@dataclass(frozen=True)
class Family:
    """A metric: its name, its type and its meaning, as Prometheus shows them, and the names of its labels."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...] = ()

    def lines(self, samples: Iterable[str]) -> list[str]:
        """Return the family in the text format of Prometheus."""
        return [f"# HELP {self.name} {self.text}", f"# TYPE {self.name} {self.kind}", *samples]

    def sample(
        self, value: float, labels: Labels = (), *, suffix: str = "", more: Mapping[str, str] | None = None
    ) -> str:
        """Return one line."""
        named = dict(zip(self.labels, labels, strict=True)) | dict(more or {})
        shown = ",".join(f'{name}="{value.translate(_ESCAPES)}"' for name, value in named.items())
        return f"{self.name}{suffix}{'{' + shown + '}' if shown else ''} {value}"


LEASES: Final = Family("dcf_lease_acquire_total", "counter", "Requested leases, by outcome.", ("outcome",))
TAKEOVERS: Final = Family("dcf_lease_takeovers_total", "counter", "Leases taken after their holder's had expired.")
CONFLICTS: Final = Family("dcf_txn_conflicts_total", "counter", "Transactions that lost a race and were tried again.")
NOTIFICATIONS: Final = Family(
    "dcf_notifications_total", "counter", "Notifications for agents, by outcome.", ("outcome",)
)
TOOLS: Final = Family("dcf_tool_seconds", "histogram", "How long calls of tools took.", ("tool",))
READY: Final = Family(
    "dcf_ready_to_acquired_seconds",
    "histogram",
    "From a state being ready until it was leased, where both were committed by this process.",
)
REJECTED: Final = Family(
    "dcf_redis_rejected_writes_total",
    "counter",
    "Writes of this process that Redis rejected: its memory is full, its disk, or too few replicas are connected.",
    ("reason",),
)
STATES: Final = Family(
    "dcf_states_total", "counter", "State changes in commits of this process, by status.", ("status",)
)
DURATION: Final = Family(
    "dcf_state_duration_seconds",
    "histogram",
    "From the first lease of a state's visit to its end, by how it ended, where this process committed the end.",
    ("status",),
)
REFUSED: Final = Family(
    "dcf_account_refused_total",
    "counter",
    "Turns that an account refused to this process, by reason. Each repeated request counts.",
    ("account", "reason"),
)
COUNTED: Final = (LEASES, TAKEOVERS, CONFLICTS, NOTIFICATIONS, TOOLS, READY, STATES, DURATION, REJECTED, REFUSED)

_TOLD: Final = {
    "StateEntered": "entered",
    "StateSucceeded": "succeeded",
    "StateFailed": "failed",
    "StateRetried": "retried",
    "StateCancelled": "cancelled",
}
"""The counters of states, by the type of the counted event."""


@dataclass(frozen=True)
class Spread:
    """The counts of a histogram: how many values in each bucket, the last of which has no bound, and their sum."""

    counts: tuple[int, ...]
    total: float


@dataclass(frozen=True)
class MetricValues:
    """The present value of a metric, by the values of its labels."""

    family: Family
    values: Mapping[Labels, float | Spread]

    def lines(self) -> list[str]:
        """Return it in the text format of Prometheus."""
        samples = list[str]()
        for labels, value in sorted(self.values.items(), key=itemgetter(0)):
            samples += self._spread(labels, value) if isinstance(value, Spread) else [self.family.sample(value, labels)]
        return self.family.lines(samples)

    def _spread(self, labels: Labels, value: Spread) -> list[str]:
        sample, totals = self.family.sample, list(accumulate(value.counts))
        bounds = zip((*map(str, SECONDS), "+Inf"), totals, strict=True)
        buckets = [sample(total, labels, suffix="_bucket", more={"le": bound}) for bound, total in bounds]
        ends = (sample(value.total, labels, suffix="_sum"), sample(totals[-1], labels, suffix="_count"))
        return [*buckets, *ends]


@dataclass
class _LabelledCounts:
    family: Family
    values: dict[Labels, int] = field(default_factory=dict)

    def add(self, *labels: str) -> None:
        self.values[labels] = self.values.get(labels, 0) + 1

    def read(self) -> MetricValues:
        return MetricValues(self.family, dict(self.values) or ({} if self.family.labels else {(): 0}))


@dataclass
class _Histogram:
    family: Family
    buckets: dict[Labels, list[int]] = field(default_factory=dict)
    sums: dict[Labels, float] = field(default_factory=dict)

    def add(self, value: float, *labels: str) -> None:
        bucket = self.buckets.setdefault(labels, [0] * (len(SECONDS) + 1))
        bucket[next((at for at, bound in enumerate(SECONDS) if value <= bound), len(SECONDS))] += 1
        self.sums[labels] = self.sums.get(labels, 0.0) + value

    def read(self) -> MetricValues:
        return MetricValues(
            self.family, {labels: Spread(tuple(self.buckets[labels]), self.sums[labels]) for labels in self.buckets}
        )


class Meters:
    """The counts of one process since it began; from any thread. `is_served`: /metrics is to show them."""

    def __init__(self, *, is_served: bool = True) -> None:
        self.is_served = is_served
        self._lock = threading.Lock()
        self._leases, self._takeovers, self._conflicts = (
            _LabelledCounts(LEASES),
            _LabelledCounts(TAKEOVERS),
            _LabelledCounts(CONFLICTS),
        )
        self._notifications, self._tools, self._ready = (
            _LabelledCounts(NOTIFICATIONS),
            _Histogram(TOOLS),
            _Histogram(READY),
        )
        self._states, self._durations = _LabelledCounts(STATES), _Histogram(DURATION)
        self._rejected = _LabelledCounts(REJECTED, {(reason,): 0 for reason in ("disk", "memory", "replicas")})
        self._refused, self._accounts = _LabelledCounts(REFUSED), set[str]()
        self._ready_since: dict[tuple[str, str], int] = {}

    def committed(self, workflow_id: str, changes: WriteSet, now: int) -> None:
        """Count what a commit at this server time brought: leases, and states that are ready from now on."""
        with self._lock:
            entered = {event.state for event in changes.events if event.type == "StateEntered"}
            for event in changes.events:
                if event.type in _TOLD:
                    self._states.add(_TOLD[event.type])
                if event.type == "LeaseAcquired" and event.state is not None:
                    self._acquired(workflow_id, event.state, now, is_new=event.state in entered)
                    if event.data.get("takeover"):
                        self._takeovers.add()
            for state, doc in changes.states.items():
                if doc.started_at is not None and doc.finished_at is not None and doc.status.is_terminal:
                    self._durations.add(max(0, doc.finished_at - doc.started_at) / SECOND, doc.status.value)
                if doc.is_claimable(now):
                    self._ready_since.setdefault((workflow_id, state), now)
                else:
                    self._ready_since.pop((workflow_id, state), None)
            while len(self._ready_since) > MOST_READY:
                del self._ready_since[next(iter(self._ready_since))]

    def _acquired(self, workflow_id: str, state: str, now: int, *, is_new: bool) -> None:
        self._leases.add("acquired")
        since = now if is_new else self._ready_since.get((workflow_id, state))
        if since is not None:
            self._ready.add(max(0, now - since) / SECOND)

    def refused(self, code: str) -> None:
        """Count a lease that was refused."""
        with self._lock:
            self._leases.add(code)

    def overtaken(self) -> None:
        """Count a transaction that lost a race."""
        with self._lock:
            self._conflicts.add()

    def rejected(self, reason: str) -> None:
        """Count a write that Redis rejected."""
        with self._lock:
            self._rejected.add(reason)

    def turn_refused(self, account: str, reason: str) -> None:
        """Count a turn that may not start yet."""
        with self._lock:
            if len(self._accounts) < MOST_ACCOUNTS:
                self._accounts.add(account)
            self._refused.add(account if account in self._accounts else _OTHERS, reason)

    def notified(self, outcomes: Sequence[str]) -> None:
        """Count notifications."""
        with self._lock:
            for outcome in outcomes:
                self._notifications.add(outcome)

    def called(self, tool: str, seconds: float) -> None:
        """Count a call of a tool."""
        with self._lock:
            self._tools.add(seconds, tool)

    def read(self) -> list[MetricValues]:
        """Return everything that is counted."""
        parts = (self._leases, self._takeovers, self._conflicts, self._notifications, self._tools, self._ready)
        with self._lock:
            return [part.read() for part in (*parts, self._states, self._durations, self._rejected, self._refused)]


current: Meters | None = None


def count(*, is_served: bool = True) -> Meters:
    """Begin to count in this process, unless it does so already."""
    global current  # noqa: PLW0603 - what is counted is the process's, as Prometheus wants it
    if current is None:
        current = Meters(is_served=is_served)
    return current
