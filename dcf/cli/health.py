"""The report of `dcf doctor` on Redis and on dcf's lists, and the checks made of it."""

import sys
from collections.abc import Iterator, Mapping

from dcf import __version__
from dcf.application import Application
from dcf.errors import StoreUnsuitable
from dcf.runs.sweep import Sweep
from dcf.values.json_text import Json


def health(found: Application, *, repair: bool = False) -> dict[str, Json]:
    """Read the state of Redis and check dcf's lists; repair the lists if asked."""
    return {
        "dcf": __version__,
        "python": sys.version.split()[0],
        "redis": "REDIS_URL" if found.settings.redis_url is not None else f"embedded in {found.settings.data_dir}",
        "redis_version": found.server.version,
        "modules": list(found.server.modules),
        "appendonly": found.server.appendonly,
        "appendfsync": found.server.appendfsync,
        "maxmemory_policy": found.server.maxmemory_policy,
        "live_runs": found.runs.live_count(),
        "lists": _lists(found.sweep, repair=repair),
    }


def checks(report: Mapping[str, Json]) -> Iterator[tuple[bool, str]]:
    """Evaluate the report: yield for each check whether it passed, and a sentence."""
    embedded = report["redis"] != "REDIS_URL"
    where = f"is {report['redis']}" if embedded else "is the one REDIS_URL names"
    yield True, f"dcf {report['dcf']} runs on Python {report['python']}."
    yield True, f"Redis {report['redis_version']} answers and {where}."
    yield True, f"Its modules are {', '.join(report['modules'])}; ReJSON, which dcf needs, is among them."
    yield _durability(report, embedded=embedded)
    yield _eviction(report["maxmemory_policy"])
    yield True, f"Runs that the clock looks at: {report['live_runs']}."
    yield _listing(report["lists"])


def _durability(report: Mapping[str, Json], *, embedded: bool) -> tuple[bool, str]:
    fsync = report["appendfsync"]
    if not report["appendonly"]:
        return False, "appendonly is no: every run is lost when Redis stops. Set appendonly yes in its configuration."
    if fsync == "always":
        return (
            True,
            "appendonly is yes and appendfsync is always: nothing acknowledged is lost.",
        )
    if fsync is None:
        return True, "appendonly is yes; this user may not ask how often it is synced to disk."
    remedy = "Set DCF_APPENDFSYNC=always" if embedded else "Set appendfsync always in its configuration"
    what = "a killed redis-server or a power loss may take the last two seconds of work"
    return False, f"appendfsync is {fsync}: {what}. {remedy} to lose nothing."


def _eviction(policy: str) -> tuple[bool, str]:
    if policy == "noeviction":
        return True, "maxmemory-policy is noeviction: Redis drops nothing by itself."
    remedy = "Set maxmemory-policy noeviction in its configuration."
    return False, f"maxmemory-policy is {policy}: Redis may drop documents of a run when memory is short. {remedy}"


def _lists(sweep: Sweep, *, repair: bool) -> dict[str, Json] | None:
    """Count the names missing from the lists, and those of nothing; None if this Redis user may not see all keys."""
    try:
        report = sweep.look(repair=repair)
    except StoreUnsuitable:
        return None
    return {"missing": dict(report.missing), "dangling": dict(report.dangling), "repaired": repair}


def _listing(found: Mapping[str, Json] | None) -> tuple[bool, str]:
    if found is None:
        remedy = "Grant it as deploy/redis/users.acl does."
        return False, f"This Redis user may not SCAN, so a run that no list has cannot be found. {remedy}"
    if not found["missing"] and not found["dangling"]:
        return True, "The lists name every run, agent and API key, and nothing else."
    missing, dangling = _counted(found["missing"]), _counted(found["dangling"])
    what = f"missing on lists: {missing}; on lists, but not there: {dangling}"
    if found["repaired"]:
        return True, f"This was mended: {what}."
    return False, f"Lists are wrong: {what}. dcf doctor --repair mends them."


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind.replace('_', ' ')} {count}" for kind, count in counts.items()) or "nothing"
