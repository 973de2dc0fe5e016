"""The page that says why runs do not move: each cause with its evidence and what helps, what is stuck first.

It shows what `explain_run` found, and judges nothing itself.
"""

from collections.abc import Mapping
from typing import Any, Final

from dcf.values.json_text import Json
from dcf.web.durations import age
from dcf.web.moments import this_moment
from dcf.web.run.remedies import button_of, place_of
from dcf.web.templating import html, live_link, query
from dcf.web.visit import ToolRefused, Visit

_LISTED: Final = 20
"""Most runs that are explained of each list: each costs a few round trips."""
_OF_ONE: Final = 3
"""Most findings that the page of all runs shows of one run."""
_IN_SENTENCE: Final = frozenset({"root", "limit"})
"""Evidence that the sentence contains already."""


def why_page(visit: Visit, parameters: Mapping[str, str]) -> str:
    """Return the page of one run, where `run` names it, else of those that do not move."""
    run = parameters.get("run") or None
    return _of_all(visit, parameters) if run is None else _of_one(visit, run, parameters.get("state") or None)


def _of_one(visit: Visit, run: str, state: str | None) -> str:
    position = _newest_event(visit, run)
    at = this_moment()
    reply = visit.ask("explain_run", workflow_id=run, **({} if state is None else {"state": state}))
    shown = {**reply, "findings": [_finding(run, finding, reply["at"]) for finding in reply["findings"]]}
    title = f"Why {run}" if state is None else f"Why {state} of {run}"
    back = f"/ui/why{query(run=run, state=state)}"
    return html(
        "why.html",
        title=title,
        visit=visit,
        run=run,
        state=state,
        runs=[shown],
        at=at,
        back=back,
        stream=live_link(run),
        position=position,
        **_NO_LIST,
    )


def _newest_event(visit: Visit, run: str) -> str:
    """Return the event after which the page is made; nothing where the run cannot be read, as explain_run will say."""
    try:
        events = visit.ask("read_run_events", workflow_id=run, newest_first=True, limit=1)["events"]
    except ToolRefused:
        return ""
    return str(events[0]["id"]) if events else ""


_NO_LIST: Final[Mapping[str, Any]] = {
    "moving": 0,
    "more_stuck": False,
    "is_first": True,
    "further": None,
    "first": None,
    "is_whole": True,
}


def _of_all(visit: Visit, parameters: Mapping[str, str]) -> str:
    cursor = parameters.get("cursor") or None
    at = this_moment()
    running = visit.ask("list_runs", status="running", limit=_LISTED, cursor=cursor)
    listed = [] if cursor is not None else [_listed(visit, "stuck"), _listed(visit, "blocked")]
    rows = {row["workflow_id"]: row for page in (*listed, running) for row in page["runs"]}
    explained = [invalid_argument for row in rows.values() if (invalid_argument := _explained(visit, row)) is not None]
    held_up = sorted((explained_state for explained_state in explained if explained_state["findings"]), key=_order)
    further = running["next_cursor"]
    return html(
        "why.html",
        title="Why runs do not move",
        visit=visit,
        run=None,
        state=None,
        runs=held_up,
        at=at,
        stream=None,
        back=f"/ui/why{query(cursor=cursor)}",
        more_stuck=any(page["next_cursor"] is not None for page in listed),
        moving=len(explained) - len(held_up),
        is_first=cursor is None,
        is_whole=cursor is None and further is None,
        further=None if further is None else f"/ui/why{query(cursor=further)}",
        first=None if cursor is None else "/ui/why",
    )


def _listed(visit: Visit, flag: str) -> Mapping[str, Json]:
    return visit.ask("list_runs", limit=_LISTED, **{flag: True})


def _explained(visit: Visit, row: Mapping[str, Json]) -> dict[str, Json] | None:
    """Return the explanation of a run on the list; None if it was deleted since."""
    try:
        reply = visit.ask("explain_run", workflow_id=row["workflow_id"])
    except ToolRefused as refused:
        if refused.code == "unknown_run":
            return None
        raise
    findings = [_finding(row["workflow_id"], finding, reply["at"]) for finding in reply["findings"]]
    return {
        **reply,
        "workflow_name": row.get("workflow_name"),
        "findings": findings[:_OF_ONE],
        "more": len(findings) - _OF_ONE,
    }


def _finding(run: str, finding: Mapping[str, Json], at: Json) -> dict[str, Any]:
    """Return a finding with what the page needs besides: its age, its facts without empty ones, the button."""
    facts = {
        name.replace("_", " "): value
        for name, value in finding["evidence"].items()
        if name not in _IN_SENTENCE and value not in (None, [], {}, "")
    }
    return {
        **finding,
        "title": finding["cause"].replace("_", " "),
        "facts": facts,
        "age": age(finding["since"], at),
        "button": button_of(finding["remedy"]),
        "place": place_of(run, finding),
    }


def _order(run: Mapping[str, Json]) -> tuple[bool, str]:
    """Sort what is stuck first, and there what has been so for longest."""
    since = min(
        (finding["since"] or "~" for finding in run["findings"] if finding["stuck"] is run["stuck"]), default="~"
    )
    return not run["stuck"], since
