"""Judges one Redis server, or the primaries of a cluster together: a level, a sentence and a remedy each. Pure.

Of a cluster nothing is said of a node by itself while all are well; what is wrong is said with the nodes that have it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dcf.core.listing.sweep_results import Trouble
from dcf.features.health.facts import Durability, Expected, MemoryUse, ServerVitals
from dcf.features.health.findings import HealthFinding, Level, Topic
from dcf.values.records import replace

NEARLY_FULL: Final = 0.85
"""Part of the memory limit from which an operator is warned."""

SETUP: Final = (Topic.REDIS, Topic.WRITES, Topic.MEMORY, Topic.DURABILITY, Topic.REPLICAS)
"""The topics that depend on the setup of Redis, and not on later events: a server logs them at its start."""

_LOOK_UP: Final = "Look up at the service what survives a failure; docs/operating/managed-redis.md says what dcf needs."
"""What to do where Redis does not tell how it keeps its data."""

_LAGGING_S: Final = 10

_MOST_NAMED: Final = 5
"""Nodes that one finding names, and findings on one topic of a cluster."""


def judge_servers(servers: Sequence[ServerVitals], expected: Expected) -> Iterator[HealthFinding]:
    """Yield at least one finding on every topic of `SETUP`."""
    if len(servers) == 1 and servers[0].node is None:
        yield from _judge(servers[0], expected)
        return
    result = [(server.node or "", element) for server in servers for element in _judge(server, expected)]
    for topic in SETUP:
        nodes_by_finding: dict[HealthFinding, list[str]] = {}
        for node, item in result:
            if item.topic is topic:
                nodes_by_finding.setdefault(item, []).append(node)
        yield from _of_nodes(nodes_by_finding, len(servers))


def _of_nodes(nodes_by_finding: Mapping[HealthFinding, Sequence[str]], count: int) -> Iterator[HealthFinding]:
    """Yield what is wrong with some of `count` nodes; where all are well, how the first is."""
    wrong = [node for node in nodes_by_finding if node.level is not Level.OK]
    if not wrong:
        first, nodes = next(iter(nodes_by_finding.items()))
        more = "" if len(nodes) == count else f" The other {count - len(nodes)} are well too."
        yield replace(first, sentence=f"{_named(nodes, count)}: {first.sentence}{more}")
        return
    wrong.sort(key=lambda element: element.level is not Level.FAILING)
    for item in wrong[:_MOST_NAMED]:
        yield replace(item, sentence=f"{_named(nodes_by_finding[item], count)}: {item.sentence}")
    others = {node for element in wrong[_MOST_NAMED:] for node in nodes_by_finding[element]}
    if others:
        yield replace(wrong[_MOST_NAMED], sentence=f"{len(others)} more nodes of the cluster have something like it.")


def _named(nodes: Sequence[str], count: int) -> str:
    if len(nodes) == count > 1:
        return f"All {count} nodes of the cluster"
    more = f" and {len(nodes) - _MOST_NAMED} more" if len(nodes) > _MOST_NAMED else ""
    return f"Node{'s' if len(nodes) > 1 else ''} {', '.join(nodes[:_MOST_NAMED])}{more} of the cluster"


def _judge(vitals: ServerVitals, expected: Expected) -> Iterator[HealthFinding]:
    yield HealthFinding(Topic.REDIS, Level.OK, _answers(vitals))
    yield _writes(vitals.refusal)
    yield from _memory(vitals.memory)
    yield from _durability(vitals.durability, expected.fsync)
    yield from _replicas(vitals, expected.wait_replicas)


def _answers(vitals: ServerVitals) -> str:
    if vitals.redis_version == "unknown":
        return f"{vitals.product} answers; its version is not known."
    return f"{vitals.product} {vitals.redis_version} answers."


def _writes(refusal: Trouble | None) -> HealthFinding:
    if refusal is None:
        return HealthFinding(Topic.WRITES, Level.OK, "A small write was accepted just now.")
    return HealthFinding(Topic.WRITES, Level.FAILING, refusal.message, refusal.remedy)


def _memory(memory: MemoryUse | None) -> Iterator[HealthFinding]:
    if memory is None:
        sentence = "How much memory Redis has, and what it does when that is full, is not known: it refuses INFO."
        remedy = "See to it that its maxmemory-policy is noeviction, and watch its memory at the service."
        yield HealthFinding(Topic.MEMORY, Level.WARNING, sentence, remedy)
        return
    if memory.policy != "noeviction":
        yield HealthFinding(
            Topic.MEMORY,
            Level.WARNING,
            f"maxmemory-policy is {memory.policy}: Redis may drop documents of a run when memory is short.",
            "Set maxmemory-policy noeviction in its configuration.",
        )
    if not memory.limit:
        yield HealthFinding(Topic.MEMORY, Level.OK, f"Redis uses {_size(memory.used)}; maxmemory sets no limit.")
        return
    sentence = f"Redis uses {_size(memory.used)} of {_size(memory.limit)} ({memory.share:.0%})."
    if memory.share < NEARLY_FULL:
        yield HealthFinding(Topic.MEMORY, Level.OK, sentence)
        return
    remedy = (
        "Delete runs that are over (`dcf runs prune --older-than 7d`), cancel some (`cancel_run`), or raise maxmemory."
    )
    sentence = f"{sentence} Full, it rejects every write but those that free memory: cancel, finalize, delete, prune."
    yield HealthFinding(Topic.MEMORY, Level.WARNING, sentence, remedy)


def _durability(durability: Durability | None, policy: str | None) -> Iterator[HealthFinding]:
    if durability is None:
        sentence = "Whether Redis keeps its data on disk is not known: it refuses INFO."
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, _LOOK_UP)
        return
    problems = [*_failed_saves(durability), *_lossy(durability, policy), *_unchecked(durability, policy)]
    yield from problems
    if not problems:
        sentence = f"appendonly is yes and appendfsync is {durability.fsync}: nothing acknowledged is lost."
        yield HealthFinding(Topic.DURABILITY, Level.OK, sentence)


def _failed_saves(durability: Durability) -> Iterator[HealthFinding]:
    free = "Look at the log of Redis and free disk space."
    if durability.log and not durability.log_written:
        yield HealthFinding(Topic.DURABILITY, Level.FAILING, "The last write to the append-only file failed.", free)
    if durability.log and not durability.log_rewritten:
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, "The last rewrite of the append-only file failed.", free)
    if durability.snapshots and not durability.snapshot_written:
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, "The last snapshot (RDB) failed.", free)


def _lossy(durability: Durability, policy: str | None) -> Iterator[HealthFinding]:
    if not durability.log:
        surviving = (
            f"only its snapshots (save {durability.snapshots}) survive" if durability.snapshots else "every run is lost"
        )
        if durability.snapshots is None:
            surviving = "only snapshots survive, if there are any (this user may not read settings),"
        sentence = f"appendonly is no: {surviving} when Redis stops."
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, "Set appendonly yes in its configuration.")
        return
    if durability.fsync == "always":
        return
    if durability.fsync is None:
        sentence = "appendonly is yes; how often it is synced to disk is not known: this user may not read settings."
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, _LOOK_UP)
        return
    loss = "a killed redis-server or a power loss may take the last two seconds of work"
    if durability.fsync == "no":
        loss = "a killed redis-server or a power loss may take the last half a minute of work, or more"
    if policy not in {None, durability.fsync}:
        loss = f"{loss}, though DCF_APPENDFSYNC asks for {policy}"
    sentence = f"appendfsync is {durability.fsync}: {loss}."
    where = "Set appendfsync always in its configuration" if policy is None else "Set DCF_APPENDFSYNC=always"
    if policy == "always":
        where = "End every dcf process of this data directory and start them with DCF_APPENDFSYNC=always"
    remedy = f"{where} to lose nothing."
    yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, remedy, as_asked=policy == durability.fsync)


def _unchecked(durability: Durability, policy: str | None) -> Iterator[HealthFinding]:
    """Warn of a Redis that dcf does not start itself, and that starts with a torn log."""
    if policy is None and durability.log and durability.loads_torn:
        sentence = (
            "Redis does not have its log checked (aof-load-truncated is yes): after a power loss it starts with a torn"
            " transaction in it, and the next start may lose or half apply what was written since."
        )
        remedy = (
            "Run redis-check-aof --fix before each start, and set aof-load-truncated no:"
            " docs/operating/disaster-recovery.md."
        )
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, remedy)


def _replicas(vitals: ServerVitals, expected: int) -> Iterator[HealthFinding]:
    connected = len(vitals.replicas or ())
    there = "a replica is" if connected == 1 else f"{connected} replicas are"
    if vitals.is_replica:
        yield HealthFinding(Topic.REPLICAS, Level.OK, "This server is itself a replica; its primary has the others.")
    elif expected and not vitals.waits:
        yield HealthFinding(
            Topic.REPLICAS,
            Level.FAILING,
            f"Redis refuses WAIT, so that no change is answered (DCF_WAIT_REPLICAS is {expected}).",
            "Allow WAIT to the user of REDIS_URL, or set DCF_WAIT_REPLICAS=0 and start dcf again.",
        )
    elif expected and vitals.refusal is None and (vitals.confirmed or 0) < expected:
        yield HealthFinding(
            Topic.REPLICAS,
            Level.FAILING,
            f"{vitals.confirmed or 0} of {expected} replicas confirmed a write in time, so that no change is answered"
            f" (DCF_WAIT_REPLICAS is {expected}); {there} connected.",
            "Bring the replicas back, or set a smaller DCF_WAIT_REPLICAS and start dcf again.",
        )
    elif vitals.replicas is None:
        known = f"{vitals.confirmed} confirm writes" if expected else "DCF_WAIT_REPLICAS is 0"
        sentence = f"Which replicas there are is not known: Redis refuses INFO; {known}."
        remedy = None if expected else "Set DCF_WAIT_REPLICAS=1 if there are any: a failover then takes nothing back."
        yield HealthFinding(Topic.REPLICAS, Level.OK if expected else Level.WARNING, sentence, remedy)
    elif connected and not expected:
        yield HealthFinding(
            Topic.REPLICAS,
            Level.WARNING,
            f"{there.capitalize()} there and DCF_WAIT_REPLICAS is 0: a failover may take back what was answered.",
            "Set DCF_WAIT_REPLICAS=1.",
        )
    else:
        behind = max((replica.behind for replica in vitals.replicas), default=0)
        most = f", at most {behind} bytes behind" if connected else ""
        yield HealthFinding(
            Topic.REPLICAS, Level.OK, f"{there.capitalize()} connected{most}; DCF_WAIT_REPLICAS is {expected}."
        )
    lagging = [replica for replica in vitals.replicas or () if not replica.online or replica.lag_s > _LAGGING_S]
    if lagging:
        sentence = f"{len(lagging)} of {connected} replicas do not keep up (not online, or silent for {_LAGGING_S} s)."
        yield HealthFinding(Topic.REPLICAS, Level.WARNING, sentence, "Look at the logs of the replicas.")


def _size(count: int) -> str:
    for unit, length in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= length:
            return f"{count / length:.1f} {unit}"
    return f"{count} bytes"
