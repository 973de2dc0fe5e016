"""What is known of a run when it is judged: the calls of everybody, its history, its documents, and what it left."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any

from dcf.core.documents.codec import whole_state
from dcf.core.listing.runs import Facet
from dcf.features.people.listing import LONGEST_PAGE, HumanTaskQuery
from dcf.features.people.storage import HumanTasks
from dcf.store.connection.connections import Connections
from dcf.store.events.history import happenings
from dcf.store.keys import table as keys
from dcf.store.keys.parts import decode_state
from dcf.store.keys.table import RunKeys
from dcf.store.transaction.usage_sums import OWED
from lab.expectation import Expected
from lab.recording import Call
from tests.support.redis.documents import read_document, read_texts

PLANNER = "the planner"
NO_TASKS = (
    "Pick",
    "More",
    "Begin",
    "After",
    "Give",
    "Mend",
    "Join",
    "Wait",
    "Ask",
    "Both",
    "Each",
    "Shaky",
    "Cracked",
    "Doom",
    "Signal",
    "Child",
    "Callback",
    "Group",
)
"""First words of the states that no worker works on."""

ENDINGS = ("StateSucceeded", "StateFailed", "StateRetried", "CallbackAwaited")
BY_THE_CLOCK = ("States.Timeout", "States.HeartbeatTimeout", "DCF.AttemptsExhausted")
"""Errors of states that no holder ended."""

FREE = ("cancel", "skip", "error", "retry")
"""Actions of an operator after which the end of a run is not determined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """One entry of a run's history."""

    type: str
    state: str
    data: Mapping[str, Any]
    number: int = 0
    at_ms: int = 0

    @property
    def epoch(self) -> int:
        """Return the epoch that it names, or 0."""
        return int(self.data.get("epoch") or 0)

    def told(self) -> str:
        """Return it in one line."""
        return f"{self.type} {self.state} {json.dumps(self.data)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A lease that somebody was told to have."""

    state: str
    token: str
    epoch: int
    call: Call


@dataclass(frozen=True, kw_only=True)
class Story:
    """Everything about one run. `losses` are the times between which an acknowledged write may be gone.

    `children`: the meta documents of its child runs. `signals_kept`: the numbers of signals that no state took. `kept`:
    the keys in Redis of a deleted run. `repeats`: the run that it repeats. `repeated_as`: the run that repeats it.
    `closures`: when a usage limit closed the account
    of each agent, in microseconds of the machine. `is_grown`: it was opened without a graph.
    """

    run: str
    seed: int
    expected: Expected
    calls: tuple[Call, ...]
    happenings: tuple[Happening, ...]
    meta: Mapping[str, Any]
    agents: frozenset[str]
    documents: Mapping[str, Any] = field(default_factory=dict)
    documents_later: Mapping[str, Any] = field(default_factory=dict)
    observed: tuple[Mapping[str, Any], ...] = ()
    left: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    is_to_be_deleted: bool = False
    repeats: str | None = None
    repeated_as: str | None = None
    planner_notices: tuple[str, ...] = ()
    losses: tuple[tuple[float, float], ...] = ()
    children: tuple[Mapping[str, Any], ...] = ()
    signals_kept: tuple[int, ...] = ()
    closures: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)
    is_grown: bool = False

    @cached_property
    def grants(self) -> tuple[Grant, ...]:
        """Leases that answers reported to callers, from acquiring or with a completion."""
        return tuple(_grants(self.calls))

    @property
    def kept_grants(self) -> tuple[Grant, ...]:
        """Those that no power loss may have taken back."""
        return tuple(grant for grant in self.grants if not self.may_be_lost(grant.call))

    @cached_property
    def epochs(self) -> Mapping[str, int]:
        """The epoch of each token that was granted."""
        return {grant.token: grant.epoch for grant in self.grants}

    @cached_property
    def endings(self) -> Mapping[tuple[str, int], list["Happening"]]:
        """The end of each lease by state and epoch: its holder's completion, as far as the history records it."""
        return _endings(self.happenings, self.resolved)

    @cached_property
    def is_free(self) -> bool:
        """True if an operator may have done what leaves open how the run ends."""
        return any(call.op in FREE and not call.is_refused for call in self.calls)

    @property
    def is_deleted(self) -> bool:
        """True if the run was to be deleted and is gone."""
        return self.is_to_be_deleted and not self.meta

    @cached_property
    def resolved(self) -> frozenset[tuple[str, int]]:
        """The states that no holder ended, but an operator or what is outside, each with the epoch of that end."""
        result = (item for item in self.of("StateResolved", "StateConcluded") if item.data.get("how") != "assign")
        return frozenset((item.state, item.epoch) for item in result)

    def of(self, *types: str) -> Iterator[Happening]:
        """Return the entries of these types."""
        return (happening for happening in self.happenings if happening.type in types)

    def was_granted(self, state: str, epoch: int) -> bool:
        """Return True if the history has this lease."""
        return any(result.state == state and result.epoch == epoch for result in self.of("LeaseAcquired"))

    def may_be_lost(self, call: Call) -> bool:
        """Return True if a power loss may have taken back what the call did.

        A caller may note an answer late, so the whole call counts.
        """
        return call.end is None or any(start <= call.end and call.start <= end for start, end in self.losses)


def is_task(path: str) -> bool:
    """Return True if somebody works on the state."""
    return not path.rpartition("/")[2].startswith(NO_TASKS)


