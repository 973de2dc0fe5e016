"""What the commands that only look read, as JSON documents."""

import sys
import time
from collections.abc import Iterator, Mapping

from dcf import __version__
from dcf.application import Application
from dcf.cli.insides import pick
from dcf.core import needs
from dcf.core.decision import Reads, Tally
from dcf.core.definition import Definition
from dcf.core.inspection import is_ready, public_state
from dcf.core.scopes import fenced, with_scopes
from dcf.errors import NotFound, StoreUnsuitable
from dcf.store.history import Happening
from dcf.values.json_text import Json

_FOLLOW_S = 0.2
EACH = 10
"""Open branches or iterations that are shown of each Parallel or Map."""

MOST = 200
"""Open states inside Parallel and Map that are shown at all."""

MOST_FOR_PROGRAMS = 2_000


def run_rows(found: Application, limit: int) -> list[dict[str, Json]]:
    """Read one line for each run, newest first; index entries without a run are left out."""
    rows = (_run_row(found, workflow_id) for workflow_id in found.control_plane.index.newest(limit))
    return [row for row in rows if row is not None]


def run_document(found: Application, workflow_id: str, *, each: int = EACH, most: int = MOST) -> dict[str, Json]:
    """Read a run with the states of its workflow and what is open inside them, lease tokens hidden.

    Of each Parallel and Map `each` open branches or iterations are read, and at most `most` states inside; `more` says
    how many are left out where. Parallel and Map have a `tally` of what has ended inside.
    """
    plane = found.control_plane
    meta = plane.read(workflow_id, ())
    definition = plane.run(workflow_id).definition
    inside = (path for path in plane.store.open_states(workflow_id) if needs.place_of(definition, path) is not None)
    picked = pick(inside, each=each, most=most)
    shown = (*definition.paths, *picked.paths)
    scopes = tuple(path for path in shown if _is_scope(definition, path))
    reads = Reads(states=with_scopes(shown), outputs=definition.paths, tallies=scopes)
    snapshot = fenced(plane.store.read(workflow_id, reads))
    assert meta.meta is not None, "read() raises for a run that does not exist"
    docs = {path: snapshot.states[path] for path in shown if path in snapshot.states}
    states = {
        path: public_state(doc)
        | {"ready": is_ready(meta.meta, doc, snapshot.now)}
        | ({"tally": _tally(snapshot.tallies[path])} if doc.scope is not None else {})
        for path, doc in docs.items()
        if "/" not in path or not doc.status.is_terminal
    }
    document = dict(meta.meta_document or {})
    return {"meta": document, "states": states, "outputs": dict(snapshot.outputs), "more": dict(picked.more)}


def happenings(found: Application, workflow_id: str, *, follow: bool) -> Iterator[Happening]:
    """Read the history page by page; to follow it ends when nothing is left after the run was seen to be over."""
    last = "0"
    while True:
        meta = found.control_plane.read(workflow_id, ()).meta_document or {}
        page = found.history.after(workflow_id, last)
        for happening in page:
            last = happening.event_id
            yield happening
        if not page and not (follow and meta.get("status") == "running"):
            return
        if not page:
            time.sleep(_FOLLOW_S)


def health(found: Application) -> dict[str, Json]:
    """Read what dcf runs on."""
    return {
        "dcf": __version__,
        "python": sys.version.split()[0],
        "redis": "REDIS_URL" if found.settings.redis_url is not None else f"embedded in {found.settings.data_dir}",
        "redis_version": found.server.version,
        "modules": list(found.server.modules),
        "appendonly": found.server.appendonly,
        "appendfsync": found.server.appendfsync,
        "maxmemory_policy": found.server.maxmemory_policy,
        "live_runs": len(found.control_plane.index.live()),
    }


def checks(report: Mapping[str, Json]) -> Iterator[tuple[bool, str]]:
    """Judge the report: for each check whether it is fine, and a sentence."""
    embedded = report["redis"] != "REDIS_URL"
    where = f"is {report['redis']}" if embedded else "is the one REDIS_URL names"
    yield True, f"dcf {report['dcf']} runs on Python {report['python']}."
    yield True, f"Redis {report['redis_version']} answers and {where}."
    yield True, f"Its modules are {', '.join(report['modules'])}; ReJSON, which dcf needs, is among them."
    yield _durability(report, embedded=embedded)
    yield _eviction(report["maxmemory_policy"])
    yield True, f"Runs that the clock looks at: {report['live_runs']}."


def _durability(report: Mapping[str, Json], *, embedded: bool) -> tuple[bool, str]:
    fsync = report["appendfsync"]
    if not report["appendonly"]:
        return False, "appendonly is no: every run is lost when Redis stops. Set appendonly yes in its configuration."
    if fsync == "always":
        return True, "appendonly is yes and appendfsync is always: what was acknowledged survives a power loss."
    if fsync is None:
        return True, "appendonly is yes; this user may not ask how often it is synced to disk."
    remedy = "Set DCF_APPENDFSYNC=always" if embedded else "Set appendfsync always in its configuration"
    return False, f"appendfsync is {fsync}: a power loss may take the last second of work. {remedy} to survive it."


def _eviction(policy: str) -> tuple[bool, str]:
    if policy == "noeviction":
        return True, "maxmemory-policy is noeviction: Redis drops nothing by itself."
    remedy = "Set maxmemory-policy noeviction in its configuration."
    return False, f"maxmemory-policy is {policy}: Redis may drop documents of a run when memory is short. {remedy}"


def _run_row(found: Application, workflow_id: str) -> dict[str, Json] | None:
    """Read one line of the list; a run whose keys were damaged by hand must not hide the others.

    Only the states of the workflow itself are counted: how many there are inside a Map nobody knows before.
    """
    plane = found.control_plane
    try:
        paths = plane.run(workflow_id).definition.paths
        snapshot = plane.store.read(workflow_id, Reads(states=paths, whole_meta=True))
    except NotFound:
        return None
    except StoreUnsuitable:
        return _row(workflow_id, {"status": "unreadable"}, done=0, states=0)
    done = sum(doc.status.is_terminal for doc in snapshot.states.values())
    return _row(workflow_id, snapshot.meta_document or {}, done=done, states=len(snapshot.states))


def _is_scope(definition: Definition, path: str) -> bool:
    place = needs.place_of(definition, path)
    return place is not None and place.state.is_scope


def _tally(tally: Tally) -> dict[str, Json]:
    return {"done": tally.done, "failed": tally.failed}


def _row(workflow_id: str, meta: Mapping[str, Json], *, done: int, states: int) -> dict[str, Json]:
    return {
        "workflow_id": workflow_id,
        "workflow_name": meta.get("workflow_name"),
        "status": meta.get("status"),
        "states_done": done,
        "states": states,
        "created_at": meta.get("created_at"),
        "finished_at": meta.get("finished_at"),
    }
