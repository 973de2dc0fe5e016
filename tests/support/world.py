"""Everything a test needs of dcf on one Redis, with short words for what agents do."""

import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dcf.adapters.mailbox import Mailbox
from dcf.adapters.platforms import Platforms
from dcf.core.access.model import LOCAL
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Created, Finalized, Leased, NothingReady, Released, Updated
from dcf.core.documents.codec import read_state
from dcf.core.documents.model import RunStatus, StateDoc, Status
from dcf.core.leasing.lease import Acquire, Release, Renew
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.finalization import Finalize
from dcf.core.lifecycle.retention import KEEP_ALL, RetentionPolicy
from dcf.core.listing.runs import Facet
from dcf.errors import DcfError
from dcf.features import (  # noqa: F401 - before the first decision and diagnosis
    installed_decisions,
    installed_explanations,
    installed_runs,
)
from dcf.features.accounts.overview_storage import Overviews
from dcf.features.children.operations import Children
from dcf.features.diagnosis.operations import Diagnosis
from dcf.features.diagnosis.storage import RunSignsReader
from dcf.features.external.callback_operations import Callbacks
from dcf.features.external.operations import SignalSending
from dcf.features.gates.operations import Gates
from dcf.features.gates.storage import GateLists
from dcf.features.journal.operations import Journal
from dcf.features.journal.storage import JournalReader
from dcf.features.people.operations import People
from dcf.features.people.storage import HumanTasks
from dcf.features.questions.operations import Talking
from dcf.features.retention.operations import Retention
from dcf.features.retention.storage import Deletion
from dcf.features.schedules.model import Schedule, ScheduleWish, tag_of
from dcf.features.schedules.operations import ScheduleMade, Schedules
from dcf.features.schedules.storage import ScheduleStore
from dcf.features.usage.operations import Usages
from dcf.features.usage.storage import UsageBooks
from dcf.features.work.area_storage import AreaBook
from dcf.features.work.grant_storage import HandedOut
from dcf.features.work.limit_operations import WorkLimiting
from dcf.features.work.limit_storage import WorkLimits
from dcf.features.work.operations import WorkFinding
from dcf.features.work.storage import WorkList
from dcf.features.work.taker_storage import Takers
from dcf.features.work.unassigned_operations import UnassignedWork
from dcf.ports import Deliverer
from dcf.runs.clock.clock import RunClock
from dcf.runs.concluding import Outside
from dcf.runs.control_plane import ControlPlane
from dcf.runs.lifecycle import Lifecycle
from dcf.runs.notifying.deliveries import DeliveryThreads
from dcf.runs.notifying.notifications import Notifications
from dcf.runs.notifying.queues import Lanes
from dcf.runs.retrying import RunRetrying
from dcf.runs.starting import Starting
from dcf.runs.views.histories import Histories
from dcf.runs.views.lists import RunList
from dcf.runs.views.reading import RunViews
from dcf.store.access.api_keys import AccessKeys
from dcf.store.connection.commands import Reply
from dcf.store.connection.connections import Connections
from dcf.store.connection.documents import Documents
from dcf.store.connection.server_time import ServerTime
from dcf.store.events.history import Happening, History
from dcf.store.events.inbox import Inbox
from dcf.store.events.notified import ToldRecords
from dcf.store.events.outbox import Outbox
from dcf.store.keys import parts as key_parts
from dcf.store.keys import table as keys
from dcf.store.lists.agents import AgentRecords
from dcf.store.lists.definitions import KeptDefinitions
from dcf.store.lists.due import DueRuns
from dcf.store.lists.index import RunIndex
from dcf.store.lists.pages import Catalog
from dcf.store.lists.shards import in_every_shard, newest, newest_commands, place_of
from dcf.store.transaction.runs import RunStore
from dcf.values.refusal import Refusal
from tests.support.agents.mocks import Files
from tests.support.ahead import Ahead
from tests.support.redis.documents import read_texts, set_member
from tests.support.workflows.machines import Document

LONG = 3600


class Relay(Notifications):
    """The parts of a process that notify agents: a deliverer, and a timer loop."""

    def __init__(self, world: "World", platform: Deliverer, threads: int) -> None:
        together = platform.deliver_all if isinstance(platform, Mailbox | Platforms) else None
        lanes = Lanes(platform.remote_kinds_of, threads) if isinstance(platform, Platforms) else None
        super().__init__(
            world.plane,
            world.outbox,
            world.told,
            platform,
            together,
            to_run=world.children.handle,
            to_anybody=UnassignedWork(world.plane, world.takers, world.mailbox.deliver_all).offer,
            lanes=lanes,
        )
        self.deliveries = DeliveryThreads(self.deliver_all, threads, lanes)
        time = ServerTime(world.connections)
        lists = (world.index, world.due, world.outbox)
        self.clock = RunClock(world.plane, *lists, world.retention, self.deliveries, time, schedules=world.schedules)

    def pulse(self) -> int:
        return self.clock.pulse()


