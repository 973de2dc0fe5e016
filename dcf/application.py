"""Composition root: builds the objects of one process from its settings, and closes them. Decides nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from dcf.adapters.mailbox import Mailbox
from dcf.core.retention import RetentionPolicy
from dcf.core.vitals import Expected
from dcf.data import find_directory, find_file
from dcf.errors import InvalidArgument
from dcf.files.items import ItemFiles
from dcf.files.tree import FileTree
from dcf.ports import AgentPlatform, Deliverer
from dcf.runs.activity import Activity
from dcf.runs.breaker import Breaker, GuardedDeliverer
from dcf.runs.callbacks import Callbacks
from dcf.runs.catalog import RunList
from dcf.runs.clock import RunClock
from dcf.runs.control_plane import ControlPlane
from dcf.runs.deliveries import DeliveryThreads
from dcf.runs.diagnosis import Diagnosis
from dcf.runs.editing import JsonDocuments
from dcf.runs.export import Exports
from dcf.runs.health import Health
from dcf.runs.histories import Histories
from dcf.runs.lifecycle import Lifecycle
from dcf.runs.notifications import Notifications
from dcf.runs.outside import Outside
from dcf.runs.people import People
from dcf.runs.retention import Retention
from dcf.runs.retrying import RunRetrying
from dcf.runs.starting import Starting
from dcf.runs.sweep import Sweep
from dcf.runs.views import RunViews
from dcf.settings import Settings
from dcf.skills.library import Library
from dcf.skills.manifest import SCHEMA_NAME
from dcf.skills.policy import Policy
from dcf.skills.servers import Registry
from dcf.store.access_keys import AccessKeys
from dcf.store.activity import ActivityRecords
from dcf.store.agents import AgentRecords
from dcf.store.assignments import AssignmentIndex
from dcf.store.audit_trail import AuditTrail
from dcf.store.catalog import Catalog
from dcf.store.connection import Connections, open_async_client
from dcf.store.definitions import KeptDefinitions
from dcf.store.deletion import Deletion
from dcf.store.deliveries import SharedDeliveries
from dcf.store.documents import Documents
from dcf.store.due import DueRuns
from dcf.store.edits import Edits
from dcf.store.history import History
from dcf.store.human_tasks import HumanTasks
from dcf.store.inbox import Inbox
from dcf.store.inbox_waits import InboxReader
from dcf.store.index import RunIndex
from dcf.store.inspection import ServerFacts, inspect_server
from dcf.store.listings import Listings
from dcf.store.opening import opened
from dcf.store.outbox import Outbox
from dcf.store.quotas import QuotaUsage
from dcf.store.refusal_notes import RefusalNotes
from dcf.store.run_signs import RunSignsReader
from dcf.store.runs import RunStore
from dcf.store.server_time import ServerTime
from dcf.store.told import ToldRecords
from dcf.store.vitals import VitalSigns
from dcf.validation.schema import configured_schema, read_schema
from dcf.values.json_text import Json
from dcf.workforce.assignment import Desk
from dcf.workforce.crew.roster_documents import RosterDocuments
from dcf.workforce.crew.workers import Workers
from dcf.workforce.skills.equipment import Equipment, Limits
from dcf.workforce.skills.holdings_documents import HoldingsDocuments


@dataclass(frozen=True, slots=True, kw_only=True)
class Application:
    """The objects that tools and commands use.

    `control_plane` has the operations on states, `lifecycle` those on whole runs, `outside` those on
    Tasks that wait for something outside of dcf, `callbacks` those by task token; `starting` begins runs, `retrying`
    lets ended ones go on. `runs` reads their status, `run_list` lists them, `exports` explains and exports them, and
    `retention` keeps and deletes those that are over. `workers` creates and deletes the agents of runs on `platform`,
    `equipment` gives them skills from `library`, and `desk` tells them what to do. `documents` and `files` are what
    tools may change outside runs; the `audit` trail records such changes, and `refusals` what was refused. `sweep`
    repairs the indexes across runs. `usage` tells what API keys hold. `health` tells how all of it is, and `activity`
    notes who calls.
    """

    settings: Settings
    control_plane: ControlPlane
    lifecycle: Lifecycle
    outside: Outside
    people: People
    callbacks: Callbacks
    starting: Starting
    retrying: RunRetrying
    runs: RunViews
    run_list: RunList
    retention: Retention
    platform: AgentPlatform
    workers: Workers
    equipment: Equipment
    desk: Desk
    library: Library
    documents: JsonDocuments
    files: FileTree
    notifications: Notifications
    clock: RunClock
    sweep: Sweep
    health: Health
    activity: Activity
    history: History
    exports: Exports
    keys: AccessKeys
    usage: QuotaUsage
    audit: AuditTrail
    refusals: RefusalNotes
    inbox: Inbox
    records: AgentRecords
    reader: InboxReader
    server: ServerFacts
    redis_url: str

    @property
    def diagnosis(self) -> Diagnosis:
        """Tells why a run does not move."""
        return self.exports.diagnosis

    @property
    def histories(self) -> Histories:
        """The histories of runs, in pages."""
        return self.exports.histories


@contextmanager
def open_application(settings: Settings) -> Iterator[Application]:
    """Connect to the configured Redis, or start or join the embedded one, for the duration of the `with` block."""
    url = None if settings.redis_url is None else settings.redis_url.get_secret_value()
    fsync, most = settings.appendfsync, settings.maxmemory
    with opened(url, settings.data_dir, appendfsync=fsync, maxmemory=most) as (found, connections):
        yield from _connected(settings, found, connections)


def _connected(settings: Settings, url: str, connections: Connections) -> Iterator[Application]:
    with ExitStack() as resources:
        facts, parts = inspect_server(connections), _parts_of_runs(settings, connections)
        plane, replicas = parts.plane, settings.wait_replicas
        inbox, records = Inbox(connections), AgentRecords(connections)
        platform = resources.enter_context(_open_platform(settings, connections, inbox, records))
        documents, assignments = Documents(connections, wait_replicas=replicas), AssignmentIndex(connections)
        equipment, library = open_equipment(settings, platform, documents), _open_library(settings)
        breaker = Breaker() if platform.is_remote else None
        activity = Activity(ActivityRecords(connections), breaker)
        notifications = _notifications(parts, platform, breaker, Mailbox(inbox, records))
        deliveries = resources.enter_context(_open_deliveries(plane, notifications))
        access, audit = AccessKeys(connections, wait_replicas=replicas, quotas=settings.quotas), AuditTrail(connections)
        yield Application(
            settings=settings,
            control_plane=plane,
            lifecycle=Lifecycle(plane),
            outside=Outside(plane),
            people=People(plane, parts.history, HumanTasks(connections)),
            callbacks=Callbacks(plane),
            starting=Starting(plane.transactions, plane.follow_ups, parts.definitions),
            retrying=RunRetrying(plane),
            runs=parts.views,
            run_list=RunList(Catalog(connections)),
            platform=platform,
            workers=Workers(platform, RosterDocuments(documents), parts.run_store, assignments, equipment),
            equipment=equipment,
            desk=Desk(parts.views, plane, assignments, equipment, records, library),
            library=library,
            documents=_json_documents(settings, connections, plane),
            files=FileTree(settings.files_read, settings.files_write, settings.files_max_bytes),
            notifications=notifications,
            retention=parts.retention,
            clock=_clock(parts, deliveries, activity, connections),
            sweep=Sweep(Listings(connections, prefixes=settings.json_prefixes)),
            health=_health(settings, connections, is_remote=platform.is_remote),
            activity=activity,
            history=parts.history,
            exports=_exports(settings, parts, connections),
            keys=access,
            usage=QuotaUsage(connections),
            audit=audit,
            refusals=RefusalNotes(audit, access),
            inbox=inbox,
            records=records,
            reader=InboxReader(inbox, partial(open_async_client, url)),
            server=facts,
            redis_url=url,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _PartsOfRuns:
    """What reads and writes runs, before there are agents to tell."""

    run_store: RunStore
    run_index: RunIndex
    outbox: Outbox
    told: ToldRecords
    history: History
    due: DueRuns
    definitions: KeptDefinitions
    plane: ControlPlane
    views: RunViews
    retention: Retention


def _parts_of_runs(settings: Settings, connections: Connections) -> _PartsOfRuns:
    replicas = settings.wait_replicas
    policy = RetentionPolicy(finalize_after_s=settings.finalize_after_s, keep_s=settings.retention_s)
    store, index = RunStore(connections, wait_replicas=replicas), RunIndex(connections)
    outbox, told = Outbox(connections), ToldRecords(connections)
    items = ItemFiles(roots=settings.items_dirs, max_bytes=settings.items_max_bytes)
    plane = ControlPlane(store, index, items)
    return _PartsOfRuns(
        run_store=store,
        run_index=index,
        outbox=outbox,
        told=told,
        history=History(connections),
        due=DueRuns(connections, policy),
        definitions=KeptDefinitions(connections, wait_replicas=replicas),
        plane=plane,
        views=RunViews(plane, store, told),
        retention=Retention(plane, store, outbox, Deletion(connections), policy),
    )


def _notifications(
    parts: _PartsOfRuns, platform: AgentPlatform, breaker: Breaker | None, people: Deliverer
) -> Notifications:
    together = platform.deliver_all if isinstance(platform, Mailbox) else None
    return Notifications(parts.plane, parts.outbox, parts.told, _guarded(platform, breaker), together, people)


def _clock(parts: _PartsOfRuns, deliveries: DeliveryThreads, activity: Activity, connections: Connections) -> RunClock:
    time = ServerTime(connections)
    return RunClock(parts.plane, parts.run_index, parts.due, parts.outbox, parts.retention, deliveries, time, activity)


def _json_documents(settings: Settings, connections: Connections, plane: ControlPlane) -> JsonDocuments:
    edits = Edits(connections, wait_replicas=settings.wait_replicas, keep_s=settings.json_life_s)
    return JsonDocuments(edits, plane, settings.json_prefixes, settings.json_max_bytes)


def _exports(settings: Settings, parts: _PartsOfRuns, connections: Connections) -> Exports:
    return Exports(
        plane=parts.plane,
        store=parts.run_store,
        views=parts.views,
        histories=Histories(parts.plane, parts.history),
        diagnosis=Diagnosis(parts.plane, RunSignsReader(connections), settings.pulse_interval_s),
    )


def _open_library(settings: Settings) -> Library:
    schema = configured_schema(settings.skill_schema, settings.schemas_dir, SCHEMA_NAME)
    directory = find_directory(settings.manifests_dir)
    return Library(directory=directory, schema=None if schema is None else read_schema(schema))


def _guarded(platform: AgentPlatform, breaker: Breaker | None) -> Deliverer:
    """Put a circuit breaker before a remote platform, so that deliveries do not wait for one that does not answer."""
    return platform if breaker is None else GuardedDeliverer(platform, breaker)


def _health(settings: Settings, connections: Connections, *, is_remote: bool) -> Health:
    expected = Expected(
        fsync=settings.appendfsync if settings.redis_url is None else None,
        wait_replicas=settings.wait_replicas,
        pulse_interval_s=settings.pulse_interval_s,
        is_remote=is_remote,
    )
    return Health(VitalSigns(connections, wait_replicas=settings.wait_replicas), expected)


@contextmanager
def _open_deliveries(plane: ControlPlane, notifications: Notifications) -> Iterator[DeliveryThreads]:
    """Return threads that deliver what runs owe: at once after a commit of this process, and when the clock says so."""
    deliveries = DeliveryThreads(notifications.deliver_all)
    plane.hand_over_to(deliveries.hand_over)
    try:
        yield deliveries
    finally:
        deliveries.close()


@contextmanager
def _open_platform(
    settings: Settings, connections: Connections, inbox: Inbox, records: AgentRecords
) -> Iterator[AgentPlatform]:
    """Open the agent platform: the Letta server that the settings name, or the mailbox in Redis."""
    if settings.letta_base_url is None:
        yield Mailbox(inbox, records)
        return
    try:
        from dcf.adapters import letta  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise InvalidArgument(
            "LETTA_BASE_URL is set, but the Letta client is not installed.",
            "Install it: pip install 'dcf-mcp[letta]'",
        ) from None
    key = settings.letta_api_key
    options = letta.LettaOptions(
        base_url=settings.letta_base_url,
        api_key=None if key is None else key.get_secret_value(),
        model=settings.letta_model,
        embedding=settings.letta_embedding,
        run_deadline_s=settings.letta_run_deadline_s,
        allow_python_source=settings.allow_python_source_skills,
        mcp_servers={"dcf": _own_server(settings)},
    )
    with letta.LettaPlatform(options, SharedDeliveries(connections)) as platform:
        yield platform


def _own_server(settings: Settings) -> dict[str, Json]:
    """Return the address and API key by which agents on a remote platform reach this server."""
    key = settings.api_key
    headers = {} if key is None else {"Authorization": f"Bearer {key.get_secret_value()}"}
    return {
        "name": settings.server_name,
        "transport": "streamable_http",
        "url": settings.server_url,
        "headers": headers,
    }


def open_equipment(settings: Settings, platform: AgentPlatform, documents: Documents) -> Equipment:
    """Return the object that loads skills into a platform's agents, with the rules of the settings."""
    policy = Policy(
        egress=settings.skill_egress,
        secrets=frozenset(settings.skill_secrets),
        risk=settings.skill_risk,
        mcp=settings.allow_mcp_skills,
        python_source=settings.allow_python_source_skills,
        endpoints=settings.skill_endpoints,
    )
    registry = Registry(path=find_file(settings.skill_registry) or settings.skill_registry)
    limits = Limits(max_chars=settings.skill_max_text_chars, max_pieces=settings.skill_max_pieces)
    return Equipment(platform, HoldingsDocuments(documents), policy, registry, limits, settings.skill_state_label)
