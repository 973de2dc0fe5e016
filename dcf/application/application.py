"""Composition root: makes the objects of one process from its settings, and closes them. It must not decide.

Each part is made, and its module imported, when it is first requested: most processes use a few of them.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from dcf.application.lazy_parts import part
from dcf.application.roots import ApplicationRoots
from dcf.features import installed_language  # noqa: F401 - before the first workflow is read
from dcf.settings.process import Settings
from dcf.store.connection.opening import opened

if TYPE_CHECKING:
    from dcf.features.accounts.operations import Accounts
    from dcf.features.agent_context.operations import Contexts
    from dcf.features.diagnosis.operations import Diagnosis
    from dcf.features.diagnosis.stuck_causes import StuckCauses
    from dcf.features.documents.operations import JsonDocuments
    from dcf.features.external.callback_operations import Callbacks
    from dcf.features.external.operations import SignalSending
    from dcf.features.growing.operations import Growing
    from dcf.features.health.gauges import GaugeReader
    from dcf.features.health.operations import Health
    from dcf.features.people.inbox_operations import WaitingForPeople
    from dcf.features.people.operations import People
    from dcf.features.project_files.operations import ProjectFiles
    from dcf.features.questions.correcting import Corrections
    from dcf.features.questions.operations import Talking
    from dcf.features.search.operations import Searching
    from dcf.features.task_log.operations import TaskLog
    from dcf.features.webhooks.registration import Registration
    from dcf.features.work.limit_operations import WorkLimiting
    from dcf.files.tree import FileTree
    from dcf.runs.clock.sweep import Sweep
    from dcf.runs.concluding import Outside
    from dcf.runs.lifecycle import Lifecycle
    from dcf.runs.retrying import RunRetrying
    from dcf.runs.views.histories import Histories
    from dcf.runs.views.lists import RunList
    from dcf.store.access.audit_trail import AuditTrail
    from dcf.store.access.lease_secret import LeaseSecret
    from dcf.store.access.quotas import QuotaUsage
    from dcf.store.access.refusal_notes import RefusalNotes
    from dcf.store.access.sessions import WebSessions
    from dcf.store.connection.waiting_clients import WaitingClients
    from dcf.store.events.inbox_waits import InboxReader
    from dcf.store.events.tails import AnyTails, Heard, Lost
    from dcf.store.lists.agents import AgentRecords
    from dcf.workforce.crew.closing import Closing


class Application(ApplicationRoots):
    """The objects that tools and commands use.

    States: `control_plane` has the operations on states, `outside` those on Tasks that wait for something outside of
    dcf, and `callbacks` those by task token. `task_log` stores the log lines of functions.

    Runs: `starting` and `schedules` start runs, `lifecycle` operates them, `retrying` lets ended runs continue.
    `runs` reads the status of runs, `run_list` lists them, `exports` explains and exports them. `retention` keeps and
    deletes ended runs, and `sweep` repairs the indexes across runs.

    Teams: `talking` has notes, questions, answers and corrections of results, `gates` the verdicts on outputs,
    `journal` the other entries of agents. `projects` groups runs, `artifacts` has their files, `knowledge` the findings
    that outlive runs, `catalogue` the definitions by which agents work.

    Agents: `workers` creates and deletes the agents of runs on `platforms`, `registration` has the agents that other
    programs made. `closing` closes a run together with its agents, `equipment` gives them skills from `library`, and
    `desk` tells them what to do.

    Operation: `documents` and `files` can be changed by tools outside runs. The `audit` trail records such changes, and
    `refusals` records refusals. `usage` has the use of Redis by API keys, `gauges` the values for Prometheus,
    `web_sessions` the sessions of the page. `health` reports the state of the system, and `activity` notes callers.
    """

    @part
    def callbacks(self) -> "Callbacks":
        """The operations on states by task token."""
        from dcf.features.external.callback_operations import Callbacks

        return Callbacks(self.control_plane, self._platform_parts.offers)

    @part
    def accounts(self) -> "Accounts":
        """The limits of providers that agents share."""
        from dcf.features.accounts.operations import Accounts
        from dcf.features.accounts.overview_storage import Overviews
        from dcf.features.accounts.storage import AccountStore

        store = AccountStore(self._connections, wait_replicas=self.settings.wait_replicas)
        return Accounts(self.control_plane, store, Overviews(self._connections))

    @part
    def people(self) -> "People":
        """The tasks of people."""
        from dcf.features.people.operations import People
        from dcf.features.people.storage import HumanTasks

        return People(self.control_plane, self.history, HumanTasks(self._connections))

    @part
    def run_list(self) -> "RunList":
        """Lists runs."""
        from dcf.runs.views.lists import RunList
        from dcf.store.lists.pages import Catalog

        return RunList(Catalog(self._connections))

    @part
    def registration(self) -> "Registration":
        """Knows agents that are made elsewhere."""
        from dcf.features.webhooks.posting import Poster
        from dcf.features.webhooks.registration import Registration

        poster = Poster(self.settings.webhook_endpoints)
        return Registration(self.platforms, self._platform_parts.webhooks, poster)

    @part
    def closing(self) -> "Closing":
        """Closes runs together with their agents."""
        from dcf.workforce.crew.closing import Closing

        return Closing(self.control_plane, self.runs, self.workers)

    @part
    def documents(self) -> "JsonDocuments":
        """The documents that tools may change."""
        from dcf.features.documents.operations import JsonDocuments
        from dcf.features.documents.storage import Edits

        settings = self.settings
        edits = Edits(self._connections, wait_replicas=settings.wait_replicas, keep_s=settings.json_life_s)
        return JsonDocuments(edits, self.control_plane, settings.json_prefixes, settings.json_max_bytes)

    @part
    def files(self) -> "FileTree":
        """The files that tools may read or change."""
        from dcf.files.tree import FileTree

        settings = self.settings
        return FileTree(settings.files_read, settings.files_write, settings.files_max_bytes)

    @part
    def local_files(self) -> "FileTree":
        """The same for the local user, who has a directory where none is configured; a key has not."""
        from dcf.application.files import local_tree

        return local_tree(self.settings, self.files)

    @part
    def sweep(self) -> "Sweep":
        """Repairs the indexes across runs."""
        from dcf.features.artifacts import quota_storage as artifact_quotas
        from dcf.features.retention.expiring import Expiring
        from dcf.runs.clock.lost_timers import set_timer
        from dcf.runs.clock.sweep import Sweep
        from dcf.store.lists.checks import Listings

        settling = (artifact_quotas.settle,)
        listings = Listings(self._connections, prefixes=self.settings.json_prefixes, settling=settling)
        cleaning = (Expiring(self._connections).take_off, self.artifacts.step)
        return Sweep(listings, cleaning, partial(set_timer, self.control_plane))

    @part
    def health(self) -> "Health":
        """Tells how all of it is."""
        from dcf.application.parts import health_of

        return health_of(self.settings, self._connections, remote=tuple(self._guarded[1]))

    @part
    def web_sessions(self) -> "WebSessions":
        """Who is logged in at the web page."""
        from dcf.store.access.sessions import WebSessions

        settings = self.settings
        return WebSessions(self._connections, self.keys, life_s=settings.web_session_s, idle_s=settings.web_idle_s)

    @part
    def usage(self) -> "QuotaUsage":
        """The use of Redis by API keys."""
        from dcf.store.access.quotas import QuotaUsage

        return QuotaUsage(self._connections)

    @part
    def gauges(self) -> "GaugeReader":
        """The values in Redis for Prometheus."""
        from dcf.features.health.gauges import GaugeReader

        return GaugeReader(self._connections)

    @part
    def audit(self) -> "AuditTrail":
        """The record of changes outside runs."""
        from dcf.store.access.audit_trail import AuditTrail

        return AuditTrail(self._connections)

    @part
    def refusals(self) -> "RefusalNotes":
        """The record of refused calls."""
        from dcf.store.access.refusal_notes import RefusalNotes

        return RefusalNotes(self.audit, self.keys)

    @property
    def records(self) -> "AgentRecords":
        """The records of agents."""
        return self._platform_parts.records

    @part
    def waiting(self) -> "WaitingClients":
        """The connections that wait for news."""
        from dcf.store.connection.waiting_clients import WaitingClients

        return WaitingClients(self._connections, self._url)

    @part
    def reader(self) -> "InboxReader":
        """Reads and awaits the events of an inbox."""
        from dcf.store.events.inbox_waits import InboxReader

        return InboxReader(self.inbox, self.waiting.news)

    @part
    def lifecycle(self) -> "Lifecycle":
        """The operations on whole runs."""
        from dcf.runs.lifecycle import Lifecycle

        return Lifecycle(self.control_plane)

    @part
    def talking(self) -> "Talking":
        """Notes, questions, answers, and corrections of results."""
        from dcf.features.questions.operations import Talking

        return Talking(self.control_plane)

    @part
    def retrying(self) -> "RunRetrying":
        """Lets ended runs continue."""
        from dcf.runs.retrying import RunRetrying

        return RunRetrying(self.control_plane)

    @part
    def outside(self) -> "Outside":
        """The operations on Tasks that wait for something outside of dcf."""
        from dcf.runs.concluding import Outside

        return Outside(self.control_plane)

    @part
    def task_log(self) -> "TaskLog":
        """The log lines of functions."""
        from dcf.features.task_log.operations import TaskLog

        return TaskLog(self.control_plane)

    @part
    def growing(self) -> "Growing":
        """The operations on open runs."""
        from dcf.features.growing.operations import Growing

        return Growing(self.control_plane)

    @part
    def signals(self) -> "SignalSending":
        """The sending of signals."""
        from dcf.features.external.operations import SignalSending

        return SignalSending(self.control_plane)

    @part
    def searching(self) -> "Searching":
        """One search over findings and over texts that runs have written."""
        from dcf.features.search.operations import Searching
        from dcf.features.search.storage import RunTexts

        parts = (self.journal, self.knowledge, self.catalogue, self.project_files)
        return Searching(self.run_list, *parts, RunTexts(self._connections))

    @part
    def project_files(self) -> "ProjectFiles":
        """The indexed files of projects."""
        from dcf.features.project_files.operations import ProjectFiles

        return ProjectFiles(self._connections, wait_replicas=self.settings.wait_replicas)

    @part
    def people_inbox(self) -> "WaitingForPeople":
        """Everything that waits for people."""
        from dcf.features.people.inbox_operations import WaitingForPeople

        return WaitingForPeople(self.people, self.gates, self.runs, self.run_list)

    @part
    def contexts(self) -> "Contexts":
        """Where agents are, and what they do next."""
        from dcf.features.agent_context.operations import Contexts

        return Contexts(self.control_plane, self.runs, self.run_list, self.work, self.journal, self.desk)

    @property
    def lease_secret(self) -> "LeaseSecret":
        """Derives lease tokens for clients that keep none."""
        return self.keys.lease_secret

    @property
    def limits(self) -> "WorkLimiting":
        """The limits of work in progress, and the budgets of projects."""
        from dcf.features.work.limit_operations import limits_of

        limits = limits_of(self.control_plane)
        assert limits is not None, "made with the control plane"
        return limits

    @property
    def diagnosis(self) -> "Diagnosis":
        """Tells why a run does not move."""
        return self.exports.diagnosis

    @part
    def stuck_causes(self) -> "StuckCauses":
        """The causes for which runs are stuck."""
        from dcf.features.diagnosis.stuck_causes import StuckCauses

        return StuckCauses(self.run_list, self.diagnosis)

    @property
    def corrections(self) -> "Corrections":
        """Replaces results that are not used yet."""
        return self.talking.corrections

    @property
    def histories(self) -> "Histories":
        """The histories of runs, in pages."""
        return self.exports.histories

    @property
    def redis_url(self) -> str:
        """The URL of Redis. It is a secret."""
        return self._url

    def tails(self, heard: "Heard", lost: "Lost") -> "AnyTails":
        """Return what follows the histories of runs in the event loop that it is used in."""
        return self.waiting.tails(heard, lost)


@contextmanager
def open_application(settings: Settings) -> Iterator[Application]:
    """Connect to the configured Redis, or start or join the embedded one, for the duration of the `with` block."""
    fsync, most = settings.appendfsync, settings.maxmemory
    with (
        opened(
            settings.redis_address,
            settings.data_dir,
            appendfsync=fsync,
            maxmemory=most,
            wait_replicas=settings.wait_replicas,
            documents=settings.documents,
        ) as (url, connections),
        ExitStack() as resources,
    ):
        yield Application(settings, url, connections, resources)
