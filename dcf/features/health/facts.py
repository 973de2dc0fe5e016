"""The facts that a health report is made of, as they were read from Redis at one moment.

`store.vitals` reads them and `core.health` judges them. Times are the Redis server's, in microseconds.
"""

from dcf.core.listing.sweep_results import SweepResult, Trouble
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """Bytes used, their limit (0: none), and what Redis does at the limit (`maxmemory-policy`)."""

    used: int
    limit: int
    policy: str

    @property
    def share(self) -> float:
        """The part of the limit that is used, from 0 to 1; 0 where there is no limit."""
        return min(1.0, self.used / self.limit) if self.limit else 0.0


@record(frozen=True, slots=True, kw_only=True)
class Durability:
    """The data that Redis keeps on disk, and whether its last writes succeeded.

    `fsync`, `snapshots` and `loads_torn` (appendfsync, save and aof-load-truncated) are None if this user may not read
    settings. `loads_torn`: Redis starts with a log whose end a power loss has torn, and writes on behind it.
    """

    log: bool
    fsync: str | None
    snapshots: str | None
    log_written: bool
    log_rewritten: bool
    snapshot_written: bool
    loads_torn: bool | None = None


@record(frozen=True, slots=True, kw_only=True)
class ReplicaSeen:
    """A connected replica: whether it is in step, the seconds since it was last heard of, the bytes it lacks."""

    online: bool
    lag_s: int
    behind: int


@record(frozen=True, slots=True, kw_only=True)
class Overdue:
    """What is due for longest and was not handled: its run, its state (None: the run's deadline), and since when."""

    workflow_id: str
    state: str | None
    since: int


@record(frozen=True, slots=True, kw_only=True)
class ClockFacts:
    """`looked_at`: when any clock looked last. `live` runs are on its list; `examined` of them were read for the rest.

    `running`: those of them that are not over.
    """

    looked_at: int | None
    live: int
    examined: int
    running: int
    overdue: Overdue | None


@record(frozen=True, slots=True, kw_only=True)
class Sighting:
    """When an agent was last seen: it called a tool."""

    agent_id: str
    at: int


@record(frozen=True, slots=True, kw_only=True)
class PlatformTrouble:
    """An agent platform that does not answer: since when, how many calls in a row, the latest error in words."""

    kind: str
    since: int
    failures: int
    error: str


@record(frozen=True, slots=True, kw_only=True)
class SilentWebhook:
    """A webhook that does not answer: how many deliveries in a row failed, and the latest error in words."""

    agent_id: str
    failures: int
    error: str


@record(frozen=True, slots=True, kw_only=True)
class WebhookFacts:
    """How many webhooks there are, and which of the first of them do not answer."""

    count: int = 0
    silent: tuple[SilentWebhook, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class ScheduleFacts:
    """How many schedules there are; those that are stopped or could not start their latest run, a few by name.

    `overdue` is since when the one that waits longest waits for a clock.
    """

    count: int = 0
    troubled: int = 0
    names: tuple[str, ...] = ()
    overdue: int | None = None


@record(frozen=True, slots=True, kw_only=True)
class ServerVitals:
    """The values that one Redis server returned; `node` is its address if it is a node of a cluster.

    `product` is Redis or Valkey, `redis_version` the version of either. `refusal` says why a small write was refused.
    `memory`, `durability` and `replicas` are None where Redis refuses INFO. `confirmed` is how many replicas confirmed
    the write within a moment (None if none is waited for); `waits` is False where Redis refuses WAIT.
    """

    node: str | None = None
    redis_version: str
    product: str = "Redis"
    refusal: Trouble | None
    memory: MemoryUse | None
    durability: Durability | None
    is_replica: bool
    replicas: tuple[ReplicaSeen, ...] | None
    confirmed: int | None
    waits: bool = True


@record(frozen=True, slots=True, kw_only=True)
class Vitals:
    """Everything that was read. `servers` is one, or each primary of a cluster, the one with the least room first.

    `troubled` are the platforms that do not answer. `seen` has the agents seen last, latest first, and `seen_count`
    counts all that are remembered.
    """

    now: int
    servers: tuple[ServerVitals, ...]
    clock: ClockFacts
    seen: tuple[Sighting, ...] = ()
    seen_count: int = 0
    troubled: tuple[PlatformTrouble, ...] = ()
    webhooks: WebhookFacts = WebhookFacts()
    swept: SweepResult | None = None
    schedules: ScheduleFacts = ScheduleFacts()


@record(frozen=True, slots=True, kw_only=True)
class Expected:
    """The requirements in the settings of this process. `fsync` is None for a Redis that dcf does not start itself.

    `platforms` are the kinds of those platforms of agents that are not inboxes in Redis.
    """

    fsync: str | None
    wait_replicas: int
    pulse_interval_s: float
    platforms: tuple[str, ...] = ()