@dataclass(kw_only=True)
class World:
    """`connections` are those of dcf, `onlooker` those of the test, where dcf itself may not do everything.

    Round trips from `one_packet_from_s` on are saved, here all: so tests see both ways, since a first step takes two.
    """

    connections: Connections
    onlooker: Connections | None = None
    deadline_s: float = 10.0
    wait_replicas: int = 0
    clock: Ahead | None = None
    before_commit: Callable[[], None] | None = None
    one_packet_from_s: float = 0.0
    items: Files | None = None
    policy: RetentionPolicy = KEEP_ALL
    runs: list[str] = field(default_factory=list)
    plans: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        more: dict[str, Any] = {} if self.clock is None else {"clock": self.clock}
        self.store = RunStore(
            self.connections,
            deadline_s=self.deadline_s,
            wait_replicas=self.wait_replicas,
            before_commit=self.before_commit,
            one_packet_from_s=self.one_packet_from_s,
            **more,
        )
        self.index = RunIndex(self.connections)
        self.due = DueRuns(self.connections, self.policy)
        reader: dict[str, Any] = {} if self.items is None else {"items": self.items}
        self.plane = ControlPlane(self.store, self.index, **reader)
        self.lifecycle = Lifecycle(self.plane)
        self.outside = Outside(self.plane)
        self.callbacks = Callbacks(self.plane)
        self.talking = Talking(self.plane)
        self.corrections = self.talking.corrections
        self.gates = Gates(self.plane, GateLists(self.connections))
        self.journal = Journal(self.plane, JournalReader(self.connections))
        self.retrying = RunRetrying(self.plane)
        self.starting = Starting(self.plane.transactions, self.plane.follow_ups, KeptDefinitions(self.connections))
        self.access = AccessKeys(self.connections)
        self.schedules = Schedules(
            ScheduleStore(self.connections, before_commit=self.before_commit, clock=self.clock),
            self.starting,
            self.access,
        )
        self.signals = SignalSending(self.plane)
        self.outbox = Outbox(self.connections)
        self.children = Children(self.plane, self.starting, self.outbox)
        self.retention = Retention(self.plane, self.store, self.outbox, Deletion(self.connections), self.policy)
        self.told = ToldRecords(self.connections)
        self.history = History(self.connections)
        self.people = People(self.plane, self.history, HumanTasks(self.connections))
        self.views = RunViews(self.plane, self.store, self.told)
        self.histories = Histories(self.plane, self.history)
        self.diagnosis = Diagnosis(
            self.plane, RunSignsReader(self.connections), 1.0, signs_of=Overviews(self.connections).signs
        )
        self.limits = WorkLimiting(WorkLimits(self.connections))
        self.books = UsageBooks(self.connections)
        self.inbox = Inbox(self.connections, wait_replicas=self.wait_replicas)
        handed, areas = HandedOut(self.connections), AreaBook(self.connections)
        runs = RunList(Catalog(self.connections))
        self.work = WorkFinding(self.plane, WorkList(self.connections), handed, areas)
        self.usages = Usages(self.plane, self.books, runs)
        self.records = AgentRecords(self.connections)
        self.documents = Documents(self.connections)
        self.mailbox = Mailbox(self.inbox, self.records)
        self.takers = Takers(self.connections)
        self.notifications = self.relay()
        self.retention.before_deletion(self.notifications.take_leave)

    def relay(self, platform: Deliverer | None = None, *, threads: int = 0) -> Relay:
        """One more deliverer, with a clock that delivers at once or on threads."""
        return Relay(self, platform or self.mailbox, threads)

    def close(self) -> None:
        """Take this test's runs off the list that the clock goes through."""
        for name in self.plans:
            self.schedules.delete(name)
        if self.runs:
            for run in self.runs:
                self.ask("ZREM", self.list_of(keys.LIVE, run), run)
                self.ask("ZREM", keys.due(run), run)

    def forget_others(self) -> None:
        """Leave nothing due that other tests left, such as a damaged run or a reminder."""
        for live in in_every_shard(keys.LIVE, self.connections.shards):
            others = [run for run in self.ask("ZRANGE", live, 0, -1) if run.decode() not in self.runs]
            if others:
                self.ask("ZREM", live, *others)
        for index in keys.every_due():
            mine = {run.encode() for run in self.runs}
            left = [run for run in self.ask("ZRANGE", index, 0, -1) if run not in mine]
            if left:
                self.ask("ZREM", index, *left)

    def ask(self, *command: str | bytes | float) -> Reply:
        (reply,) = (self.onlooker or self.connections).send(command)
        return reply

    # A run

    def name(self) -> str:
        run = f"t-{uuid.uuid4().hex[:12]}"
        self.runs.append(run)
        return run

    def plan(self, document: Document, **options: Any) -> Schedule:
        """A new schedule, every minute unless `cron` or another `every_s` is given."""
        name = options.pop("name", None) or f"s-{uuid.uuid4().hex[:12]}"
        self.plans.append(name)
        agents = options.pop("agents", {})
        by = options.pop("by", LOCAL)
        timing = {} if "cron" in options else {"every_s": 60}
        definition = read_definition(document)
        wish = ScheduleWish(name=name, workflow=definition.sha256, created_by=by, **timing | options)
        made = self.schedules.create(wish, agents, definition)
        assert isinstance(made, ScheduleMade), made
        return made.schedule

    def runs_of(self, name: str) -> list[str]:
        """All runs of a schedule, by their tag; this test's from now on."""
        runs = [run.decode() for run in self.ask("ZRANGE", keys.runs_by(Facet.TAG, tag_of(name)), 0, -1)]
        self.runs += [run for run in runs if run not in self.runs]
        return runs

    def wish(self, document: Document, run: str | None = None, **options: Any) -> Create:
        """A request to create a run; `agents` maps states to an id or a tuple of ids."""
        agents = options.pop("agents", {})
        return Create(
            workflow_id=run or self.name(),
            definition=read_definition(document),
            run_input=options.pop("run_input", {}),
            agents={state: (pool,) if isinstance(pool, str) else tuple(pool) for state, pool in agents.items()},
            planner_agent_id=options.pop("planner", None),
            retention_s=options.pop("retention_s", None),
            max_attempts=options.pop("max_attempts", 10),
            **options,
        )

    def create(self, document: Document, **options: Any) -> str:
        wish = self.wish(document, **options)
        answer = self.plane.create(wish)
        assert isinstance(answer, Created), answer
        return wish.workflow_id

    # What agents do

    def try_acquire(
        self, run: str, state: str, owner: str = "w", token: str | None = None, **more: Any
    ) -> Leased | Refusal:
        ttl_s = more.pop("ttl_s", LONG)
        request = Acquire(state=state, owner=owner, token=token or new_token(), ttl_s=ttl_s, **more)
        return self.plane.acquire(run, request)

    def acquire(self, run: str, state: str, owner: str = "w", token: str | None = None, **more: Any) -> str:
        """Take the lease, which must be free; its token."""
        answer = self.try_acquire(run, state, owner, token, **more)
        assert isinstance(answer, Leased), answer
        assert answer.doc.lease.token is not None
        return answer.doc.lease.token

    def renew(self, run: str, state: str, token: str, **more: Any) -> Leased | Refusal:
        return self.plane.renew(run, Renew(state=state, token=token, **more))

    def release(self, run: str, state: str, token: str | None, **more: Any) -> Released | Refusal:
        return self.plane.release(run, Release(state=state, token=token, **more))

    def update(self, run: str, state: str, token: str | None, **more: Any) -> Updated | Refusal:
        if "output" in more:
            more["has_output"] = True
        return self.plane.update(run, Update(state=state, token=token, **more))

    def try_complete(
        self, run: str, state: str, token: str | None, output: Any = None, **more: Any
    ) -> Updated | Refusal:
        return self.update(run, state, token, status=Status.SUCCEEDED, output=output, **more)

    def complete(self, run: str, state: str, token: str | None, output: Any = None, **more: Any) -> Updated:
        answer = self.try_complete(run, state, token, output, **more)
        assert isinstance(answer, Updated), answer
        return answer

    def fail(self, run: str, state: str, token: str, error: str = "Broken", cause: str = "why") -> Updated | Refusal:
        return self.update(run, state, token, status=Status.FAILED, error=error, cause=cause)

    def do(self, run: str, state: str, owner: str = "w", output: Any = None) -> Updated:
        """Acquire and complete."""
        return self.complete(run, state, self.acquire(run, state, owner), output)

    def claim(
        self, run: str, owner: str, token: str | None = None, ttl_s: int = LONG
    ) -> Leased | NothingReady | Refusal:
        return self.plane.claim(run, Acquire(state="", owner=owner, token=token or new_token(), ttl_s=ttl_s))

    def finalize(self, run: str, **options: Any) -> Finalized:
        answer = self.plane.finalize(run, Finalize(workflow_id=run, **options))
        assert isinstance(answer, Finalized), answer
        return answer

    # What is there

    def doc(self, run: str, state: str) -> StateDoc:
        return self.plane.read(run, (state,)).states[state]

    def docs(self, run: str) -> Mapping[str, StateDoc]:
        return self.plane.read(run).states

    def known(self, run: str, state: str) -> Mapping[str, StateDoc]:
        """The document of a state, if there is such a state and control was there."""
        try:
            return self.plane.read(run, (state,)).states
        except DcfError:
            return {}

    def raw_docs(self, run: str) -> dict[str, bytes]:
        """The documents of all states in Redis, those inside scopes too."""
        prefix = self.store.keys(run).state("")
        result = [key.decode() for key in self.ask("KEYS", f"{prefix}*")]
        texts = zip(result, read_texts(self.ask, result) if result else (), strict=True)
        return {key_parts.decode_state(key.removeprefix(prefix)): text for key, text in texts if text is not None}

    def every_doc(self, run: str) -> dict[str, StateDoc]:
        return {path: read_state(json.loads(raw)) for path, raw in self.raw_docs(run).items()}

    def statuses(self, run: str) -> dict[str, str]:
        return {name: doc.status.value for name, doc in self.docs(run).items()}

    def meta(self, run: str) -> Mapping[str, Any]:
        document = self.plane.read(run, ()).meta_document
        assert document is not None
        return document

    def run_status(self, run: str) -> RunStatus:
        return RunStatus(self.meta(run)["status"])

    def output(self, run: str, state: str) -> Any:
        return self.plane.read(run, (state,)).outputs.get(state)

    def given(self, run: str, state: str) -> Any:
        return self.plane.read(run, (state,)).inputs.get(state)

    def events(self, run: str) -> list[Happening]:
        return self.history.after(run)

    def history_of(self, run: str) -> Iterator[Happening]:
        """Everything that happened, however long it is."""
        last = "0"
        while page := self.history.after(run, last):
            yield from page
            last = page[-1].event_id

    def event_types(self, run: str, state: str | None = None) -> list[str]:
        return [event.type for event in self.events(run) if state is None or event.state == state]

    def messages(self, agent: str) -> list[dict[str, Any]]:
        """The events of this test's runs in an agent's inbox, without taking them."""
        events = [load_event(fields) for _, fields in self.ask("XRANGE", keys.inbox(agent), "-", "+")]
        return [event for event in events if event["workflow_id"] in self.runs]

    def owed(self, run: str) -> int:
        return int(self.ask("XLEN", self.store.keys(run).outbox))

    def newest(self, limit: int) -> list[str]:
        """The newest runs by the list of all."""
        commands = newest_commands(keys.RUNS, self.connections.shards, limit)
        return newest([self.ask(*command) for command in commands], limit)

    def list_of(self, index: str, run: str) -> str:
        """The key of the part of a list that has this run, if it has it."""
        return place_of(index, run, self.connections.shards)

    def is_live(self, run: str) -> bool:
        return run in self.index.live()

    def keys_of(self, run: str) -> list[str]:
        """Return the run's keys, but for the marks of claims, which are gone in a moment."""
        result = [key.decode() for key in self.ask("KEYS", f"*{run}*")]  # a cluster has braces around the run
        return [key for key in result if f":wf:{run}:" in key and f":wf:{run}:taking:" not in key]

    # Changing what is there without waiting for it

    def expire_lease(self, run: str, state: str) -> None:
        """As if the lease had been taken long ago."""
        set_member(self.ask, self.store.keys(run).state(state), ("lease", "expires_at"), "2001-01-01T00:00:00.000000Z")
        self.make_due(run, state)

    def only_list(self, run: str) -> None:
        """As if the server had been listing this run just now, and not created it."""
        seconds, micros = self.ask("TIME")
        self.ask("ZADD", self.list_of(keys.LIVE, run), int(seconds) * 1_000_000 + int(micros), run)

    def make_due(self, run: str, state: str) -> None:
        """As if the time for the clock to look at this state had come."""
        self.ask("ZADD", self.store.keys(run).timers, 1, key_parts.encode_state(state))
        self.ask("ZADD", keys.due(run), 1, run)


def new_token() -> str:
    return f"lease-{uuid.uuid4().hex}"


def load_event(fields: list[bytes]) -> dict[str, Any]:
    event: dict[str, Any] = json.loads(dict(zip(fields[::2], fields[1::2], strict=True))[b"event"])
    return event
