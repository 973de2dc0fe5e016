"""One server or cluster of `benchmarks.growth`: packed runs of every kind, inboxes, an audit trail, and more of all."""

import secrets
from dataclasses import dataclass, field
from typing import Any, Final

from benchmarks import packed_runs
from benchmarks.packed_runs import Model
from benchmarks.peers.redis_cluster import probe_of
from dcf.application.application import Application
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.finalization import Finalize
from dcf.store.access import audit_trail
from dcf.store.connection.commands import Command
from dcf.store.connection.connections import Connections
from dcf.store.events.inbox import Letter
from dcf.store.keys import table as keys
from dcf.store.keys.table import RunKeys
from dcf.store.lists.shards import place_of
from dcf.values.instants import SECOND

CREW: Final = "crew"
"""The agent that nearly every run names."""

BUSY: Final = "busy"
"""The agent of a tenth of the live runs, in all of which it holds what there is."""

RARE: Final = "rare"
"""The agent and the tag of a few runs, the newest ones, and of the two oldest entries of the audit trail."""

CROWD: Final = "crowd"
"""The agent whose inbox has a tenth as many events as there are live runs."""

SLEEPING: Final = "sleeping"
EXPIRING: Final = "expiring"
_STUCK: Final = "stuck"
_BUSY: Final = "busy"
_RARE_ENDED: Final = "rare, ended"
_RARE_LIVE: Final = "rare, live"
_ENDED: Final = ("succeeded", "failed", EXPIRING)
_LIVE: Final = ("leased", "ready", SLEEPING, "leased", "ready", SLEEPING, _BUSY, "ready", SLEEPING, _STUCK)

_DAY: Final = 24 * 3600
_MONTH_S: Final = 30 * _DAY
_TASK: Final = {"Type": "Task", "End": True}
_WAIT: Final = {"Type": "Wait", "Seconds": _MONTH_S, "End": True}
_RARELY: Final = 25
_SENDERS: Final = 4
_AUTHORS: Final = 100
_LEAST_AUDITED: Final = 10_000
_PACKET: Final = 1000


