"""Says in words how a state stands, and how long things took, for the page of a run. Pure."""

from collections.abc import Mapping
from typing import Final

from dcf.asl.state_paths import ancestors, name_of, split, split_scope
from dcf.core.documents.model import Status
from dcf.features.people.keys import open_questions
from dcf.runs.views.status import StateView
from dcf.values.instants import SECOND

_MINUTE: Final = 60 * SECOND
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
_THOUSANDTH: Final = 1_000
_FEW: Final = 10 * _THOUSANDTH

_NAMED: Final = 3

_AWAITED: Final[Mapping[str, str]] = {
    "Callback": "waits for a callback",
    "Human": "waits for a person",
    "Signal": "waits for a signal",
    "Child": "waits for its child run",
    "Gate": "waits for a verdict",
    "Wait": "waits for its time",
}


def span(micros: int) -> str:
    """Return a duration as people read it, in at most two units."""
    if 0 < micros < _FEW:
        return f"{micros / _THOUSANDTH:.1f} ms"
    if micros < SECOND:
        return f"{max(0, micros) // _THOUSANDTH} ms"
    if micros < _MINUTE:
        return f"{micros / SECOND:.1f} s"
    if micros < _HOUR:
        return f"{micros // _MINUTE} min {micros % _MINUTE // SECOND:02d} s"
    if micros < _DAY:
        return f"{micros // _HOUR} h {micros % _HOUR // _MINUTE:02d} min"
    return f"{micros // _DAY} d {micros % _DAY // _HOUR:02d} h"


def label(path: str) -> str:
    """Return the name of a state, behind the branches and iterations that it is in."""
    if "/" not in path:
        return name_of(path)
    around = [f"{name_of(owner)} {split_scope(split(inner)[0])[1]}" for owner, inner in _chain(path)]
    return " / ".join((*around, name_of(path)))


def took(view: StateView, now: int) -> int | None:
    """Return how long a state took, or has been worked on until now; None if that is not known."""
    doc = view.doc
    if doc.started_at is None or (doc.finished_at is None and doc.status is not Status.RUNNING):
        return None
    return max(0, (now if doc.finished_at is None else doc.finished_at) - doc.started_at)


def holding(view: StateView, now: int) -> str:
    """Return who holds the lease of a state and for how long, or what else is known of what it waits for."""
    doc = view.doc
    if doc.status.is_terminal:
        return ""
    if doc.lease.token is not None and doc.lease.owner_agent_id is not None:
        return f"{_held(view, now)}{_left(view, now)}"
    if doc.waits_outside or doc.kind == "Wait":
        return _AWAITED.get(str(doc.kind), "waits")
    if open_questions(doc):
        return "waits for an answer"
    if doc.not_before is not None and doc.not_before > now:
        return _put_off(view, doc.not_before, now)
    return _idle(view, now)


def _put_off(view: StateView, until: int, now: int) -> str:
    """Return for how long a state waits for a usage limit, or for its next try."""
    met = view.doc.limit(now)
    if met is None:
        return f"tries again in {span(until - now)}"
    return f"parked for {span(until - now)}" + ("" if met.account is None else f", account {met.account}")


def _held(view: StateView, now: int) -> str:
    return f"{'lease lost by' if view.doc.has_lost_lease(now) else 'held by'} {view.doc.lease.owner_agent_id}"


def _left(view: StateView, now: int) -> str:
    """Return how long the lease still is, or since when it has ended; while the output is judged, no time runs."""
    expires = view.doc.lease.expires_at
    if view.doc.is_judged:
        return f", {_AWAITED['Gate']}"
    if expires is None:
        return ""
    return f", {span(abs(expires - now))} {'left' if view.doc.lease.is_live(now) else 'ago'}"


def _idle(view: StateView, now: int) -> str:
    """Return for whom a state is ready and since when, or what holds up the whole run."""
    if view.ready:
        agents = f" for {', '.join(view.agents[:_NAMED])}" if view.agents else ""
        return f"ready{agents}" + ("" if view.ready_since is None else f" since {span(now - view.ready_since)}")
    return "paused" if view.is_paused else "blocked" if view.is_blocked else ""


def spoken(view: StateView, now: int) -> str:
    """Return what a screen reader says of a state: name, status, attempt, and who holds it."""
    doc = view.doc
    attempt = f"attempt {doc.attempts}" if doc.attempts else ""
    is_held = doc.lease.token is not None and not doc.status.is_terminal
    holder_text = _held(view, now) if is_held and doc.lease.owner_agent_id is not None else holding(view, now)
    return ", ".join(part for part in (f"{label(view.path)}: {doc.status.value}", attempt, holder_text) if part)


def _chain(path: str) -> list[tuple[str, str]]:
    """Return each Parallel and Map around a state with what lies inside it on the way to the state."""
    owners = ancestors(path)
    return list(zip(owners, (*owners[1:], path), strict=True))