def _grants(calls: tuple[Call, ...]) -> Iterator[Grant]:
    for call in calls:
        if call.op == "acquire" and call.is_ok and call.token is not None:
            yield Grant(state=call.state, token=call.token, epoch=call.epoch or 0, call=call)
        if call.claimed is not None and call.is_ok and call.claimed.get("epoch"):
            claimed = call.claimed
            yield Grant(state=claimed["state"], token=claimed["token"], epoch=claimed["epoch"], call=call)


def _endings(
    happenings: tuple[Happening, ...], by_hand: frozenset[tuple[str, int]]
) -> dict[tuple[str, int], list[Happening]]:
    """Attribute each ending to the lease held then, or last: the epoch of a completion in a scope is another."""
    lease: dict[str, int] = {}
    happeningses: dict[tuple[str, int], list[Happening]] = {}
    for happening in happenings:
        if happening.type == "LeaseAcquired":
            lease[happening.state] = happening.epoch
        elif (happening.state, happening.epoch) in by_hand:
            continue
        elif happening.type in ENDINGS and happening.data.get("error") not in BY_THE_CLOCK and is_task(happening.state):
            happeningses.setdefault((happening.state, lease.get(happening.state, 0)), []).append(happening)
    return happeningses


# Reading what Redis has of a run


def read_happenings(client: Any, run: str) -> tuple[Happening, ...]:
    """Read a run's history."""
    entries = client.xrange(RunKeys(run).events)
    events = (
        happening for entry_id, fields in entries for happening in happenings(entry_id, list(chain(*fields.items())))
    )
    return tuple(
        Happening(
            type=event.type,
            state=event.state or "",
            data=event.data,
            number=number,
            at_ms=int(event.event_id.partition("-")[0]),
        )
        for number, event in enumerate(events)
    )


def read_meta(client: Any, run: str) -> dict[str, Any]:
    """Read a run's meta document; empty if there is none."""
    return dict(read_document(client.execute_command, RunKeys(run).meta) or {})


def read_documents(client: Any, run: str) -> dict[str, Any]:
    """Read the documents of all states of a run, those inside scopes too."""
    prefix = RunKeys(run).state("")
    named = [key.decode() for key in client.scan_iter(match=f"{prefix}*", count=1000)]
    if not named:
        return {}
    mission_texts = read_texts(client.execute_command, named)
    return {
        decode_state(key.removeprefix(prefix)): whole_state(json.loads(text))
        for key, text in zip(named, mission_texts, strict=True)
        if text is not None
    }


def read_left(client: Any, run: str) -> tuple[str, ...]:
    """Return what a finished run left: timers, owed notifications, claims, its place in the list of live runs."""
    named = RunKeys(run)
    timers = [part.decode() for part in client.zrange(named.timers, 0, -1)]
    owed, claims = client.xlen(named.outbox), client.hlen(named.claims)
    left = [f"a timer of {part}" for part in timers]
    left += [f"{owed} notifications owed"] if owed else []
    left += [f"{claims} claims"] if claims else []
    left += ["a place in the list of live runs"] if client.zscore(keys.LIVE, run) is not None else []
    return tuple(left)


def read_asked(connections: Connections, run: str) -> tuple[str, ...]:
    """Return the tasks for people that readers are shown of a finished run.

    A task is listed before the commit that opens it. An attempt that loses its commit leaves an entry. Readers
    pass over it. They remove it when it is so old that no process is opening the task.
    """
    rows = HumanTasks(connections).page(HumanTaskQuery(limit=LONGEST_PAGE, run=run)).rows
    return tuple(f"the task of {row.state} for people" for row in rows)


def read_kept(client: Any, run: str) -> tuple[str, ...]:
    """Return the keys of a run, and the lists that name it.

    The shares in the keys of workers are left out: no document of the run names these keys, and the sweep frees them.
    So are the lists of the runs that an agent was made for, or does work in. The run is listed before the commit that
    assigns the agent. An attempt that loses its commit leaves an entry, which the sweep takes off.
    The list of the runs that owe usage is left out too: the timer loop takes such an entry off it, after a minute.
    """
    of_run = RunKeys(run).meta.removesuffix("meta")
    result = [key.decode() for key in client.scan_iter(match=f"{of_run}*", count=1000)]
    # A caller that waits for replicas writes the barrier, for a minute.
    result = [key for key in result if key != RunKeys(run).barrier]
    lists = [key.decode() for key in client.scan_iter(match="cp:idx:*", count=1000, _type="zset")]
    passed_over = (keys.quota("", "runs"), keys.assigned(""), keys.runs_by(Facet.AGENT, ""), OWED)
    result += [key for key in lists if not key.startswith(passed_over) and client.zscore(key, run) is not None]
    return tuple(result)


def read_planner_mail(client: Any, agent: str = PLANNER) -> dict[str, list[str]]:
    """Return what types of events lie in the planner's inbox, by run."""
    planner_mail: dict[str, list[str]] = {}
    for _, fields in client.xrange(keys.inbox(agent)):
        event = json.loads(fields[b"event"])
        planner_mail.setdefault(event["workflow_id"], []).append(event["type"])
    return planner_mail


def read_children(client: Any, run: str) -> tuple[dict[str, Any], ...]:
    """Read the meta documents of the child runs of a run."""
    names = [name.decode() for name in client.zrange(keys.runs_by("parent", run), 0, -1)]
    return tuple(meta for name in names if (meta := read_meta(client, name)))


def read_kept_signals(client: Any, run: str) -> tuple[int, ...]:
    """Read the numbers of the signals that a run keeps."""
    document = read_document(client.execute_command, RunKeys(run).signals)
    return () if document is None else tuple(item["number"] for item in document["kept"])
