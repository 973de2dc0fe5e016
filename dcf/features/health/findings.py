"""The parts of a health report: findings, each on one topic, with a level, a sentence and a remedy. Pure.

It must not judge: `judging` and `server` make the findings.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from dcf.values.record_json.codec import json_method
from dcf.values.records import record


class Level(StrEnum):
    """How bad it is. `failing`: something that dcf promises does not happen now."""

    OK = "ok"
    WARNING = "warning"
    FAILING = "failing"


class Topic(StrEnum):
    """The subject of a finding."""

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


_STOPPING: Final = frozenset({Topic.REDIS, Topic.WRITES, Topic.REPLICAS})
"""Topics whose failure makes calls of tools fail."""

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

    as_json = json_method("topic level sentence remedy")


def worst(levels: Iterator[Level]) -> Level:
    """Return the worst of the levels; ok if there are none."""
    return max(levels, key=_SEVERITY.index, default=Level.OK)
