"""Explains the status of a state in words: who holds its lease, what it waits for, its next retry, its last error."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

from dcf.cli.text import clean
from dcf.values.json_text import Json

_MINUTE_S: Final = 60
_HOUR_S: Final = 3600
_DAY_S: Final = 86_400
_NAMED: Final = 3
"""Agents of a pool that are listed by name."""

_AWAITED: Final = {
    "Callback": "a callback",
    "Human": "a person",
    "Signal": "a signal",
    "Child": "a child run",
    "Gate": "a verdict",
}
_PARTS: Final = {"Parallel": ("branch", "branches"), "Map": ("iteration", "iterations")}


def attempts(doc: Mapping[str, Json]) -> str:
    """Return how often a state was leased, for states that can be leased."""
    goes_on_by_itself = doc.get("type") not in (None, "Task")
    return "" if goes_on_by_itself else clean(doc["attempts"])


def duration(doc: Mapping[str, Json], now: datetime) -> str:
    """Return how long a state took, or has been worked on until now."""
    if not doc.get("started_at") or not (doc.get("finished_at") or doc["status"] == "running"):
        return ""
    return _between(doc["started_at"], doc.get("finished_at"), now)


def elapsed(meta: Mapping[str, Json], now: datetime) -> str:
    """Return how long a run took, or takes until now, from its creation."""
    return _between(meta["created_at"], meta.get("finished_at"), now) if meta.get("created_at") else ""


def _between(start: str, end: str | None, now: datetime) -> str:
    until = now if end is None else datetime.fromisoformat(end)
    took = max(0.0, (until - datetime.fromisoformat(start)).total_seconds())
    return span(took) if end is None else seconds(took)


def seconds(took: float) -> str:
    """Return a duration, with its parts of a second if it is short."""
    if took >= _MINUTE_S:
        return span(took)
    return f"{took:.1f} s" if took >= 1 else f"{took * 1000:.0f} ms"


def note(doc: Mapping[str, Json], now: datetime) -> str:
    """Return why a state has its status."""
    status, kind = doc["status"], doc.get("type")
    if status == "running":
        running = _running(doc, now)
    elif status == "pending" and kind == "Group":
        running = "ends when it is sealed and all that is in it is done"
    elif status == "pending":
        is_paused = kind is not None and not doc.get("last_error")
        running = "continues now, in the middle of a long chain" if is_paused else _pending(doc, now)
    else:
        running = (
            doc.get("last_error") or _answered(doc) or (counts(doc) if kind in _PARTS and status == "succeeded" else "")
        )
    return clean(running)


def whom(request: Mapping[str, Json]) -> str:
    """Return whom a human task waits for, shortened for many."""
    names = [*request.get("to", ()), *(f"the group {name}" for name in request.get("groups", ()))]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{' or '.join(names[:_NAMED])}{more}"


def open_question(doc: Mapping[str, Json]) -> str:
    """Return the first question about a state that waits for its answer, and who is asked; nothing without one."""
    waiting = (doc.get("questions") or {}).get("open") or ()
    if not waiting:
        return ""
    question = waiting[0]
    text = "the planner" if question.get("planner") else whom(question)
    return f"waits for an answer of {text} to {question['id']}: {question['title']}"


def _answered(doc: Mapping[str, Json]) -> str:
    """Return who answered a human task, and how."""
    question = doc.get("asked") or {}
    return f"{question['choice']}, by {question.get('answered_by') or 'its deadline'}" if question.get("choice") else ""


def _running(doc: Mapping[str, Json], now: datetime) -> str:
    kind = str(doc.get("type"))
    if kind in _AWAITED:
        return f"waits for {whom(doc['asked']) if doc.get('asked') else _AWAITED[kind]}"
    return _wait(doc, now) if kind == "Wait" else counts(doc) if kind in _PARTS else _holder(doc, now)


def counts(doc: Mapping[str, Json]) -> str:
    """Return how many branches or iterations of a Parallel or Map have ended, and what it waits for."""
    scope, tally = doc.get("scope"), doc.get("tally") or {}
    if not isinstance(scope, dict):
        return "waits for its items" if doc.get("type") == "Map" and doc["status"] == "running" else ""
    one_word, several = _PARTS.get(str(doc.get("type")), _PARTS["Map"])
    size, done, failed = scope.get("size", 0), tally.get("done", 0), tally.get("failed", 0)
    all_of_them = f"{size} {one_word if size == 1 else several}"
    bad = f", {failed} failed" if failed else ""
    if doc["status"] != "running":
        return all_of_them + bad
    if not done:
        return f"waits for {all_of_them}"
    rest = size - done
    ahead = "continues now" if rest <= 0 else f"waits for the {'last one' if rest == 1 else f'other {rest}'}"
    return f"{done} of {all_of_them} done{bad}; {ahead}"


def _pending(doc: Mapping[str, Json], now: datetime) -> str:
    error = f": {doc['last_error']}" if doc.get("last_error") else ""
    left = _left(doc.get("not_before"), now)
    if left is not None and left > 0 and open_question(doc):
        return open_question(doc)
    if left is not None and left > 0:
        return _put_off(doc, math.ceil(left), error)
    if left is not None and error:
        return f"ready to be tried again{_forwhom(doc)}{error}"
    if error:
        return str(doc["last_error"])
    waiting = [name for name, epoch in (doc.get("waits_for") or {}).items() if not epoch]
    if waiting:
        return f"waits for {', '.join(waiting)}"
    return _unstarted(doc) or _ready(doc, now)


def _put_off(doc: Mapping[str, Json], left: int, error: str) -> str:
    """Return for how long a state waits for a usage limit, or for its next try."""
    parked = doc.get("parked")
    if isinstance(parked, dict) and parked.get("until") == doc.get("not_before"):
        return f"parked for {span(left)}{f', account {account}' if (account := parked.get('account')) else ''}"
    return f"{'is tried again' if error else 'may be taken'} in {span(left)}{error}"


def _unstarted(doc: Mapping[str, Json]) -> str | None:
    """Return what a ready state waits for besides an agent: for the run to be started, or resumed."""
    if doc.get("paused"):
        return f"the run is paused; then{_forwhom(doc)}"
    if doc.get("blocked"):
        return f"an issue blocks the run; then{_forwhom(doc)}"
    return f"not started yet;{_forwhom(doc)}" if doc.get("awaits_start") else None


def _ready(doc: Mapping[str, Json], now: datetime) -> str:
    since = _left(doc.get("ready_since"), now)
    taken = "not yet claimed" if since is None or since > -1 else f"not taken for {span(-since)}"
    return f"ready{_forwhom(doc)}, {taken}{_undelivered(doc)}"


def _undelivered(doc: Mapping[str, Json]) -> str:
    """Return why the last notification did not arrive, if it did not."""
    trouble = doc.get("not_told")
    return f"; {trouble['agent']} could not be notified: {trouble['error']}" if isinstance(trouble, dict) else ""


def _forwhom(doc: Mapping[str, Json]) -> str:
    """Return who may take a state, shortened for a long pool."""
    agents: list[str] | None = doc.get("agents")
    if agents is None:
        return ""
    more = f" and {len(agents) - _NAMED} more" if len(agents) > _NAMED else ""
    return f" for {' or '.join(agents[:_NAMED]) or 'any agent'}{more}"


def _wait(doc: Mapping[str, Json], now: datetime) -> str:
    left = _left(doc.get("not_before"), now)
    if left is None:
        return "waits"
    if left <= 0:
        return "its time has come; the clock ends it"
    until = datetime.fromisoformat(doc["not_before"]).astimezone(UTC)
    form = "%H:%M:%S" if until.date() == now.astimezone(UTC).date() else "%Y-%m-%d %H:%M:%S"
    return f"waits until {until.strftime(form)} UTC, in {span(math.ceil(left))}"


def _holder(doc: Mapping[str, Json], now: datetime) -> str:
    lease = doc.get("lease") or {}
    asks = open_question(doc)
    text = f"held by {lease.get('owner_agent_id')}{f', who {asks}' if asks else ''}"
    left = _left(lease.get("expires_at"), now)
    if left is None:
        return text
    if left > 0:
        return f"{text}, lease ends in {left:.0f} s"
    return f"{text}, lease has expired" + (f"; ready{_forwhom(doc)}" if doc.get("ready") else "")


def _left(moment: Json, now: datetime) -> float | None:
    """Return the seconds left until an instant; None if there is no instant."""
    return (datetime.fromisoformat(moment) - now).total_seconds() if moment else None


def span(seconds: float) -> str:
    """Return a duration in its two largest units."""
    whole = int(seconds)
    for unit, size, smaller, rest in (("d", _DAY_S, "h", _HOUR_S), ("h", _HOUR_S, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // rest} {smaller}"
    return f"{whole} s"


def child_of(meta: Mapping[str, Json]) -> str:
    """Return which state of which run started this one; nothing for a run that a caller started."""
    parent = meta.get("parent")
    return f"child of: {parent.get('run')}, state {parent.get('state')}" if isinstance(parent, dict) else ""


def kept_signals(meta: Mapping[str, Json]) -> str:
    """Return the names of the signals that the run keeps for states to come."""
    signals = meta.get("signals")
    names = [str(signal["name"]) for signal in signals if isinstance(signal, dict)] if isinstance(signals, list) else []
    shown = ", ".join(names[:_NAMED]) + (" …" if len(names) > _NAMED else "")
    return f"signals kept: {shown} ({len(names)})" if names else ""


def _amounts(sums: Mapping[str, Json]) -> str:
    cost = "".join(f", {amount} {currency}" for currency, amount in sums["cost"].items())
    return f"{sums['tokens_in']} tokens in, {sums['tokens_out']} out, {sums['seconds']:g} s{cost}"


def used_up(meta: Mapping[str, Json]) -> str:
    """Return what the work of the run used up, and what it may, as far as that is known."""
    sums, budget = meta.get("usage"), meta.get("budget")
    parts = []
    if isinstance(sums, dict):
        parts.append(f"used: {_amounts(sums)}")
        if isinstance(sums.get("tree"), dict):
            parts.append(f"with all runs below it: {_amounts(sums['tree'])}")
    if isinstance(budget, dict):
        parts.append("budget: " + ", ".join(f"{name} {amount}" for name, amount in budget.items() if name != "issue"))
    return "; ".join(parts)
