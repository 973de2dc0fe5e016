"""Builds parts of an application from the settings and from other parts. It must not decide."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from dcf.adapters.mailbox import Mailbox
from dcf.adapters.platforms import Platforms
from dcf.application.platforms import PlatformParts, default_kind
from dcf.application.runs import PartsOfRuns
from dcf.features import installed_explanations  # noqa: F401 - before the first diagnosis
from dcf.features.artifacts.operations import Artifacts
from dcf.features.diagnosis.operations import Diagnosis
from dcf.features.export.operations import Exports
from dcf.features.export.records import ExportedRecords
from dcf.features.health.facts import Expected
from dcf.features.health.operations import Health
from dcf.features.health.storage import VitalSigns
from dcf.features.journal.operations import Journal
from dcf.features.traces.operations import RunTraces, open_traces
from dcf.features.usage.operations import Usages
from dcf.features.webhooks.operations import Offers
from dcf.features.webhooks.storage import Webhooks
from dcf.ports import Platform
from dcf.runs.clock.clock import RunClock
from dcf.runs.clock.duties import DUTIES
from dcf.runs.control_plane import ControlPlane
from dcf.runs.notifying.activity import Activity
from dcf.runs.notifying.breaker import Breaker, GuardedDeliverer
from dcf.runs.notifying.deliveries import DeliveryThreads
from dcf.runs.notifying.notifications import Notifications, ToAnybody
from dcf.runs.notifying.queues import Lanes
from dcf.runs.views.histories import Histories
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections
from dcf.store.connection.server_time import ServerTime
from dcf.store.events.inbox import Inbox
from dcf.store.lists.agents import AgentRecords


def platform_parts(settings: Settings, connections: Connections, plane: ControlPlane, inbox: Inbox) -> PlatformParts:
    """Return what platforms of agents are made of."""
    webhooks, records = Webhooks(connections), AgentRecords(connections)
    return PlatformParts(
        settings=settings,
        connections=connections,
        records=records,
        mailbox=Mailbox(inbox, records),
        webhooks=webhooks,
        offers=Offers(plane, webhooks.get),
    )


def _notifications(
    parts: PartsOfRuns, platforms: Platforms, mailbox: Mailbox, to_anybody: ToAnybody
) -> tuple[Notifications, Lanes]:
    lanes, delivery_records, together = Lanes(platforms.remote_kinds_of), parts.told, platforms.deliver_all
    notifications = Notifications(
        parts.plane,
        parts.outbox,
        delivery_records,
        platforms,
        together,
        mailbox,
        to_run=parts.children.handle,
        to_anybody=to_anybody,
        lanes=lanes,
    )
    parts.retention.before_deletion(notifications.take_leave)
    return notifications, lanes


def clock_of(
    parts: PartsOfRuns,
    deliveries: DeliveryThreads,
    activity: Activity,
    connections: Connections,
    traces: RunTraces | None,
) -> RunClock:
    """Return the timer loop of this process."""
    time, lists = ServerTime(connections), (parts.run_index, parts.due, parts.outbox)
    duties = [make(parts.plane, connections) for make in DUTIES.makers]
    return RunClock(parts.plane, *lists, parts.retention, deliveries, time, activity, parts.schedules, duties, traces)


@contextmanager
def open_exports(
    parts: PartsOfRuns, connections: Connections, diagnosis: Diagnosis, records: tuple[Usages, Journal, Artifacts]
) -> Iterator[tuple[Exports, RunTraces | None]]:
    """Yield the part that explains and exports runs, and the part that sends their traces, if they are configured."""
    usages, journal, artifacts = records
    exports = Exports(
        plane=parts.plane,
        store=parts.run_store,
        views=parts.views,
        histories=Histories(parts.plane, parts.history),
        diagnosis=diagnosis,
        records=ExportedRecords(usages=usages, journal=journal, artifacts=artifacts),
    )
    with open_traces(exports, connections) as traces:
        yield exports, traces


def guarded(here: Sequence[Platform], parts: PlatformParts) -> tuple[Platforms, dict[str, Breaker]]:
    """Put a circuit breaker before each remote platform, so that deliveries wait for none that does not answer."""
    breakers = {
        platform.kind: Breaker() for platform in here if platform.deliverer.is_remote and platform.has_one_server
    }
    guarded = [
        platform if (breaker := breakers.get(platform.kind)) is None else _behind(breaker, platform)
        for platform in here
    ]
    return Platforms(guarded, parts.records, default_kind(parts.settings)), breakers


def _behind(breaker: Breaker, platform: Platform) -> Platform:
    return replace(platform, deliverer=GuardedDeliverer(platform.deliverer, breaker))


def health_of(settings: Settings, connections: Connections, *, remote: tuple[str, ...]) -> Health:
    """Return the health report, which knows how things should be."""
    expected = Expected(
        fsync=settings.appendfsync if settings.redis_url is None else None,
        wait_replicas=settings.wait_replicas,
        pulse_interval_s=settings.pulse_interval_s,
        platforms=remote,
    )
    return Health(VitalSigns(connections, wait_replicas=settings.wait_replicas), expected)


@contextmanager
def open_deliveries(
    parts: PartsOfRuns, platforms: Platforms, mailbox: Mailbox, to_anybody: ToAnybody
) -> Iterator[tuple[Notifications, DeliveryThreads]]:
    """Return threads that deliver notifications: after each commit of this process, and when the timer loop says so."""
    notifications, lanes = _notifications(parts, platforms, mailbox, to_anybody)
    deliveries = DeliveryThreads(notifications.deliver_all, further=lanes)
    parts.plane.hand_over_to(deliveries.hand_over, notifications.tell_at_once)
    try:
        yield notifications, deliveries
    finally:
        deliveries.close()
