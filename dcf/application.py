"""Composition root: builds the objects of one process from its settings, and closes them. Decides nothing."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from dcf.adapters.platforms import Platforms
from dcf.adapters.webhook.posting import Poster
from dcf.application_parts import (
    clock_of,
    guarded,
    health_of,
    json_documents,
    open_deliveries,
    open_exports,
    platform_parts,
    web_sessions_of,
    with_skills,
)
from dcf.files.tree import FileTree
from dcf.platform_kinds import open_platforms
from dcf.runs.activity import Activity
from dcf.runs.artifacts import Artifacts
from dcf.runs.callbacks import Callbacks
from dcf.runs.catalog import RunList
from dcf.runs.catalogue import DefinitionCatalogue
from dcf.runs.clock import RunClock
from dcf.runs.composition import parts_of_runs
from dcf.runs.control_plane import ControlPlane
from dcf.runs.corrections import Corrections
from dcf.runs.diagnosis import Diagnosis
from dcf.runs.editing import JsonDocuments
from dcf.runs.export import Exports
from dcf.runs.gates import Gates
from dcf.runs.growing import Growing
from dcf.runs.health import Health
from dcf.runs.histories import Histories
from dcf.runs.journal import Journal
from dcf.runs.knowledge import Knowledge
from dcf.runs.lifecycle import Lifecycle
from dcf.runs.notifications import Notifications
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
from dcf.runs.traces import RunTraces
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
from dcf.store.connection import Connections
from dcf.store.expiring import Expiring
from dcf.store.gauges import GaugeReader
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
from dcf.store.tails import AnyTails, Heard, Lost
from dcf.store.waiting_clients import WaitingClients
from dcf.store.web_sessions import WebSessions
from dcf.values.records import record
from dcf.workforce.assignment import Desk
from dcf.workforce.composition import workforce
from dcf.workforce.contexts import Contexts
from dcf.workforce.crew.closing import Closing
from dcf.workforce.crew.workers import Workers
from dcf.workforce.registration import Registration
from dcf.workforce.skills.equipment import Equipment


@record(frozen=True, slots=True, kw_only=True)
class Application:
    """The objects that tools and commands use.

    `control_plane` has the operations on states, `lifecycle` those on whole runs, `outside` those on Tasks that wait
    for something outside of dcf, `callbacks` those by task token, and `task_log` keeps what functions log. `talking`
    has notes, questions, answers and corrections of results, `gates` the verdicts on outputs, `journal` what else
    agents write down. `starting` begins runs, `schedules` begins them by the time, and
    `retrying` lets ended ones go on. `runs` reads their status,
    `run_list` lists them, `projects` are what they belong to, `artifacts` the files that they keep, `knowledge` is
    what outlives them, `catalogue` has what agents work by, `exports` explains and exports them, and
    `retention` keeps and deletes those that are over. `workers` creates and deletes the agents of runs on `platforms`,
    `registration` knows those that are made elsewhere, `closing` closes a run together with them, `equipment` gives
    them skills from `library`, and `desk` tells them what to do. `documents` and `files` are what tools may change
    outside runs; the `audit` trail records such changes, and `refusals` what was refused. `sweep` repairs the indexes
    across runs. `usage` tells what API keys hold, `gauges` what Prometheus asks of Redis, `web_sessions` who is logged
    in at the page. `health` tells how all of it is, and `activity` notes who calls.
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
    web_sessions: WebSessions
    usage: QuotaUsage
    gauges: GaugeReader
    audit: AuditTrail
    refusals: RefusalNotes
    inbox: Inbox
    records: AgentRecords
    reader: InboxReader
    work: WorkFinding
    server: ServerFacts
    waiting: WaitingClients

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
    def traces(self) -> RunTraces | None:
        """Sends the traces of ended runs; None if nobody wants them."""
        return self.clock.traces

    @property
    def diagnosis(self) -> Diagnosis:
        """Tells why a run does not move."""
        return self.exports.diagnosis

    @property
    def corrections(self) -> Corrections:
        """Replaces results that nobody has used."""
        return self.talking.corrections

    @property
    def redis_url(self) -> str:
        """The URL of Redis. It is a secret."""
        return self.waiting.url

    @property
    def history(self) -> History:
        """The history of each run, as it is stored."""
        return self.histories.history

    def tails(self, heard: Heard, lost: Lost) -> AnyTails:
        """Return what follows the histories of runs in the event loop that it is used in."""
        return self.waiting.tails(heard, lost)

    @property
    def histories(self) -> Histories:
        """The histories of runs, in pages."""
        return self.exports.histories


@contextmanager
def open_application(settings: Settings) -> Iterator[Application]:
    """Connect to the configured Redis, or start or join the embedded one, for the duration of the `with` block."""
    fsync, most = settings.appendfsync, settings.maxmemory
    with opened(
        settings.redis_address,
        settings.data_dir,
        appendfsync=fsync,
        maxmemory=most,
        wait_replicas=settings.wait_replicas,
    ) as (found, connections):
        yield from _connected(settings, found, connections)


def _connected(settings: Settings, url: str, connections: Connections) -> Iterator[Application]:
    with ExitStack() as resources:
        enter = resources.enter_context
        facts, parts = inspect_server(connections, settings.wait_replicas), parts_of_runs(settings, connections)
        found = platform_parts(settings, connections, (plane := parts.plane), (inbox := Inbox(connections)))
        platforms, breakers = guarded(enter(open_platforms(found)), found)
        crew = workforce(settings, platforms, connections, parts.plane, parts.views, parts.run_store)
        work, teams = open_work(plane, connections), parts_of_teams(settings, connections, parts, crew.library)
        records = (work.usages, teams["journal"], (artifacts := artifacts_of(settings, connections, parts)))
        exports, traces = enter(open_exports(settings, parts, connections, platforms.kinds_of, records))
        notifications, deliveries = enter(open_deliveries(parts, platforms, found.mailbox))
        yield Application(
            settings=settings,
            control_plane=plane,
            callbacks=Callbacks(plane, with_skills(found.offers, crew)),
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
            documents=json_documents(settings, connections, plane),
            files=FileTree(settings.files_read, settings.files_write, settings.files_max_bytes),
            notifications=notifications,
            retention=parts.retention,
            activity=(activity := Activity(ActivityRecords(connections), breakers)),
            clock=clock_of(parts, deliveries, activity, connections, traces),
            sweep=Sweep(Listings(connections, prefixes=settings.json_prefixes), Expiring(connections), artifacts),
            health=health_of(settings, connections, remote=tuple(breakers)),
            exports=exports,
            keys=parts.keys,
            web_sessions=web_sessions_of(settings, connections, parts.keys),
            usage=QuotaUsage(connections),
            gauges=GaugeReader(connections),
            audit=(audit := AuditTrail(connections)),
            refusals=RefusalNotes(audit, parts.keys),
            inbox=inbox,
            work=work,
            records=found.records,
            reader=InboxReader(inbox, (waiting := WaitingClients(connections, url)).news),
            server=facts,
            waiting=waiting,
        )