@dataclass(eq=False)
class Site:
    """One server or cluster. `names` are the copies of each kind, `memory` the bytes of one more run."""

    app: Application
    connections: Connections
    names: dict[str, list[str]] = field(default_factory=dict)
    memory: dict[str, float] = field(default_factory=dict)
    audited: int = 0
    inboxes: int = 0
    ended: int = 0
    live: int = 0

    def __post_init__(self) -> None:
        self.probe = probe_of(self.app.redis_url)
        ((seconds, _),) = self.connections.send(("TIME",))
        self.began = (int(seconds) - _MONTH_S) * SECOND
        self.created = self.began
        self.models = self._models()

    def grow(self, ended: int, live: int) -> None:
        """Fill it up to this number of runs; a few rare ones are always the newest."""
        for number, kinds, subject in (
            (ended - self.ended, _ENDED, "an ended run"),
            (live - self.live, _LIVE, "a live run"),
        ):
            before = self.probe.used_memory()
            for kind in kinds:
                self.copy(kind, number // len(kinds))
            if number:
                self.memory[subject] = (self.probe.used_memory() - before) / number
        if not self.ended:
            newest = self.began + _MONTH_S * SECOND
            for kind in (_RARE_ENDED, _RARE_LIVE):
                packed_runs.copy(self.connections, self.models[kind], _RARELY, newest)
        self.ended, self.live = ended, live
        self._audit(max(ended, _LEAST_AUDITED))
        self._fill_inboxes(max(1, live // 10))

    def copy(self, kind: str, number: int) -> list[str]:
        """Make so many more runs of a kind."""
        made = packed_runs.copy(self.connections, self.models[kind], number, self.created)
        self.created += number
        self.names.setdefault(kind, []).extend(made)
        return made

    def _models(self) -> dict[str, Model]:
        plane = self.app.control_plane
        ready, rare = self._create(_TASK, CREW), self._create(_TASK, RARE)
        made = {
            "ready": ready,
            _RARE_LIVE: rare,
            "leased": self._create(_TASK, CREW),
            SLEEPING: self._create(_WAIT, CREW),
        }
        made[_BUSY] = self._create(_TASK, BUSY)
        self._lease(made["leased"], CREW)
        self._lease(made[_BUSY], BUSY)
        for run in (ready, rare):
            self._remind_rarely(run)
        ended = {kind: self._create(_TASK, CREW) for kind in ("succeeded", "failed")}
        ended |= {EXPIRING: self._create(_TASK, CREW, _MONTH_S), _RARE_ENDED: self._create(_TASK, RARE)}
        for kind, run in ended.items():
            status = Status.FAILED if kind == "failed" else Status.SUCCEEDED
            self._end(run, RARE if kind == _RARE_ENDED else CREW, status)
        plane.finalize(ended[EXPIRING], Finalize(workflow_id=ended[EXPIRING]))
        for _ in range(3):  # hands over what is owed, retires what has ended, lets expire what is final
            self.app.clock.pulse()
            self.app.clock.finish(10)
        assert self.app.clock.pulse() == 0, "the models need nothing of the clock"
        made |= ended
        models = dict(zip(made, packed_runs.read_models(self.connections, list(made.values())), strict=True))
        stuck = place_of(keys.STUCK, ready, self.connections.shards)
        return models | {_STUCK: models["ready"].listed_too(stuck)}

    def _create(self, state: dict[str, Any], agent: str, retention_s: int | None = None) -> str:
        workflow_id = f"model-{secrets.token_hex(6)}"
        document = {"workflow_name": "packed", "asl": {"StartAt": "Work", "States": {"Work": state}}}
        self.app.control_plane.create(
            Create(
                workflow_id=workflow_id,
                definition=read_definition(document),
                run_input={"order": 7},
                agents={"Work": (agent,)} if state is _TASK else {},
                planner_agent_id=None,
                retention_s=retention_s,
                max_attempts=1000,
                tags=(agent,),
            )
        )
        return workflow_id

    def _lease(self, run: str, agent: str) -> Leased:
        wish = Acquire(state="Work", owner=agent, token=secrets.token_hex(16), ttl_s=_DAY)
        answer = self.app.control_plane.acquire(run, wish)
        assert isinstance(answer, Leased), answer
        return answer

    def _remind_rarely(self, run: str) -> None:
        """Let a day pass until the timer loop checks a run that no agent takes: the checks become rarer."""
        ((seconds, _),) = self.connections.send(("TIME",))
        self.connections.send(("ZADD", RunKeys(run).timers, (int(seconds) + _DAY) * SECOND, "Work"))
        self.app.clock._due.settle(run)  # noqa: SLF001 - as the clock does after each look

    def _end(self, run: str, agent: str, status: Status) -> None:
        lease = self._lease(run, agent)
        error = "Broken" if status is Status.FAILED else None
        token = lease.doc.lease.token
        done = Update(state="Work", token=token, status=status, has_output=True, output={"ok": 1}, error=error)
        self.app.control_plane.update(run, done)

    def _audit(self, entries: int) -> None:
        if not self.audited:
            self.connections.send(*(_audited(f"key:{RARE}") for _ in range(2)))
        for start in range(self.audited, entries, _PACKET):
            numbers = range(start, min(entries, start + _PACKET))
            self.connections.send(*(_audited(f"key:k{number % _AUTHORS}") for number in numbers))
        self.audited = entries

    def _fill_inboxes(self, number: int) -> None:
        letters = [
            letter
            for number in range(self.inboxes, number)
            for letter in (letter_to(CROWD, number), letter_to(f"one-of-many-{number}", number))
        ]
        for start in range(0, len(letters), _PACKET):
            self.app.inbox.put_all(letters[start : start + _PACKET])
        self.inboxes = max(self.inboxes, number)


def letter_to(agent: str, number: int) -> Letter:
    """Return an event of a run of its own, of one of a few senders."""
    run, sender = f"run-{number}", f"key:{number % _SENDERS}"
    event = {"workflow_id": run, "state": "Work"}
    return Letter(agent_id=agent, event_id=f"{run}:Work:1:ready", event=event, run=run, sender=sender)


def _audited(author: str) -> Command:
    fields = {"change": "json_set", "by": author, "about": '{"key":"doc:1"}'}
    flat = [part for pair in fields.items() for part in pair]
    append, share = audit_trail._APPEND, keys.audit_share(author)  # noqa: SLF001 - the trail writes one at a time
    return ("EVAL", append, 2, keys.AUDIT_TRAIL, share, audit_trail.KEPT, *flat)
