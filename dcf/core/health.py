"""Judges how Redis, the clock, the agents and their platform are: a level, a sentence and a remedy for each. Pure.

`/readyz`, `dcf doctor` and the tool `read_health` show what is decided here; none of them judges anything itself.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

from dcf.core.vitals import (
    ClockFacts,
    Durability,
    Expected,
    MemoryUse,
    ScheduleFacts,
    SweepResult,
    Trouble,
    Vitals,
    WebhookFacts,
)
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json
from dcf.values.records import record

NEARLY_FULL: Final = 0.85
"""Part of the memory limit from which an operator is warned."""

RECENT_S: Final = 600
"""Seconds after which an agent that was not seen counts as away."""

_LATE_S: Final = 10.0
"""Seconds by which the clock may be late, or silent, without a warning; or three of its intervals."""

_SWEEP_AGE_S: Final = 3 * 3600
_LAGGING_S: Final = 10


class Level(StrEnum):
    """How bad it is. `failing`: something that dcf promises does not happen now."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"


class Topic(StrEnum):
    """What a finding is about."""

    REDIS = "redis"
    WRITES = "writes"
    MEMORY = "memory"
    DURABILITY = "durability"
    REPLICAS = "replicas"
    CLOCK = "clock"
    AGENTS = "agents"
    PLATFORM = "platform"
    SCHEDULES = "schedules"
    LISTS = "lists"


SETUP: Final = frozenset({Topic.REDIS, Topic.WRITES, Topic.MEMORY, Topic.DURABILITY, Topic.REPLICAS})
"""What depends on how Redis is set up, and not on what happens later: a server tells it at its start."""

_STOPPING: Final = frozenset({Topic.REDIS, Topic.WRITES, Topic.REPLICAS})
"""Topics whose failure makes calls of tools fail."""

_LOOK_UP: Final = "Look up at the service what survives a failure; docs/managed-redis.md says what dcf needs."
"""What to do where Redis does not tell how it keeps its data."""

_SEVERITY: Final = (Level.OK, Level.WARNING, Level.FAILING)


