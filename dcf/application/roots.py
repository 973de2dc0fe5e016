"""The parts of an application from which others are made: what reads and writes runs, agents and where they live.

Each part is made, and its module imported, when it is first requested: most processes use a few of them.
"""

from contextlib import ExitStack
from threading import RLock
from typing import TYPE_CHECKING

from dcf.application.lazy_parts import part
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections
from dcf.store.connection.inspection import inspect_server
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dcf.adapters.platforms import Platforms
    from dcf.application.platforms import PlatformParts
    from dcf.application.runs import PartsOfRuns
    from dcf.core.definitions.model import Definition
    from dcf.core.documents.decision import Notice, Snapshot
    from dcf.core.listing.sweep_results import Trouble
    from dcf.features.artifacts.operations import Artifacts
    from dcf.features.catalogue.operations import DefinitionCatalogue
    from dcf.features.export.operations import Exports
    from dcf.features.findings.operations import Knowledge
    from dcf.features.gates.operations import Gates
    from dcf.features.health.write_watch import WriteWatch
    from dcf.features.journal.operations import Journal
    from dcf.features.projects.operations import Projects
    from dcf.features.retention.operations import Retention
    from dcf.features.schedules.operations import Schedules
    from dcf.features.traces.operations import RunTraces
    from dcf.features.usage.operations import Usages
    from dcf.features.work.operations import WorkFinding
    from dcf.features.work.taker_storage import Takers
    from dcf.features.work.unassigned_operations import UnassignedWork
    from dcf.runs.clock.clock import RunClock
    from dcf.runs.control_plane import ControlPlane
    from dcf.runs.notifying.activity import Activity
    from dcf.runs.notifying.breaker import Breaker
    from dcf.runs.notifying.deliveries import DeliveryThreads
    from dcf.runs.notifying.notifications import Notifications
    from dcf.runs.starting import Starting
    from dcf.runs.views.reading import RunViews
    from dcf.skills.library import Library
    from dcf.store.access.api_keys import AccessKeys
    from dcf.store.events.history import History
    from dcf.store.events.inbox import Inbox
    from dcf.store.events.outbox import OutboxEntry
    from dcf.workforce.assignment import Desk
    from dcf.workforce.composition import Workforce
    from dcf.workforce.crew.workers import Workers
    from dcf.workforce.skills.equipment import Equipment


