"""The document of a schedule: when it ticks, what it starts, and the outcomes of its latest ticks. Pure.

`features/schedules/ticking.py` decides what is done at a tick. A schedule's `generation` is drawn at its creation and
never shown. The ids of its runs follow from it, so no caller can take one before its tick. A new schedule under an old
name has other runs.
"""

import base64
import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Final

from dcf.core.lifecycle.starting import MOST_TAGS, check_tags, read_reference
from dcf.errors import InvalidArgument, TooLarge
from dcf.features.schedules.timing import Cron, Every, Timing, read_cron, read_every
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import Json, byte_length
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import fields_of, record

MOST_SCHEDULES: Final = 1000
"""Schedules of one Redis."""

MOST_OF_ONE: Final = 100
"""Schedules that one key created."""

MOST_INPUT: Final = 64 * 1024
"""Bytes of the input that a schedule gives each of its runs."""

MOST_RECORDS: Final = 50
"""Latest ticks that a schedule lists."""

MOST_JITTER_S: Final = 3600
NAME_PATTERN: Final = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,53}$"
_NAME: Final = re.compile(NAME_PATTERN.replace("$", r"\Z"), re.ASCII)
_LONGEST_SLUG: Final = 30
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


class Overlap(StrEnum):
    """The effect of a tick while a run of the schedule is running: nothing, wait for its end, or start another."""

    SKIP = "skip"
    QUEUE = "queue"
    ALLOW = "allow"


class CatchUp(StrEnum):
    """The effect of missed ticks: no run, one run for all, or one for each of the latest hundred."""

    NONE = "none"
    ONE = "one"
    ALL = "all"


@record(frozen=True, slots=True, kw_only=True)
class ScheduleTrouble:
    """Why a schedule did not start its run: a code, a sentence, and what to do."""

    code: str
    message: str
    hint: str
    at: int

    as_json = json_method(times="at")


@record(frozen=True, slots=True, kw_only=True)
class TickRecord:
    """The outcome of a scheduled time, or of `count` ticks in a row from `tick` to `last`.

    `outcome` is started, skipped, failed or, where a person did something, the verb; `why` is a code, `told` words.
    """

    outcome: str
    at: int
    tick: int | None = None
    last: int | None = None
    count: int = 1
    run: str | None = None
    why: str | None = None
    told: str | None = None

    as_json = json_method("outcome tick last count run why told at", times="tick last at", left_out="defaults")


@record(frozen=True, slots=True, kw_only=True)
class Intent:
    """A start under way: of this tick, by `holder` (drawn for it), between `at` and `until` of the server's time.

    `tries` counts the processes that have taken it up; `trouble` is why the latest try was put off.
    """

    tick: int
    holder: str
    at: int
    until: int
    tries: int = 1
    trouble: ScheduleTrouble | None = None


@record(frozen=True, slots=True, kw_only=True)
class ScheduleTerms:
    """The workflow that a schedule starts, its agents, and the effects of overlapping runs and missed ticks."""

    name: str
    workflow: str
    run_input: Json = None
    agents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    planner_agent_id: str | None = None
    retention_s: int | None = None
    overlap: Overlap = Overlap.SKIP
    catch_up: CatchUp = CatchUp.NONE
    jitter_s: int = 0
    created_by: str
    project: str | None = None


