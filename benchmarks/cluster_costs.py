"""The cost of a step for each part of a cluster: commands and CPU of Redis, by the family of keys they are for.

The commands of a piece of work are read from the slow log of every node, which is told to keep all. The time that a
node needs besides its commands, to read and to write, is divided among them evenly.
"""

import re
import secrets
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from unittest.mock import patch

import redis

from benchmarks import workloads
from benchmarks.peers.redis_cluster import ClusterProbe
from dcf.application.application import Application
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from dcf.core.lifecycle.creation import Create
from dcf.features.work.listing import WorkQuery
from dcf.features.work.operations import TakenWork
from dcf.store.cluster import connections as cluster
from dcf.store.cluster.keys import on_cluster
from dcf.store.connection.commands import Command

RUN, LISTS, DUE, AGENTS = "run", "lists of runs", "due times", "inboxes"
STEPS_OF_RUN: Final = 20
AGENT_IDS: Final = ("anna", "ben")
_FAMILIES: Final = (
    (re.compile(r"[cd]p:wf:"), RUN),
    (re.compile(r"cp:idx:\{s[0-9]+\}"), LISTS),
    (re.compile(r"cp:idx:due:"), DUE),
    (re.compile(r"cp:idx:\{a[0-9]+\}"), AGENTS),
)
_TAG: Final = re.compile(r"cp:idx:\{([^}]*)\}")
_PATIENCE_S: Final = 10.0
_MOST_ENTRIES: Final = 1_000_000

Kind: TypeAlias = tuple[str, str]
"""A command's name and the family of its keys."""

Work: TypeAlias = Callable[[Application], int]
"""Function that does something a number of times, and returns the number."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one operation for Redis: commands, and microseconds of CPU of a node."""

    commands: float
    us: float


def family_of(words: Iterable[str]) -> str:
    """Return the family of the first key among the words of a command; a command without keys goes with a run's."""
    key = next((word for word in words if word.startswith(("cp:", "dp:"))), "cp:wf:")
    result = next((family for pattern, family in _FAMILIES if pattern.match(key)), None)
    if result is not None:
        return result
    tag = _TAG.match(key)
    return tag[1] if tag else key.removeprefix("cp:idx:").partition(":")[0]


def cost_of(
    app: Application, probe: ClusterProbe, work: Work, rounds: int, prepare: Callable[[], object] = lambda: None
) -> dict[str, Cost]:
    """Return what doing it once costs, by family. CPU is the lower quartile of the rounds, each prepared before."""
    prepare()
    with slow_logs(probe) as logs, noted() as sent:
        times = work(app)
        took = _taken(logs)
    commands = Counter(family for _, family in sent)
    spent: defaultdict[str, float] = defaultdict(float)
    for kind in sent:
        spent[kind[1]] += took.get(kind, 0.0)
    cpu = []
    for _ in range(max(2, rounds)):
        prepare()
        before = probe.cpu()
        count = work(app)
        cpu.append((probe.cpu() - before) * 1e6 / count)
    extra = max(0.0, statistics.quantiles(cpu, n=4)[0] * times - sum(spent.values())) / commands.total()
    return {
        family: Cost(count / times, (spent[family] + extra * count) / times) for family, count in commands.most_common()
    }


@contextmanager
def noted() -> Iterator[list[Kind]]:
    """Note every command that this process sends to a cluster, by its name and family, until the block ends."""
    sent: list[Kind] = []

    def place(command: Command) -> tuple[Command, int | None]:
        placed = on_cluster(command)
        sent.append((str(command[0]), family_of(map(str, placed[0]))))
        return placed

    with patch.object(cluster, "on_cluster", place):
        yield sent