class ApplicationRoots:
    """The parts from which other parts are made (`Application`)."""

    def __init__(self, settings: Settings, url: str, connections: Connections, resources: ExitStack) -> None:
        """Look whether dcf can run on this Redis. `resources` closes the parts that need it."""
        self.making = RLock()
        self.settings = settings
        self.server = inspect_server(connections, settings.wait_replicas)
        self._url = url
        self._connections = connections
        self._resources = resources

    @part
    def _runs(self) -> "PartsOfRuns":
        """The parts that read and write runs; the parts that they call after a commit are made at the first commit."""
        from dcf.application.runs import parts_of_runs

        parts = parts_of_runs(self.settings, self._connections)
        parts.plane.hand_over_to(self._hand_over, self._tell_at_once)
        parts.definitions.after_keeping(self._list_kept)
        return parts

    def _hand_over(self, workflow_id: str) -> object:
        return self._deliveries[1].hand_over(workflow_id)

    def _tell_at_once(self, workflow_id: str, notices: "Sequence[Notice]", snapshot: "Snapshot", writer: str) -> None:
        self.notifications.tell_at_once(workflow_id, notices, snapshot, writer)

    def _to_anybody(self, workflow_id: str, entries: "Sequence[OutboxEntry]", snapshot: "Snapshot") -> int:
        return self._unassigned.offer(workflow_id, entries, snapshot)

    def _list_kept(self, definition: "Definition", project: str | None) -> None:
        self.catalogue.list_kept(definition, project)

    def _skills_of(self, definition: "Definition", path: str) -> list[Json]:
        from dcf.workforce.offered_skills import OfferedSkills

        return OfferedSkills(self.desk, self.equipment)(definition, path)

    def _kinds_of(self, agents: "Sequence[str]") -> "Mapping[str, str]":
        return self.platforms.kinds_of(agents)

    @property
    def control_plane(self) -> "ControlPlane":
        """The operations on states."""
        return self._runs.plane

    @property
    def runs(self) -> "RunViews":
        """The status of runs."""
        return self._runs.views

    @property
    def starting(self) -> "Starting":
        """Begins runs."""
        return self._runs.starting

    @property
    def schedules(self) -> "Schedules":
        """Begins runs by the time."""
        return self._runs.schedules

    @property
    def keys(self) -> "AccessKeys":
        """The API keys."""
        return self._runs.keys

    @property
    def history(self) -> "History":
        """The history of each run, as it is stored."""
        return self._runs.history

    @part
    def retention(self) -> "Retention":
        """Keeps and deletes runs that have ended."""
        _ = self.notifications, self.artifacts  # both are called when a run is deleted
        return self._runs.retention

    @part
    def _platform_parts(self) -> "PlatformParts":
        """The parts from which platforms are made."""
        from dcf.application.parts import platform_parts

        parts = platform_parts(self.settings, self._connections, self.control_plane, self.inbox)
        parts.offers.skills_by(self._skills_of)
        return parts

    @part
    def _guarded(self) -> "tuple[Platforms, dict[str, Breaker]]":
        """The platforms, and the circuit breakers of the remote ones."""
        from dcf.application.parts import guarded
        from dcf.application.platforms import open_platforms

        opened = self._resources.enter_context(open_platforms(self._platform_parts))
        return guarded(opened, self._platform_parts)

    @property
    def platforms(self) -> "Platforms":
        """Where agents live."""
        return self._guarded[0]

    @part
    def _crew(self) -> "Workforce":
        """What makes agents and tells them what to do."""
        from dcf.workforce.composition import workforce

        parts = self._runs
        return workforce(self.settings, self.platforms, self._connections, parts.plane, parts.views, parts.run_store)

    @property
    def workers(self) -> "Workers":
        """Creates and deletes the agents of runs."""
        return self._crew.workers

    @property
    def equipment(self) -> "Equipment":
        """Gives agents skills."""
        return self._crew.equipment

    @property
    def desk(self) -> "Desk":
        """Tells agents what to do."""
        return self._crew.desk

    @property
    def library(self) -> "Library":
        """The skills."""
        return self._crew.library

    @part
    def gates(self) -> "Gates":
        """The verdicts on outputs."""
        from dcf.features.gates.operations import Gates
        from dcf.features.gates.storage import GateLists

        return Gates(self.control_plane, GateLists(self._connections))

    @part
    def journal(self) -> "Journal":
        """The notes, decisions and issues of agents and people about runs."""
        from dcf.features.journal.operations import Journal
        from dcf.features.journal.storage import JournalReader

        return Journal(self.control_plane, JournalReader(self._connections))

    @part
    def projects(self) -> "Projects":
        """The projects of runs."""
        from dcf.features.projects.operations import Projects
        from dcf.features.projects.storage import ProjectStore

        return Projects(ProjectStore(self._connections))

    @part
    def knowledge(self) -> "Knowledge":
        """The findings, which outlive runs."""
        from dcf.features.findings.operations import Knowledge

        return Knowledge(self._connections, wait_replicas=self.settings.wait_replicas)

    @part
    def catalogue(self) -> "DefinitionCatalogue":
        """The definitions by which agents work."""
        from dcf.features.catalogue.operations import DefinitionCatalogue

        replicas = self.settings.wait_replicas
        return DefinitionCatalogue(self._connections, self._runs.definitions, self.library, wait_replicas=replicas)

    @part
    def artifacts(self) -> "Artifacts":
        """The files of runs."""
        from dcf.application.artifacts import artifacts_of

        return artifacts_of(self.settings, self._connections, self._runs)

    @part
    def writes(self) -> "WriteWatch":
        """Whether Redis takes writes just now."""
        from dcf.features.health.storage import rejected_write
        from dcf.features.health.write_watch import WriteWatch

        return WriteWatch(lambda: rejected_write(self._connections))

    @part
    def _exports(self) -> "tuple[Exports, RunTraces | None]":
        """The part that explains and exports runs, and the part that sends their traces."""
        from dcf.application.parts import open_exports
        from dcf.features.accounts.overview_storage import Overviews
        from dcf.features.diagnosis.operations import Diagnosis
        from dcf.features.diagnosis.storage import RunSignsReader

        runs, connections = self._runs, self._connections
        signs = RunSignsReader(connections, self._note_writes)
        signs_of = Overviews(connections).signs
        diagnosis = Diagnosis(runs.plane, signs, self.settings.pulse_interval_s, self._kinds_of, signs_of)
        records = (self.usages, self.journal, self.artifacts)
        return self._resources.enter_context(open_exports(runs, connections, diagnosis, records))

    def _note_writes(self, trouble: "Trouble | None") -> None:
        self.writes.note(trouble)  # the watch is made at the first diagnosis

    @property
    def exports(self) -> "Exports":
        """Explains and exports runs."""
        return self._exports[0]

    @property
    def traces(self) -> "RunTraces | None":
        """Sends the traces of ended runs; None if that is not configured."""
        return self._exports[1]

    @part
    def _deliveries(self) -> "tuple[Notifications, DeliveryThreads]":
        """The notifications of runs, and the threads that deliver them."""
        from dcf.application.parts import open_deliveries

        mailbox = self._platform_parts.mailbox
        return self._resources.enter_context(open_deliveries(self._runs, self.platforms, mailbox, self._to_anybody))

    @property
    def notifications(self) -> "Notifications":
        """The notifications of runs."""
        return self._deliveries[0]

    @part
    def clock(self) -> "RunClock":
        """The timer loop."""
        from dcf.application.parts import clock_of

        _ = self.retention  # with the functions that it calls when a run is deleted
        return clock_of(self._runs, self._deliveries[1], self.activity, self._connections, self.traces)

    @part
    def inbox(self) -> "Inbox":
        """The inboxes of agents."""
        from dcf.store.events.inbox import Inbox

        return Inbox(self._connections, wait_replicas=self.settings.wait_replicas)

    @part
    def takers(self) -> "Takers":
        """The agents that wait for work that no agent is assigned to."""
        from dcf.features.work.taker_storage import Takers

        return Takers(self._connections)

    @part
    def _unassigned(self) -> "UnassignedWork":
        """Notifies agents that wait for such work."""
        from dcf.features.work.unassigned_operations import UnassignedWork

        return UnassignedWork(self.control_plane, self.takers, self._platform_parts.mailbox.deliver_all)

    @part
    def work(self) -> "WorkFinding":
        """Finds work across runs."""
        from dcf.features.work.operations import open_work

        _ = self.usages  # so that usage that agents report is settled at once
        return open_work(self.control_plane, self._connections)

    @part
    def usages(self) -> "Usages":
        """The usage of runs and projects."""
        from dcf.features.usage.operations import Usages
        from dcf.features.usage.storage import UsageBooks
        from dcf.runs.views.lists import RunList
        from dcf.store.lists.pages import Catalog

        connections = self._connections
        return Usages(self.control_plane, UsageBooks(connections), RunList(Catalog(connections)))

    @part
    def activity(self) -> "Activity":
        """Notes who calls."""
        from dcf.runs.notifying.activity import Activity
        from dcf.store.events.activity import ActivityRecords

        return Activity(ActivityRecords(self._connections), self._guarded[1])
