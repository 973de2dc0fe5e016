"""The panel of the chosen state on a run's page: all its data, long values cut with a link to the whole."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.asl.state_paths import ancestors
from dcf.core.documents.model import Status
from dcf.features.gates.model import submission_of
from dcf.features.questions import asking
from dcf.runs.views.overview import Glance
from dcf.runs.views.status import StateView
from dcf.values.instants import to_text
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.web.run.state_details import Closeup, closeup
from dcf.web.run.view import RunAddress, artifact_link, value_link
from dcf.web.run.words import holding, label, span, took
from dcf.web.templating import run_link, runs_link
from dcf.web.visit import Visit

_QUESTIONS: Final = 20
_VERDICTS: Final = 20
_ARTIFACTS: Final = 20
_TIMES: Final = ("started_at", "finished_at", "not_before", "deadline")


def panel(visit: Visit, seen: Glance, address: RunAddress) -> dict[str, Any] | None:
    """Return what the panel shows; None where no state is chosen."""
    if address.state is None:
        return None
    has_usage = "usage" in seen.meta
    details = closeup(visit.application, seen.definition, seen.workflow_id, address.state, has_usage=has_usage)
    view = details.view
    return {
        "path": details.path,
        "doc": None if view is None else view.as_json(),
        "label": label(details.path),
        "kind": details.kind,
        "status": None if view is None else view.doc.status.value,
        "facts": [] if view is None else list(_facts(view, details)),
        "error": None if view is None else view.doc.last_error,
        "is_over": view is not None and view.doc.status.is_terminal and view.doc.status is not Status.FAILED,
        "inside": address.inside(details.path) if view is not None and view.doc.scope is not None else None,
        "around": _around(details, address),
        "documents": _documents(details, address),
        "brief": details.brief,
        "skills": list(details.brief.skills),
        "gates": _gates(details),
        "verdicts": [verdict.as_json() for verdict in reversed(details.gates.verdicts[-_VERDICTS:])],
        "questions": [asking.shown(question) for question in details.questions[-_QUESTIONS:]],
        "notified": _notified(details),
        "entries": [entry.as_json() for entry in details.entries],
        "artifacts": [
            {**artifact.as_json(), "link": artifact_link(seen.workflow_id, artifact.artifact_id)}
            for artifact in details.artifacts[:_ARTIFACTS]
        ],
        "usage": details.usage,
        "child": None if details.child is None else (details.child, run_link(details.child)),
        "children": None if details.child is None else runs_link(parent=seen.workflow_id),
        "events": run_link(seen.workflow_id, tab="events", state=details.path),
        "closed": address.to_state(None),
    }


def _facts(view: StateView, details: Closeup) -> Iterator[tuple[str, Json]]:
    """Yield what is to be said of a state, each with its name; what is not known is left out."""
    doc, time = view.doc, took(view, details.now)
    waiting = [name for name, epoch in doc.waits_for.items() if not epoch]
    tally = "" if view.tally is None or doc.scope is None else f"{view.tally.done} of {doc.scope.size} ended"
    facts: tuple[tuple[str, Json], ...] = (
        ("source", details.source),
        ("now", holding(view, details.now)),
        ("assigned to", ", ".join(view.agents)),
        ("attempts", doc.attempts),
        ("retries", doc.retries),
        ("took" if doc.finished_at is not None else "working for", "" if time is None else span(time)),
        *((name.removesuffix("_at").replace("_", " "), _utc(getattr(doc, name))) for name in _TIMES),
        ("timeout", doc.timeout_s and f"{doc.timeout_s} s"),
        ("heartbeat", doc.heartbeat_s and f"{doc.heartbeat_s} s"),
        ("iterations", tally and f"{tally}, {view.tally.failed if view.tally else 0} failed"),
        ("waits for", ", ".join(waiting)),
    )
    return ((name, value) for name, value in facts if value)


def _utc(at: int | None) -> str:
    return "" if at is None else f"{to_text(at)[:19].replace('T', ' ')} UTC"


def _around(details: Closeup, address: RunAddress) -> list[tuple[str, str]]:
    """Return the Parallel and Map states around it, with their addresses."""
    return [(label(owner), address.inside(owner)) for owner in ancestors(details.path)]


def _documents(details: Closeup, address: RunAddress) -> list[dict[str, Any]]:
    view = details.view
    if view is None:
        return []
    values = (("input", view.given), ("output", view.output))
    return [
        {"name": name, "value": value, "link": value_link(address.workflow_id, name, details.path)}
        for name, value in values
        if value is not MISSING
    ]


def _gates(details: Closeup) -> list[dict[str, Json]]:
    """Return the gates of a state, each with how it stands for the output that was submitted."""
    doc = None if details.view is None else details.view.doc
    submission = None if doc is None else submission_of(doc)
    shown: list[dict[str, Json]] = []
    for gate in details.brief.gates:
        is_open = submission is not None and submission.gate(gate.name) is not None
        verdict = next(
            (verdict.verdict for verdict in reversed(details.gates.verdicts) if verdict.gate == gate.name), None
        )
        waived = gate.name in details.gates.waived
        standing = "waits for its verdict" if is_open else "waived" if waived else verdict or "not asked yet"
        shown.append({"name": gate.name, "standing": standing, "failed": details.gates.attempts.get(gate.name, 0)})
    return shown


def _notified(details: Closeup) -> Mapping[str, Json] | None:
    """Return the notifications of the agents of a state in this visit."""
    if details.view is None:
        return None
    epoch = details.view.doc.lease.epoch
    sent, trouble, times = details.told.sent, details.told.trouble(epoch), details.told.times(epoch)
    if not times:
        return None
    return {
        "times": times,
        "agent": None if sent is None else sent.agent_id,
        "at": None if sent is None else to_text(sent.at),
        "trouble": None if trouble is None else f"{trouble.agent_id}: {trouble.reason} {trouble.error}",
    }
