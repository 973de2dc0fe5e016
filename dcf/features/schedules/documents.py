"""Reads and writes the stored document of a schedule. Pure."""

from collections.abc import Mapping
from dataclasses import asdict

from dcf.features.schedules.model import CatchUp, Intent, Overlap, Schedule, ScheduleTrouble, TickRecord
from dcf.features.schedules.timing import Cron, Every, Timing
from dcf.values.json_text import Json


def write_schedule(found: Schedule) -> dict[str, Json]:
    """Write the stored document of a schedule."""
    timing = found.timing
    return {
        **{name: getattr(found, name) for name in _PLAIN},
        "timing": asdict(timing),
        "agents": {state: list(pool) for state, pool in found.agents.items()},
        "tags": list(found.tags),
        "overlap": str(found.overlap),
        "catch_up": str(found.catch_up),
        "stopped": _written(found.stopped),
        "trouble": _written(found.trouble),
        "waiting": list(found.waiting),
        "starting": _written(found.starting),
        "runs": list(found.runs),
        "project": found.project,
        "records": [{k: v for k, v in asdict(one).items() if v is not None} for one in found.records],
    }


def read_schedule(document: Mapping[str, Json]) -> Schedule:
    """Read what `write_schedule` wrote."""
    starting = document["starting"]
    return Schedule(
        **{name: document[name] for name in _PLAIN},
        timing=_timing(document["timing"]),
        agents={state: tuple(pool) for state, pool in document["agents"].items()},
        tags=tuple(document["tags"]),
        overlap=Overlap(document["overlap"]),
        catch_up=CatchUp(document["catch_up"]),
        stopped=_trouble(document["stopped"]),
        trouble=_trouble(document["trouble"]),
        waiting=tuple(document["waiting"]),
        starting=None if starting is None else Intent(**{**starting, "trouble": _trouble(starting["trouble"])}),
        runs=tuple(document["runs"]),
        records=tuple(TickRecord(**one) for one in document["records"]),
        project=document.get("project"),  # schedules of older versions have none
    )


_PLAIN = (
    *("name", "generation", "workflow", "run_input", "planner_agent_id", "retention_s", "jitter_s", "created_at"),
    *("created_by", "next_at", "seen_at", "paused_at", "started", "skipped", "failed"),
)
"""Fields that are stored as they are."""


def _timing(found: Mapping[str, Json]) -> Timing:
    return Cron(**found) if "text" in found else Every(**found)


def _trouble(found: Mapping[str, Json] | None) -> ScheduleTrouble | None:
    return None if found is None else ScheduleTrouble(**found)


def _written(found: Intent | ScheduleTrouble | None) -> dict[str, Json] | None:
    return None if found is None else asdict(found)
