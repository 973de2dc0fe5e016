"""The head of a run's page: its result or status, its progress, the answers it waits for, and related runs."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from dcf.asl.machine import Task
from dcf.core.definitions import needs
from dcf.core.leasing.blockers import word_of
from dcf.features.diagnosis.operations import Explanation
from dcf.runs.views.overview import Glance
from dcf.values.instants import from_text, to_text
from dcf.values.json_text import Json
from dcf.web.run.ending import answers, ending, parked
from dcf.web.run.remedies import is_answered, is_parked
from dcf.web.run.view import RunAddress
from dcf.web.run.words import label, span
from dcf.web.templating import run_link, runs_link

_MAPS_SHOWN: Final = 5
_FINDINGS_SHOWN: Final = 10
_FACTS: Final = (
    *("project", "planner_agent_id", "created_by", "tags", "paused_at", "paused_because", "finalized_at"),
    *("workflow_version", "definition_ref", "budget", "usage"),
)
_ORDER: Final = ("succeeded", "skipped", "failed", "cancelled", "running", "pending")


def header(seen: Glance, why: Explanation, address: RunAddress) -> dict[str, Any]:
    """Return what the templates show above the tabs."""
    meta = seen.meta
    findings = why.as_json()["findings"][:_FINDINGS_SHOWN]
    return {
        "word": word_of(meta),
        "meta": meta,
        "times": _times(seen),
        "progress": _progress(seen),
        "facts": [(name.replace("_", " "), meta[name]) for name in _FACTS if meta.get(name) not in (None, [], "", {})],
        "ending": ending(seen, address),
        "answers": answers(findings, seen.workflow_id),
        "parked": parked(findings, address),
        "why": [_finding(finding, address) for finding in findings if not (is_answered(finding) or is_parked(finding))],
        "is_stuck": why.is_stuck,
        "around": _around(seen),
    }


def _times(seen: Glance) -> list[tuple[str, str, str]]:
    """Return what happened when: what it is called, the words, and the exact time."""
    meta = seen.meta
    created, started, ended = (from_text(meta.get(name)) for name in ("created_at", "started_at", "finished_at"))
    shown = [("created", created), ("started", started), ("ended", ended)]
    times = [(name, f"{span(seen.now - at)} ago", to_text(at)) for name, at in shown if at is not None]
    begin = started if started is not None else created
    if begin is not None:
        end = seen.now if ended is None else ended
        times.append(("duration" if ended is not None else "running for", span(end - begin), ""))
    return times


def _progress(seen: Glance) -> dict[str, Any]:
    """Return how many states there are of each status, and in the bars how many iterations of Maps."""
    counts: Counter[str] = Counter(
        state.doc.status.value for path, state in seen.states.items() if not _is_in_map(seen, path)
    )
    attempts = sum(state.doc.attempts for state in seen.states.values())
    tried = sum(1 for state in seen.states.values() if state.doc.attempts)
    steps = counts + _iterations(seen)
    total, at = sum(counts.values()), 0
    bars: list[dict[str, Any]] = []
    for status in _ORDER:
        if steps[status]:
            width = max(2, 1000 * steps[status] // max(1, sum(steps.values())))
            bars.append({"status": status, "count": steps[status], "x": at, "width": width})
            at += width
    return {
        "bars": bars,
        "total": total,
        "done": sum(counts[status] for status in _ORDER[:4]),
        "attempts": attempts,
        "repeats": attempts - tried,
        "is_whole": seen.is_whole,
        "maps": [
            {"label": label(path), "path": path, "done": share.done, "failed": share.failed, "size": share.size}
            for path, share in list(seen.shares.items())[:_MAPS_SHOWN]
        ],
    }


def _iterations(seen: Glance) -> Counter[str]:
    """Return the iterations of all Maps by how they ended; of those that have not, some may have begun."""
    counter: Counter[str] = Counter()
    for path, share in seen.shares.items():
        is_over = seen.states[path].doc.status.is_terminal
        counter["failed"] += share.failed
        counter["succeeded"] += share.done - share.failed
        counter["cancelled" if is_over else "pending"] += max(0, share.size - share.done)
    return +counter


def _is_in_map(seen: Glance, path: str) -> bool:
    place = needs.place_of(seen.definition, path)
    return place is None or any(owner in seen.shares for owner in place.parents)


def _finding(finding: Mapping[str, Json], address: RunAddress) -> dict[str, Any]:
    state, child = finding.get("state"), (finding.get("evidence") or {}).get("run")
    return {
        **finding,
        "link": None if not isinstance(state, str) else address.to_state(state),
        "child": run_link(child) if isinstance(child, str) else None,
    }


def _around(seen: Glance) -> list[tuple[str, str, str]]:
    """Return the runs that this one belongs to, came from or led to: what they are, the text and the address."""
    meta = seen.meta
    around: list[tuple[str, str, str]] = []
    parent = meta.get("parent")
    if isinstance(parent, dict) and isinstance(parent.get("run"), str):
        state = str(parent.get("state") or "")
        around.append(("started by", f"{parent['run']} in {state}", run_link(parent["run"], state=state)))
    if isinstance(meta.get("rerun_of"), str):
        around.append(("rerun of", str(meta["rerun_of"]), run_link(str(meta["rerun_of"]))))
    around += [
        ("rerun as", rerun, run_link(rerun)) for rerun in (meta.get("reruns") or ())[-3:] if isinstance(rerun, str)
    ]
    if any(_starts_run(seen, path) for path in seen.states):
        around.append(("child runs", "list", runs_link(parent=seen.workflow_id)))
    return around


def _starts_run(seen: Glance, path: str) -> bool:
    place = needs.place_of(seen.definition, path)
    state = None if place is None else place.state
    return isinstance(state, Task) and state.served_by.kind == "child"
