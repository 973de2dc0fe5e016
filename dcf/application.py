"""Composition root: builds the objects of one process from its settings, and closes them. Decides nothing."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial

from dcf.adapters.mailbox import Mailbox
from dcf.adapters.platforms import Platforms
from dcf.adapters.webhook.posting import Poster
from dcf.core.vitals import Expected
from dcf.files.tree import FileTree
from dcf.platform_kinds import PlatformParts, default_kind, open_platforms
from dcf.ports import Deliverer, Platform
from dcf.runs.activity import Activity
from dcf.runs.artifacts import Artifacts
from dcf.runs.breaker import Breaker, GuardedDeliverer
from dcf.runs.callbacks import Callbacks
from dcf.runs.catalog import RunList
from dcf.runs.catalogue import DefinitionCatalogue
from dcf.runs.clock import RunClock
from dcf.runs.composition import PartsOfRuns, parts_of_runs
from dcf.runs.control_plane import ControlPlane
from dcf.runs.corrections import Corrections
from dcf.runs.deliveries import DeliveryThreads
from dcf.runs.diagnosis import Diagnosis, KindsOf
from dcf.runs.editing import JsonDocuments
from dcf.runs.export import Exports
from dcf.runs.exported_records import ExportedRecords
from dcf.runs.gates import Gates
from dcf.runs.growing import Growing
from dcf.runs.health import Health
from dcf.runs.histories import Histories
from dcf.runs.journal import Journal
from dcf.runs.knowledge import Knowledge
from dcf.runs.lanes import Lanes
from dcf.runs.lifecycle import Lifecycle
from dcf.runs.notifications import Notifications
from dcf.runs.offers import Offers
from dcf.runs.outside import Outside
from dcf.runs.people import People
from dcf.runs.projects import Projects
from dcf.runs.retention import Retention
from dcf.runs.retrying import RunRetrying
from dcf.runs.schedules import Schedules
from dcf.runs.searching import Searching
from dcf.runs.shelf import artifacts_of
from dcf.runs.signals import SignalSending
from dcf.runs.starting import Starting
from dcf.runs.sweep import Sweep
from dcf.runs.talk import Talking
from dcf.runs.task_log import TaskLog
from dcf.runs.teams import parts_of_teams
from dcf.runs.upkeep import open_upkeep
from dcf.runs.usage import Usages
from dcf.runs.views import RunViews
from dcf.runs.work_finding import WorkFinding, open_work
from dcf.runs.work_limits import WorkLimiting
from dcf.settings import Settings
from dcf.skills.library import Library
from dcf.store.access_keys import AccessKeys
from dcf.store.activity import ActivityRecords
from dcf.store.agents import AgentRecords
from dcf.store.audit_trail import AuditTrail
from dcf.store.catalog import Catalog
from dcf.store.connection import Connections, open_async_client
from dcf.store.edits import Edits
from dcf.store.expiring import Expiring
from dcf.store.history import History
from dcf.store.human_tasks import HumanTasks
from dcf.store.inbox import Inbox
from dcf.store.inbox_waits import InboxReader
from dcf.store.inspection import ServerFacts, inspect_server
from dcf.store.lease_secret import LeaseSecret
from dcf.store.listings import Listings
from dcf.store.opening import opened
from dcf.store.quotas import QuotaUsage
from dcf.store.refusal_notes import RefusalNotes
from dcf.store.run_signs import RunSignsReader
from dcf.store.server_time import ServerTime
from dcf.store.vitals import VitalSigns
from dcf.store.webhooks import Webhooks
from dcf.values.records import record
from dcf.workforce.assignment import Desk
from dcf.workforce.composition import Workforce, workforce
from dcf.workforce.contexts import Contexts
from dcf.workforce.crew.closing import Closing
from dcf.workforce.crew.workers import Workers
from dcf.workforce.offered_skills import OfferedSkills
from dcf.workforce.registration import Registration
from dcf.workforce.skills.equipment import Equipment


@record(frozen=True, slots=True, kw_only=True)
class Application:
    """The objects that tools and commands use.

    `control_plane` has the operations on states, `lifecycle` those on whole runs, `outside` those on Tasks that wait
    for something outside of dcf, `callbacks` those by task token, and `task_log` keeps what functions log. `talking`
    has notes, questions, answers and corrections of results, `gates` the verdicts on outputs, `journal` what else
    agents write down. `starting`
    begins runs, `schedules` begins them by the time, and `retrying` lets ended ones go on. `runs` reads their status,
    `run_list` lists them, `projects` are what they belong to, `artifacts` the files that they keep, `knowledge` is
    what outlives them, `catalogue` has what agents work by, `exports` explains and exports them, and
    `retention` keeps and deletes those that are over. `workers` creates and deletes the agents of runs on `platforms`,
    `registration` knows those that are made elsewhere, `closing` closes a run together with them, `equipment` gives
    them skills from `library`, and `desk` tells them what to do. `documents` and `files` are what tools may change
    outside runs; the `audit` trail records such changes, and `refusals` what was refused. `sweep` repairs the indexes
    across runs. `usage` tells what API keys hold. `health` tells how all of it is, and `activity` notes who calls.
    """

    settings: Settings
    control_plane: ControlPlane
    callbacks: Callbacks
    gates: Gates
    journal: Journal
    people: People
    starting: Starting
    schedules: Schedules
    runs: RunViews
    run_list: RunList
    projects: Projects
    knowledge: Knowledge
    catalogue: DefinitionCatalogue
    artifacts: Artifacts
    retention: Retention
    platforms: Platforms
    workers: Workers
    registration: Registration
    closing: Closing
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
    exports: Exports
    keys: AccessKeys
    usage: QuotaUsage
    audit: AuditTrail
    refusals: RefusalNotes
    inbox: Inbox
    records: AgentRecords
    reader: InboxReader
    work: WorkFinding
    server: ServerFacts
    redis_url: str

    @property
    def lifecycle(self) -> Lifecycle:
        """The operations on whole runs."""
        return Lifecycle(self.control_plane)

    @property
    def talking(self) -> Talking:
        """Notes, questions, answers, and corrections of results."""
        return Talking(self.control_plane)

    @property
    def retrying(self) -> RunRetrying:
        """Lets ended runs go on."""
        return RunRetrying(self.control_plane)

    @property
    def lease_secret(self) -> LeaseSecret:
        """Derives lease tokens for clients that keep none."""
        return self.keys.lease_secret

    @property
    def outside(self) -> Outside:
        """The operations on Tasks that wait for something outside of dcf."""
        return Outside(self.control_plane)

    @property
    def limits(self) -> WorkLimiting:
        """The limits of work in progress, and the budgets of projects."""
        assert self.control_plane.limits is not None, "made with the control plane"
        return self.control_plane.limits

    @property
    def usages(self) -> Usages:
        """What work used up."""
        return self.work.usages

    @property
    def task_log(self) -> TaskLog:
        """What functions log."""
        return TaskLog(self.control_plane)

    @property
    def growing(self) -> Growing:
        """The operations on runs that grow."""
        return Growing(self.control_plane)

    @property
    def signals(self) -> SignalSending:
        """The sending of signals."""
        return SignalSending(self.control_plane)

    @property
    def searching(self) -> Searching:
        """One search over what is known, and what runs have written."""
        return Searching(self.run_list, self.journal, self.knowledge, self.catalogue)

    @property
    def contexts(self) -> Contexts:
        """Where agents are, and what they do next."""
        return Contexts(self.control_plane, self.runs, self.run_list, self.work, self.journal, self.desk)

    @property
    def diagnosis(self) -> Diagnosis:
        """Tells why a run does not move."""
        return self.exports.diagnosis

    @property
    def corrections(self) -> Corrections:
        """Replaces results that nobody has used."""
        return self.talking.corrections

    @property
    def history(self) -> History:
        """The history of each run, as it is stored."""
        return self.histories.history

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
        facts, parts, inbox = inspect_server(connections), parts_of_runs(settings, connections), Inbox(connections)
        found = _platform_parts(settings, connections, (plane := parts.plane), inbox)
        platforms, breakers = _guarded(resources.enter_context(open_platforms(found)), found)
        crew = workforce(settings, platforms, connections, parts.plane, parts.views, parts.run_store)
        work, teams = open_work(plane, connections), parts_of_teams(settings, connections, parts, crew.library)
        artifacts = artifacts_of(settings, connections, parts)
        records = ExportedRecords(usages=work.usages, journal=teams["journal"], artifacts=artifacts)
        activity = Activity(ActivityRecords(connections), breakers)
        notifications, deliveries = resources.enter_context(_open_deliveries(parts, platforms, found.mailbox))
        yield Application(
            settings=settings,
            control_plane=plane,
            callbacks=Callbacks(plane, _with_skills(found.offers, crew)),
            people=People(plane, parts.history, HumanTasks(connections)),
            starting=parts.starting,
            schedules=parts.schedules,
            runs=parts.views,
            run_list=RunList(Catalog(connections)),
            artifacts=artifacts,
            **teams,
            platforms=platforms,
            workers=crew.workers,
            registration=Registration(platforms, found.webhooks, Poster(settings.webhook_endpoints)),
            closing=Closing(plane, parts.views, crew.workers),
            equipment=crew.equipment,
            desk=crew.desk,
            library=crew.library,
            documents=_json_documents(settings, connections, plane),
            files=FileTree(settings.files_read, settings.files_write, settings.files_max_bytes),
            notifications=notifications,
            retention=parts.retention,
            clock=_clock(parts, deliveries, activity, connections),
            sweep=Sweep(Listings(connections, prefixes=settings.json_prefixes), Expiring(connections), artifacts),
            health=_health(settings, connections, remote=tuple(breakers)),
            activity=activity,
            exports=_exports(settings, parts, connections, platforms.kinds_of, records),
            keys=parts.keys,
            usage=QuotaUsage(connections),
            audit=(audit := AuditTrail(connections)),
            refusals=RefusalNotes(audit, parts.keys),
            inbox=inbox,
            work=work,
            records=found.records,
            reader=InboxReader(inbox, partial(open_async_client, url)),
            server=facts,
            redis_url=url,
        )


def _platform_parts(settings: Settings, connections: Connections, plane: ControlPlane, inbox: Inbox) -> PlatformParts:
    webhooks, records = Webhooks(connections), AgentRecords(connections)
    return PlatformParts(
        settings=settings,
        connections=connections,
        records=records,
        mailbox=Mailbox(inbox, records),
        webhooks=webhooks,
        offers=Offers(plane, webhooks.get),
    )


def _with_skills(offers: Offers, crew: Workforce) -> Offers:
    """Return the offers; from now on they tell skills with all their texts."""
    offers.skills_by(OfferedSkills(crew.desk, crew.equipment))
    return offers


def _notifications(parts: PartsOfRuns, platforms: Platforms, people: Deliverer) -> tuple[Notifications, Lanes]:
    lanes, told, together = Lanes(platforms.remote_kinds_of), parts.told, platforms.deliver_all
    to_run = parts.children.handle
    found = Notifications(parts.plane, parts.outbox, told, platforms, together, people, to_run=to_run, lanes=lanes)
    parts.retention.before_deletion(found.take_leave)
    return found, lanes


def _clock(
    parts: PartsOfRuns,
    deliveries: DeliveryThreads,
    activity: Activity,
    connections: Connections,
) -> RunClock:
    time, lists = ServerTime(connections), (parts.run_index, parts.due, parts.outbox)
    upkeep = open_upkeep(connections, parts.plane.limits)
    return RunClock(parts.plane, *lists, parts.retention, deliveries, time, activity, parts.schedules, upkeep)


def _json_documents(settings: Settings, connections: Connections, plane: ControlPlane) -> JsonDocuments:
    edits = Edits(connections, wait_replicas=settings.wait_replicas, keep_s=settings.json_life_s)
    return JsonDocuments(edits, plane, settings.json_prefixes, settings.json_max_bytes)


def _exports(
    settings: Settings, parts: PartsOfRuns, connections: Connections, kinds_of: KindsOf, records: ExportedRecords
) -> Exports:
    return Exports(
        plane=parts.plane,
        store=parts.run_store,
        views=parts.views,
        histories=Histories(parts.plane, parts.history),
        diagnosis=Diagnosis(parts.plane, RunSignsReader(connections), settings.pulse_interval_s, kinds_of),
        records=records,
    )


def _guarded(here: Sequence[Platform], parts: PlatformParts) -> tuple[Platforms, dict[str, Breaker]]:
    """Put a circuit breaker before each remote platform, so that deliveries wait for none that does not answer."""
    breakers = {one.kind: Breaker() for one in here if one.deliverer.is_remote and one.has_one_server}
    guarded = [one if (breaker := breakers.get(one.kind)) is None else _behind(breaker, one) for one in here]
    return Platforms(guarded, parts.records, default_kind(parts.settings)), breakers


def _behind(breaker: Breaker, platform: Platform) -> Platform:
    return replace(platform, deliverer=GuardedDeliverer(platform.deliverer, breaker))


def _health(settings: Settings, connections: Connections, *, remote: tuple[str, ...]) -> Health:
    expected = Expected(
        fsync=settings.appendfsync if settings.redis_url is None else None,
        wait_replicas=settings.wait_replicas,
        pulse_interval_s=settings.pulse_interval_s,
        platforms=remote,
    )
    return Health(VitalSigns(connections, wait_replicas=settings.wait_replicas), expected)


@contextmanager
def _open_deliveries(
    parts: PartsOfRuns, platforms: Platforms, mailbox: Mailbox
) -> Iterator[tuple[Notifications, DeliveryThreads]]:
    """Return threads that deliver what runs owe: at once after a commit of this process, and when the clock says so."""
    notifications, lanes = _notifications(parts, platforms, mailbox)
    deliveries = DeliveryThreads(notifications.deliver_all, further=lanes)
    parts.plane.hand_over_to(deliveries.hand_over)
    try:
        yield notifications, deliveries
    finally:
        deliveries.close()