@record(frozen=True, slots=True, kw_only=True)
class Schedule(ScheduleTerms):
    """A schedule. `next_at` is its next tick, `waiting` are ticks whose runs are to be started, oldest first.

    `runs` are its runs that may be running, the latest last. `seen_at` is the server's time of the latest change.
    """

    generation: str
    timing: Timing
    created_at: int
    next_at: int | None
    seen_at: int
    paused_at: int | None = None
    stopped: ScheduleTrouble | None = None
    trouble: ScheduleTrouble | None = None
    waiting: tuple[int, ...] = ()
    starting: Intent | None = None
    runs: tuple[str, ...] = ()
    started: int = 0
    skipped: int = 0
    failed: int = 0
    records: tuple[TickRecord, ...] = ()

    @property
    def tag(self) -> str:
        """The tag of all its runs."""
        return tag_of(self.name)

    @property
    def is_troubled(self) -> bool:
        """True if it is stopped, or its latest start failed or was put off."""
        put_off = self.starting is not None and self.starting.trouble is not None
        return self.stopped is not None or self.trouble is not None or put_off

    @property
    def status(self) -> str:
        """Active, paused or stopped."""
        if self.stopped is not None:
            return "stopped"
        return "active" if self.paused_at is None else "paused"

    def run_at(self, tick: int) -> str:
        """Return the id of the run of a tick: the same in every process."""
        return self._run(str(tick), tick)

    def run_for(self, request_id: str, at: int) -> str:
        """Return the id of a run that is started out of turn; the same for the same request."""
        return self._run(f"trigger {request_id}", at, when="manual")

    def delay_of(self, tick: int) -> int:
        """Return the microseconds by which this tick is put off, between 0 and the jitter."""
        if not self.jitter_s:
            return 0
        drawn = hashlib.sha256(f"{self.generation}\n{tick}".encode()).digest()
        return int.from_bytes(drawn[:6]) % (self.jitter_s * SECOND)

    def noting(self, record: TickRecord) -> "Schedule":
        """Return it with one more record. Ticks skipped in a row for the same reason are one record."""
        before = self.records[-1] if self.records else None
        records = self.records
        if record.outcome == "skipped" and before is not None and _is_alike(before, record):
            last = record.tick if record.last is None else record.last
            record = replace(record, tick=before.tick, last=last, count=before.count + record.count)
            records = records[:-1]
        return replace(self, records=(*records, record)[-MOST_RECORDS:])

    def _run(self, seed: str, at: int, when: str | None = None) -> str:
        slug = re.sub(r"[^A-Za-z0-9]+", "-", self.name).strip("-").lower()[:_LONGEST_SLUG].strip("-")
        moment = when or f"{_EPOCH + timedelta(seconds=at // SECOND):%Y%m%dT%H%M%SZ}"
        drawn = hashlib.sha256(f"{self.name}\n{self.generation}\n{seed}".encode()).digest()
        return f"{slug}-{moment}-{base64.b32encode(drawn)[:10].decode().lower()}"


@record(frozen=True, slots=True, kw_only=True)
class ScheduleWish(ScheduleTerms):
    """Request to create a schedule: by a cron expression in a time zone, or every so many seconds."""

    cron: str | None = None
    timezone: str | None = None
    every_s: int | None = None

    def timing(self, now: int) -> Timing:
        """Return when it ticks, counted from now on; raise InvalidArgument where that is not clear."""
        if (self.cron is None) == (self.every_s is None):
            raise InvalidArgument(
                "A schedule ticks by a cron expression or every so many seconds: give one of both.",
                "For example cron '0 7 * * 1-5' with a timezone, or `every_s` 900.",
            )
        if self.every_s is None:
            return read_cron(self.cron or "", self.timezone)
        if self.timezone is not None:
            raise InvalidArgument("A time zone belongs to a cron expression.", "Leave out timezone, or give cron.")
        return read_every(self.every_s, now)


def new_schedule(wish: ScheduleWish, now: int, generation: str) -> Schedule:
    """Return the schedule that was wished for; raise InvalidArgument beyond the limits."""
    timing = wish.timing(now)
    check_schedule_name(wish.name)
    read_reference(wish.workflow)
    if byte_length(wish.run_input) > MOST_INPUT:
        raise TooLarge(f"The input of a schedule has at most {MOST_INPUT} bytes.", "Store it elsewhere; refer to it.")
    tags = check_tags(wish.tags)
    if len(tags) >= MOST_TAGS:
        raise InvalidArgument(f"A schedule has at most {MOST_TAGS - 1} tags in addition to its own.", "Leave some out.")
    if not 0 <= wish.jitter_s <= MOST_JITTER_S:
        raise InvalidArgument(f"The jitter is between 0 and {MOST_JITTER_S} seconds.", "Choose a shorter one.")
    if isinstance(timing, Every) and wish.jitter_s >= timing.seconds:
        raise InvalidArgument("The jitter must be shorter than the time between two ticks.", "Choose a shorter one.")
    return Schedule(
        **fields_of(ScheduleTerms, replace(wish, tags=tags)),
        generation=generation,
        timing=timing,
        created_at=now,
        next_at=timing.after(now),
        seen_at=now,
    )


