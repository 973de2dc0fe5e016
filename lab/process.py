"""dcf in a process of the lab: connected to a Redis, in stretched time."""

import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from dcf.adapters.mailbox import Mailbox
from dcf.features import installed_decisions, installed_runs  # noqa: F401 - before the first decision
from dcf.features.accounts.admission_operations import AccountAdmissions
from dcf.features.accounts.storage import AccountStore
from dcf.features.children.operations import Children
from dcf.features.external.operations import SignalSending
from dcf.features.journal.operations import Journal
from dcf.features.journal.storage import JournalReader
from dcf.features.retention.operations import Retention
from dcf.features.retention.storage import Deletion
from dcf.features.schedules.operations import Schedules
from dcf.features.schedules.storage import ScheduleStore
from dcf.features.work.taker_storage import Takers
from dcf.features.work.unassigned_operations import UnassignedWork
from dcf.runs.clock.clock import RunClock
from dcf.runs.control_plane import ControlPlane
from dcf.runs.lifecycle import Lifecycle
from dcf.runs.notifying.deliveries import DeliveryThreads
from dcf.runs.notifying.notifications import Notifications
from dcf.runs.retrying import RunRetrying
from dcf.runs.starting import Starting
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.connections import Connections
from dcf.store.connection.opening import connect
from dcf.store.connection.server_time import ServerTime
from dcf.store.events.inbox import Inbox
from dcf.store.events.notified import ToldRecords
from dcf.store.events.outbox import Outbox
from dcf.store.lists.agents import AgentRecords
from dcf.store.lists.definitions import KeptDefinitions
from dcf.store.lists.due import DueRuns
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore
from dcf.tools.calling.repeating import repeated
from lab.server_time import SharedTime, quicken, quicken_accounts, timed

_PATIENCE_S: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where dcf's Redis is, and how it is used.

    `server_urls` are servers of MCP for workers that call over HTTP, each with the API key of its agent.
    """

    url: str
    time_file: Path
    wait_replicas: int = 0
    server_urls: tuple[str, ...] = ()
    api_keys: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Dcf:
    """The parts of dcf that the lab uses."""

    connections: Connections
    plane: ControlPlane
    lifecycle: Lifecycle
    journal: Journal
    signals: SignalSending
    retrying: RunRetrying
    starting: Starting
    retention: Retention
    notifications: Notifications
    clock: RunClock
    inbox: Inbox
    schedules: Schedules


@contextmanager
def opened(place: Place) -> Iterator[Dcf]:
    """Connect, for the duration of the block."""
    shared = SharedTime(place.time_file)
    quicken()
    quicken_accounts(shared)
    connections = connect(place.url, wait_replicas=place.wait_replicas, around=timed(shared))
    # Half of the processes complete in one packet what they claimed with a completion.
    one_packet_from_s = 0.0 if os.getpid() % 2 else math.inf
    store = RunStore(
        connections, wait_replicas=place.wait_replicas, deadline_s=5.0, one_packet_from_s=one_packet_from_s
    )
    index, outbox, inbox = RunIndex(connections), Outbox(connections), Inbox(connections)
    plane = ControlPlane(store, index)
    plane.admitting.admissions = AccountAdmissions(AccountStore(connections, wait_replicas=place.wait_replicas))
    platform = Mailbox(inbox, AgentRecords(connections))
    replicas = place.wait_replicas
    starting = Starting(plane.transactions, plane.follow_ups, KeptDefinitions(connections, wait_replicas=replicas))
    notifications = Notifications(
        plane,
        outbox,
        ToldRecords(connections),
        platform,
        platform.deliver_all,
        to_run=Children(plane, starting, outbox).handle,
        to_anybody=UnassignedWork(plane, Takers(connections), platform.deliver_all).offer,
    )
    retention = Retention(plane, store, outbox, Deletion(connections))
    deliveries = DeliveryThreads(notifications.deliver_all)
    plane.hand_over_to(deliveries.hand_over)
    schedules = Schedules(
        ScheduleStore(connections, wait_replicas=replicas), starting, AccessKeys(connections, wait_replicas=replicas)
    )
    lists = (index, DueRuns(connections), outbox)
    try:
        yield Dcf(
            connections=connections,
            plane=plane,
            lifecycle=Lifecycle(plane),
            journal=Journal(plane, JournalReader(connections)),
            signals=SignalSending(plane),
            retrying=RunRetrying(plane),
            starting=starting,
            retention=retention,
            notifications=notifications,
            clock=RunClock(plane, *lists, retention, deliveries, ServerTime(connections), schedules=schedules),
            inbox=inbox,
            schedules=schedules,
        )
    finally:
        deliveries.close()
        connections.close()


def patiently(call: Callable[[], Any]) -> Any:
    """Repeat a call while it fails with an error that passes; raise that error after 30 seconds."""
    return repeated(lambda _: call(), _PATIENCE_S)
