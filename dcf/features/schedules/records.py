"""The answers about schedules. Loads the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias

from dcf.values.json_text import Json

OverlapName: TypeAlias = Literal["skip", "queue", "allow"]
CatchUpName: TypeAlias = Literal["none", "one", "all"]
ScheduleActionName: TypeAlias = Literal["pause", "resume", "trigger"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TickOutcome:
    """The outcome of one or `count` scheduled times, `tick` to `last`: `started` (the run), `skipped`, `failed`."""

    outcome: str
    at: datetime
    tick: datetime | None = None
    last: datetime | None = None
    count: int = 1
    run: str | None = None
    why: str | None = None
    told: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubledSchedule:
    """Why a schedule does not start its runs, and what to do."""

    code: str
    message: str
    hint: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleDetails:
    """A schedule: when it starts what, its next tick, and how many ticks had which outcome.

    A list leaves out the fields after `trouble`; a schedule that is asked for by its name has them.
    """

    name: str
    status: str
    workflow: str
    project: str | None = None
    cron: str | None = None
    timezone: str | None = None
    every_s: int | None = None
    overlap: OverlapName = "skip"
    catch_up: CatchUpName = "none"
    jitter_s: int = 0
    next_at: datetime | None = None
    started: int = 0
    skipped: int = 0
    failed: int = 0
    latest_run: str | None = None
    trouble: TroubledSchedule | None = None
    input: Json = None
    agents: Mapping[str, list[str]] = field(default_factory=dict)
    tags: tuple[str, ...] = ()
    planner_agent_id: str | None = None
    expiry_secs: int | None = None
    created_at: datetime | None = None
    created_by: str | None = None
    paused_at: datetime | None = None
    starting: str | None = None
    waiting: tuple[str, ...] = ()
    history: tuple[TickOutcome, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreatedSchedule:
    """A schedule that is there now; `existed`: an earlier call with the same arguments made it."""

    schedule: ScheduleDetails
    existed: bool = False
    warnings: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSchedules:
    """A page of schedules, or the one that was asked for; `next_cursor` is null at the end."""

    schedules: tuple[ScheduleDetails, ...] = ()
    next_cursor: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatedSchedule:
    """A schedule that was paused, resumed or triggered; `workflow_id` is the run that a trigger started.

    `existed`: an earlier call with this request_id started it.
    """

    schedule: ScheduleDetails
    workflow_id: str | None = None
    existed: bool | None = None
    warnings: tuple[str, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedSchedule:
    """A schedule that is gone; `existed` is False if it was gone before."""

    existed: bool
    hint: str | None = None
