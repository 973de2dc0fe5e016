"""The page of the list of runs: its filters are the parameters of its address, so that a list can be sent to others."""

from collections.abc import Mapping
from typing import Final

from dcf.core.documents.model import RunStatus
from dcf.values.json_text import Json
from dcf.web.live.lists import mark_of
from dcf.web.templating import html, live_link, runs_link
from dcf.web.visit import Visit

_TEXTS: Final = ("workflow", "version", "agent", "tag", "parent", "project")
_FLAGS: Final = ("stuck", "blocked")
_ROWS: Final = 50


def runs_page(visit: Visit, parameters: Mapping[str, str]) -> str:
    """Return the page. Raise ToolRefused for filters that mean nothing."""
    filters, cursor = _filters(parameters), parameters.get("cursor") or None
    reply = visit.ask("list_runs", **asked_for(parameters))
    further = None if reply["next_cursor"] is None else runs_link(**filters, cursor=reply["next_cursor"])
    return html(
        "runs.html",
        title="Runs",
        rows=_stuck_first(visit, parameters, reply),
        counts=reply["counts"],
        statuses=[status.value for status in RunStatus],
        filters=filters,
        is_filtered=any(filters.values()),
        matching=reply["matching"],
        further=further,
        newest=runs_link(**filters) if cursor is not None else None,
        stream=live_link(**filters, cursor=cursor),
        position=mark_of(reply),
    )


def _stuck_first(visit: Visit, parameters: Mapping[str, str], document: Mapping[str, Json]) -> list[Mapping[str, Json]]:
    """Return the runs of a page; on the first one those that are stuck come before the others, however old."""
    filters = asked_for(parameters)
    may_be = filters.get("status") in {None, RunStatus.RUNNING.value} and document["counts"].get("stuck", 1)
    if filters["cursor"] is not None or "stuck" in filters or not may_be:
        return list(document["runs"])
    stuck = visit.ask("list_runs", **{**filters, "stuck": True})["runs"]
    known = {row["workflow_id"] for row in stuck}
    return [*stuck, *(row for row in document["runs"] if row["workflow_id"] not in known)]


def asked_for(parameters: Mapping[str, str]) -> dict[str, Json]:
    """Return what the tool list_runs is asked for with the parameters of an address; others are left out."""
    filters = {name: bool(value) if name in _FLAGS else value for name, value in _filters(parameters).items() if value}
    return {"limit": _ROWS, "cursor": parameters.get("cursor") or None, **filters}


def _filters(parameters: Mapping[str, str]) -> dict[str, str]:
    return {name: parameters.get(name, "") for name in ("status", *_TEXTS, *_FLAGS)}