def tag_of(name: str) -> str:
    """Return the tag that the runs of a schedule have."""
    return f"schedule:{name}"


def check_schedule_name(name: str) -> str:
    """Return the name of a schedule; raise InvalidArgument where it is none."""
    if not _NAME.match(name):
        raise InvalidArgument(
            "The name of the schedule is not valid.",
            "Use 1 to 54 letters, digits, '_', '.' or '-', beginning with a letter or digit.",
        )
    return name


def is_same(schedule: Schedule, other: Schedule) -> bool:
    """Return True if two schedules were asked for with the same arguments, by the same caller."""
    timings = [item.timing if isinstance(item.timing, Cron) else item.timing.seconds for item in (schedule, other)]
    return timings[0] == timings[1] and fields_of(ScheduleTerms, schedule) == fields_of(ScheduleTerms, other)


def shown(schedule: Schedule) -> dict[str, Json]:
    """Return a schedule as callers see it."""
    return {
        **summary(schedule),
        "input": schedule.run_input,
        "agents": {state: list(pool) for state, pool in schedule.agents.items()},
        "tags": [*schedule.tags, schedule.tag],
        "planner_agent_id": schedule.planner_agent_id,
        "expiry_secs": schedule.retention_s,
        "created_at": to_text(schedule.created_at),
        "created_by": schedule.created_by,
        "paused_at": None if schedule.paused_at is None else to_text(schedule.paused_at),
        "starting": None if schedule.starting is None else to_text(schedule.starting.tick),
        "waiting": [to_text(tick) for tick in schedule.waiting],
        "history": [record.as_json() for record in reversed(schedule.records)],
    }


def summary(schedule: Schedule) -> dict[str, Json]:
    """Return what a list shows of a schedule. `trouble` is why it is stopped, or does not start its runs."""
    put_off = None if schedule.starting is None else schedule.starting.trouble
    trouble = schedule.stopped or put_off or schedule.trouble
    return {
        "name": schedule.name,
        "status": schedule.status,
        **_timing_json(schedule.timing),
        "workflow": schedule.workflow,
        "project": schedule.project,
        "overlap": str(schedule.overlap),
        "catch_up": str(schedule.catch_up),
        "jitter_s": schedule.jitter_s,
        "next_at": None if schedule.next_at is None or schedule.status != "active" else to_text(schedule.next_at),
        "started": schedule.started,
        "skipped": schedule.skipped,
        "failed": schedule.failed,
        "latest_run": schedule.runs[-1] if schedule.runs else None,
        "trouble": None if trouble is None else trouble.as_json(),
    }


def _timing_json(timing: Timing) -> dict[str, Json]:
    if isinstance(timing, Every):
        return {"every_s": timing.seconds}
    return {"cron": timing.text, "timezone": timing.timezone}


def _is_alike(record: TickRecord, other: TickRecord) -> bool:
    return (record.outcome, record.why, record.run) == (other.outcome, other.why, other.run)


class _TimingCodec:
    """Writes and reads when a schedule ticks; the members tell which kind of timing it is."""

    write = staticmethod(asdict)

    @staticmethod
    def read(document: Mapping[str, Json]) -> Timing:
        return Cron(**document) if "text" in document else Every(**document)


_SCHEDULE: Final = RecordCodec(
    Schedule,
    "name generation workflow run_input planner_agent_id retention_s jitter_s created_at created_by next_at seen_at "
    "paused_at started skipped failed timing agents tags overlap catch_up stopped trouble waiting starting runs "
    "project records",
    codecs={"timing": _TimingCodec, "records": RecordCodec(TickRecord, left_out="none", strict=True)},
    strict=True,
    added="project tries",
)

write_schedule: Final = _SCHEDULE.write
"""Write the stored document of a schedule."""

read_schedule: Final = _SCHEDULE.read
"""Read what `write_schedule` wrote."""