@record(frozen=True, slots=True)
class HealthFinding:
    """One finding. `remedy` says what to do, where something is to be done.

    `as_asked`: it is so because the settings of this process ask for it.
    """

    topic: Topic
    level: Level
    sentence: str
    remedy: str | None = None
    as_asked: bool = False

    @property
    def stops_calls(self) -> bool:
        """True if calls of tools fail because of it."""
        return self.level is Level.FAILING and self.topic in _STOPPING

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON."""
        return {
            "topic": self.topic.value,
            "level": self.level.value,
            "sentence": self.sentence,
            "remedy": self.remedy,
        }


def worst(levels: Iterator[Level]) -> Level:
    """Return the worst of the levels; ok if there are none."""
    return max(levels, key=_SEVERITY.index, default=Level.OK)


def unreachable(trouble: Trouble) -> tuple[HealthFinding, ...]:
    """Return the findings on a Redis that does not answer."""
    return (HealthFinding(Topic.REDIS, Level.FAILING, trouble.message, trouble.remedy),)


def judge(vitals: Vitals, expected: Expected) -> tuple[HealthFinding, ...]:
    """Return at least one finding on every topic."""
    return (
        HealthFinding(Topic.REDIS, Level.OK, f"Redis {vitals.redis_version} answers."),
        _writes(vitals.refusal),
        *_memory(vitals.memory),
        *_durability(vitals.durability, expected.fsync),
        *_replicas(vitals, expected.wait_replicas),
        *_clock(vitals.clock, vitals.now, expected.pulse_interval_s),
        _agents(vitals),
        *_platforms(vitals, expected.platforms),
        _schedules(vitals.schedules, vitals.now, expected.pulse_interval_s),
        _lists(vitals.swept, vitals.now),
    )


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
    share = min(1.0, memory.used / memory.limit)
    sentence = f"Redis uses {_size(memory.used)} of {_size(memory.limit)} ({share:.0%})."
    if share < NEARLY_FULL:
        yield HealthFinding(Topic.MEMORY, Level.OK, sentence)
        return
    remedy = "Raise its maxmemory, or finalize runs that are over with a retention so that their documents expire."
    yield HealthFinding(Topic.MEMORY, Level.WARNING, f"{sentence} Full, it refuses every write.", remedy)


def _durability(found: Durability | None, asked: str | None) -> Iterator[HealthFinding]:
    if found is None:
        sentence = "Whether Redis keeps its data on disk is not known: it refuses INFO."
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, _LOOK_UP)
        return
    problems = [*_failed_saves(found), *_lossy(found, asked)]
    yield from problems
    if not problems:
        sentence = f"appendonly is yes and appendfsync is {found.fsync}: nothing acknowledged is lost."
        yield HealthFinding(Topic.DURABILITY, Level.OK, sentence)


def _failed_saves(found: Durability) -> Iterator[HealthFinding]:
    free = "Look at the log of Redis and free disk space."
    if found.log and not found.log_written:
        yield HealthFinding(Topic.DURABILITY, Level.FAILING, "The last write to the append-only file failed.", free)
    if found.log and not found.log_rewritten:
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, "The last rewrite of the append-only file failed.", free)
    if found.snapshots and not found.snapshot_written:
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, "The last snapshot (RDB) failed.", free)


def _lossy(found: Durability, asked: str | None) -> Iterator[HealthFinding]:
    if not found.log:
        kept = f"only its snapshots (save {found.snapshots}) survive" if found.snapshots else "every run is lost"
        if found.snapshots is None:
            kept = "only snapshots survive, if there are any (this user may not read settings),"
        sentence = f"appendonly is no: {kept} when Redis stops."
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, "Set appendonly yes in its configuration.")
        return
    if found.fsync == "always":
        return
    if found.fsync is None:
        sentence = "appendonly is yes; how often it is synced to disk is not known: this user may not read settings."
        yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, _LOOK_UP)
        return
    loss = "a killed redis-server or a power loss may take the last two seconds of work"
    if found.fsync == "no":
        loss = "a killed redis-server or a power loss may take the last half a minute of work, or more"
    if asked not in {None, found.fsync}:
        loss = f"{loss}, though DCF_APPENDFSYNC asks for {asked}"
    sentence = f"appendfsync is {found.fsync}: {loss}."
    where = "Set appendfsync always in its configuration" if asked is None else "Set DCF_APPENDFSYNC=always"
    if asked == "always":
        where = "End every dcf process of this data directory and start them with DCF_APPENDFSYNC=always"
    remedy = f"{where} to lose nothing."
    yield HealthFinding(Topic.DURABILITY, Level.WARNING, sentence, remedy, as_asked=asked == found.fsync)


def _replicas(vitals: Vitals, wanted: int) -> Iterator[HealthFinding]:
    connected = len(vitals.replicas or ())
    there = "a replica is" if connected == 1 else f"{connected} replicas are"
    if vitals.is_replica:
        yield HealthFinding(Topic.REPLICAS, Level.OK, "This server is itself a replica; its primary has the others.")
    elif wanted and not vitals.waits:
        yield HealthFinding(
            Topic.REPLICAS,
            Level.FAILING,
            f"Redis refuses WAIT, so that no change is answered (DCF_WAIT_REPLICAS is {wanted}).",
            "Allow WAIT to the user of REDIS_URL, or set DCF_WAIT_REPLICAS=0 and start dcf again.",
        )
    elif wanted and vitals.refusal is None and (vitals.confirmed or 0) < wanted:
        yield HealthFinding(
            Topic.REPLICAS,
            Level.FAILING,
            f"{vitals.confirmed or 0} of {wanted} replicas confirmed a write in time, so that no change is answered"
            f" (DCF_WAIT_REPLICAS is {wanted}); {there} connected.",
            "Bring the replicas back, or set a smaller DCF_WAIT_REPLICAS and start dcf again.",
        )
    elif vitals.replicas is None:
        known = f"{vitals.confirmed} confirm writes" if wanted else "DCF_WAIT_REPLICAS is 0"
        sentence = f"Which replicas there are is not known: Redis refuses INFO; {known}."
        remedy = None if wanted else "Set DCF_WAIT_REPLICAS=1 if there are any: a failover then takes nothing back."
        yield HealthFinding(Topic.REPLICAS, Level.OK if wanted else Level.WARNING, sentence, remedy)
    elif connected and not wanted:
        yield HealthFinding(
            Topic.REPLICAS,
            Level.WARNING,
            f"{there.capitalize()} there and DCF_WAIT_REPLICAS is 0: a failover may take back what was answered.",
            "Set DCF_WAIT_REPLICAS=1.",
        )
    else:
        behind = max((one.behind for one in vitals.replicas), default=0)
        most = f", at most {behind} bytes behind" if connected else ""
        yield HealthFinding(
            Topic.REPLICAS, Level.OK, f"{there.capitalize()} connected{most}; DCF_WAIT_REPLICAS is {wanted}."
        )
    lagging = [one for one in vitals.replicas or () if not one.online or one.lag_s > _LAGGING_S]
    if lagging:
        sentence = f"{len(lagging)} of {connected} replicas do not keep up (not online, or silent for {_LAGGING_S} s)."
        yield HealthFinding(Topic.REPLICAS, Level.WARNING, sentence, "Look at the logs of the replicas.")


def _clock(found: ClockFacts, now: int, interval_s: float) -> Iterator[HealthFinding]:
    patience_s = max(_LATE_S, 3 * interval_s)
    silent_s = None if found.looked_at is None else max(0, now - found.looked_at) / SECOND
    last = "No clock has ever looked" if silent_s is None else f"The clock looked last {_ago(silent_s)}"
    runs = _runs(found)
    if silent_s is not None and silent_s <= patience_s:
        yield HealthFinding(Topic.CLOCK, Level.OK, f"{last}; {runs} under way.")
    elif found.running:
        sentence = f"{last}, and {runs} under way: no Wait, retry, timeout or reminder happens."
        yield HealthFinding(Topic.CLOCK, Level.FAILING, sentence, "Start dcf serve or dcf pulse, or look at its log.")
    else:
        yield HealthFinding(Topic.CLOCK, Level.OK, f"{last}; no run is under way, so that none is needed.")
    if found.overdue is None or (late_s := (now - found.overdue.since) / SECOND) <= patience_s:
        return
    place = "the deadline" if found.overdue.state is None else f"state {found.overdue.state}"
    sentence = f"The clock is late: {place} of run {found.overdue.workflow_id} was due {_ago(late_s)}."
    remedy = "Look at the log of the clock (dcf serve, dcf pulse); run another dcf pulse if it has too much to do."
    yield HealthFinding(Topic.CLOCK, Level.WARNING, sentence, remedy)


def _runs(found: ClockFacts) -> str:
    if found.running == 1:
        return "1 run is"
    return f"{'at least ' if found.live > found.examined else ''}{found.running} runs are"


def _agents(vitals: Vitals) -> HealthFinding:
    recent = sum(vitals.now - one.at <= RECENT_S * SECOND for one in vitals.seen)
    if recent:
        last = vitals.seen[0]
        more = " at least" if recent == len(vitals.seen) < vitals.seen_count else ""
        agents = "1 agent was" if recent == 1 else f"{recent} agents were"
        ago = _ago(max(0, vitals.now - last.at) / SECOND)
        return HealthFinding(
            Topic.AGENTS, Level.OK, f"{agents} seen in the last ten minutes{more}; the last was {last.agent_id}, {ago}."
        )
    sentence = "No agent was seen in the last ten minutes"
    if not vitals.clock.running:
        return HealthFinding(Topic.AGENTS, Level.OK, f"{sentence}; no run is under way.")
    remedy = "Start the workers of these runs; dcf show RUN tells what a run waits for."
    return HealthFinding(Topic.AGENTS, Level.WARNING, f"{sentence}, and {_runs(vitals.clock)} under way.", remedy)


def _platforms(vitals: Vitals, kinds: tuple[str, ...]) -> Iterator[HealthFinding]:
    """Yield a finding on each platform that this process has, or that any process says does not answer."""
    silent = {one.kind: one for one in vitals.troubled}
    for kind in dict.fromkeys((*kinds, *silent)):
        found = silent.get(kind)
        if found is None:
            sentence = f"No call of the agent platform {kind} went unanswered lately."
            yield HealthFinding(Topic.PLATFORM, Level.OK, sentence)
            continue
        yield HealthFinding(
            Topic.PLATFORM,
            Level.WARNING,
            f"The agent platform {kind} does not answer since {to_text(found.since)[:19]}Z, {found.failures} times in a"
            f" row: {found.error}",
            _REACH.get(kind, "Check that it is up; what is owed is delivered when it answers."),
        )
    if vitals.webhooks.count:
        yield _webhooks(vitals.webhooks)
    elif not kinds and not silent:
        yield HealthFinding(Topic.PLATFORM, Level.OK, "Agents are inboxes in Redis; there is no platform beside it.")


def _webhooks(found: WebhookFacts) -> HealthFinding:
    there = "There is 1 webhook" if found.count == 1 else f"There are {found.count} webhooks"
    if not found.silent:
        return HealthFinding(Topic.PLATFORM, Level.OK, f"{there}; no delivery to one failed several times lately.")
    first = found.silent[0]
    more = "" if len(found.silent) == 1 else f", and {len(found.silent) - 1} more"
    return HealthFinding(
        Topic.PLATFORM,
        Level.WARNING,
        f"{there}; {first.agent_id}{more} did not answer, the first {first.failures} times in a row: {first.error}",
        "dcf agents list shows them; what is owed is delivered when they answer.",
    )


_REACH: Final = {
    "letta": "Check that it is up and that LETTA_BASE_URL names it; what is owed is delivered when it answers."
}
"""What to do about a platform that does not answer."""


def _schedules(found: ScheduleFacts, now: int, interval_s: float) -> HealthFinding:
    there = "There is 1 schedule" if found.count == 1 else f"There are {found.count} schedules"
    late_s = 0.0 if found.overdue is None else (now - found.overdue) / SECOND
    if late_s > max(_LATE_S, 3 * interval_s):
        sentence = f"{there}, and one was due {_ago(late_s)}: no clock starts its runs."
        remedy = "Start dcf serve or dcf pulse, or look at its log."
        return HealthFinding(Topic.SCHEDULES, Level.FAILING, sentence, remedy)
    if not found.troubled:
        well = f"{there}; each could start its latest run." if found.count else "There are no schedules."
        return HealthFinding(Topic.SCHEDULES, Level.OK, well)
    names = ", ".join(found.names) + (", and more" if found.troubled > len(found.names) else "")
    sentence = f"{there}; {found.troubled} stopped or could not start the latest run: {names}."
    return HealthFinding(Topic.SCHEDULES, Level.WARNING, sentence, "dcf schedule show NAME tells why.")


def _lists(found: SweepResult | None, now: int) -> HealthFinding:
    if found is None:
        return HealthFinding(
            Topic.LISTS, Level.OK, "The lists have not been checked yet; a clock does it once an hour."
        )
    age_s = max(0, now - found.at) / SECOND
    if found.trouble is not None:
        sentence = f"The lists could not be checked, so that a run that none has is not found. {found.trouble.message}"
        return HealthFinding(Topic.LISTS, Level.WARNING, sentence, found.trouble.remedy)
    when = f"The lists were checked {_ago(age_s)}"
    if not (found.missing or found.dangling):
        sentence = f"{when}: they name every run, agent and API key, and nothing else."
        if age_s <= _SWEEP_AGE_S:
            return HealthFinding(Topic.LISTS, Level.OK, sentence)
        remedy = "Run dcf doctor, which checks them; a clock (dcf serve, dcf pulse) does it once an hour."
        return HealthFinding(Topic.LISTS, Level.WARNING, sentence, remedy)
    what = f"missing on lists: {_counted(found.missing)}; on lists, but not there: {_counted(found.dangling)}"
    if found.repaired:
        return HealthFinding(Topic.LISTS, Level.OK, f"{when}, and this was mended: {what}.")
    return HealthFinding(
        Topic.LISTS, Level.WARNING, f"{when} and are wrong: {what}.", "dcf doctor --repair mends them."
    )


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in counts.items()) or "nothing"


def _ago(elapsed_s: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if elapsed_s >= 2 * length:
            return f"{int(elapsed_s // length)} {unit} ago"
    return f"{int(elapsed_s)} s ago"


def _size(count: int) -> str:
    for unit, length in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= length:
            return f"{count / length:.1f} {unit}"
    return f"{count} bytes"