@contextmanager
def slow_logs(probe: ClusterProbe) -> Iterator[list[Any]]:
    """Have all nodes keep every command; yield clients to read them with."""
    clients: list[Any] = [redis.Redis.from_url(url) for url in probe.urls]
    before = [client.config_get("slowlog*") for client in clients]
    for client in clients:
        client.config_set("slowlog-max-len", _MOST_ENTRIES)
        client.config_set("slowlog-log-slower-than", 0)
        client.slowlog_reset()
    try:
        yield clients
    finally:
        for client, options in zip(clients, before, strict=True):
            for name, value in options.items():
                client.config_set(name, value)
            client.slowlog_reset()
            client.close()


def _taken(clients: Iterable[Any]) -> dict[Kind, float]:
    """Return how many microseconds a command took on the average, by its name and family.

    The log has what scripts call as well; that is about as quick as the same command from outside.
    """
    result: defaultdict[Kind, list[int]] = defaultdict(list)
    for client in clients:
        for _, _, took_us, value, *_ in client.execute_command("SLOWLOG", "GET", -1):
            words = [word.decode("utf-8", "replace") for word in value]
            result[words[0].upper(), family_of(words)].append(took_us)
    return {kind: statistics.fmean(times) for kind, times in result.items()}


def steps(length: int, runs: int) -> Work:
    """Return the work of so many whole chains by one worker that claims with each completion; it counts steps."""

    def work(app: Application) -> int:
        for _ in range(runs):
            run = workloads.create(app.control_plane, workloads.chain(length))
            workloads.carry_out(app.control_plane, run, lambda _: {"way": 7})
        return runs * length

    return work


def hand_overs(length: int, runs: int) -> Work:
    """Return the same with two agents in turn, who are notified by their inboxes; it counts steps."""

    def work(app: Application) -> int:
        for _ in range(runs):
            _hand_over(app, length)
        return runs * length

    return work


def _hand_over(app: Application, length: int) -> None:
    plane, document = app.control_plane, workloads.chain(length)
    states = list(document["asl"]["States"])
    agents = {state: (AGENT_IDS[at % 2],) for at, state in enumerate(states)}
    run = f"handed-{secrets.token_hex(6)}"
    request = Create(
        workflow_id=run,
        definition=read_definition(document),
        run_input={"way": 7},
        agents=agents,
        planner_agent_id=None,
        retention_s=None,
        max_attempts=1000,
    )
    plane.create(request)
    plane.kick_off(run, "initial")
    app.notifications.notify_next(run, None, reason=None, payload=None)
    for state, (agent,) in agents.items():
        app.clock.finish(_PATIENCE_S)  # until the agent was notified
        taken = app.inbox.take(agent)
        wish = Acquire(state=state, owner=agent, token=secrets.token_hex(16), ttl_s=workloads.LEASE_S)
        acquire = plane.acquire(run, wish)
        assert isinstance(acquire, Leased), acquire
        done = Update(
            state=state, token=wish.token, status=Status.SUCCEEDED, has_output=True, output={"way": 7}, claim_ttl_s=None
        )
        answer = plane.update(run, done)
        assert isinstance(answer, Updated), answer
        if taken.message is not None:
            app.inbox.acknowledge(agent, taken.message.message_id)


def claims(count: int) -> Work:
    """Return the work of this number of claims among all runs; as many runs must have a ready first state."""

    def work(app: Application) -> int:
        for _ in range(count):
            wish = Acquire(state="", owner=workloads.AGENT, token=secrets.token_hex(16), ttl_s=workloads.LEASE_S)
            claim_work = app.work.claim_work(WorkQuery(limit=1, agent=workloads.AGENT), wish)
            assert isinstance(claim_work, TakenWork), claim_work
            workloads.complete(
                app.control_plane, claim_work.workflow_id, claim_work.leased, {"way": 7}, claim_next=False
            )
        return count

    return work


def looks(count: int) -> Work:
    """Return the work of this number of passes of the timer loop without a due state."""

    def work(app: Application) -> int:
        for _ in range(count):
            app.clock.pulse()
        return count

    return work
