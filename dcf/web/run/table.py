"""The tab with the table of a run's states, which is sorted and paged by links."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dcf.errors import InvalidArgument
from dcf.runs.views.inner_states import Row, tree
from dcf.runs.views.overview import Glance
from dcf.runs.views.status import StateView
from dcf.values.instants import to_text
from dcf.web.run.view import RunAddress
from dcf.web.run.words import holding, label, span, took

_ROWS: Final = 200
_DEEPEST: Final = 6
_URGENCY: Final = ("failed", "running", "pending", "cancelled", "skipped", "succeeded")

Key = Callable[[StateView, int], Any]

_KEYS: Final[Mapping[str, Key]] = {
    "state": lambda view, _: label(view.path),
    "status": lambda view, _: _URGENCY.index(view.doc.status.value) if view.doc.status.value in _URGENCY else 0,
    "attempts": lambda view, _: view.doc.attempts or None,
    "started": lambda view, _: view.doc.started_at,
    "ended": lambda view, _: view.doc.finished_at,
    "took": took,
    "now": lambda view, now: holding(view, now) or None,
    "last error": lambda view, _: view.doc.last_error,
}
"""The sort key of each column; states without a value come last."""


def table_tab(seen: Glance, address: RunAddress) -> dict[str, Any]:
    """Return the rows of a page of the table, and the links that sort it. Raise InvalidArgument for no such column."""
    sort_column = address.get("sort") or ""
    column, is_down = sort_column.removeprefix("-"), sort_column.startswith("-")
    if sort_column and column not in _KEYS:
        raise InvalidArgument("There is no such column.", f"Columns are: {', '.join(_KEYS)}.")
    rows = _sorted(seen, column, is_down) if sort_column else _as_tree(seen)
    first = min(address.number("row"), max(0, len(rows) - 1)) // _ROWS * _ROWS
    return {
        "columns": [_column(name, column, is_down, address) for name in _KEYS],
        "rows": [_row(row, seen, address) for row in rows[first : first + _ROWS]],
        "pages": pages(len(rows), first, _ROWS, address),
        "unread": max(0, seen.open_count - len(seen.states)) if not seen.is_whole else 0,
    }


def pages(total: int, first: int, size: int, address: RunAddress) -> list[dict[str, Any]]:
    """Return links to the pages of a table with this many rows; none for a single page."""
    return [
        {
            "text": f"{at + 1} to {min(at + size, total)}",
            "link": address.here(row=str(at) if at else None),
            "is_shown": at == first,
        }
        for at in range(0, total, size)
        if total > size
    ]


def _as_tree(seen: Glance) -> list[Row]:
    """Return the states in the order of the workflow, those inside a Parallel or Map below it."""
    return [row for row in tree(seen.states, {}) if row.path is not None]


def _sorted(seen: Glance, column: str, is_down: bool) -> list[Row]:
    keys = {path: _KEYS[column](state, seen.now) for path, state in seen.states.items()}
    known = sorted((path for path in keys if keys[path] is not None), key=lambda path: keys[path], reverse=is_down)
    unknown = (path for path in keys if keys[path] is None)
    return [Row(depth=0, label=label(path), path=path) for path in (*known, *unknown)]


def _column(name: str, column: str, is_down: bool, address: RunAddress) -> dict[str, Any]:
    is_sorted = name == column
    order = ("descending" if is_down else "ascending") if is_sorted else None
    turned = f"-{name}" if is_sorted and not is_down else name
    return {"name": name, "order": order, "link": address.here(sort=turned, row=None)}


def _row(row: Row, seen: Glance, address: RunAddress) -> dict[str, Any]:
    path = row.path or ""
    state = seen.states[path]
    time = took(state, seen.now)
    is_opened = state.doc.scope is not None
    return {
        "path": path,
        "label": row.label,
        "depth": min(row.depth, _DEEPEST),
        "link": address.to_state(path),
        "inside": address.inside(path) if is_opened else None,
        "status": state.doc.status.value,
        "attempts": state.doc.attempts or "",
        "started": "" if state.doc.started_at is None else to_text(state.doc.started_at),
        "ended": "" if state.doc.finished_at is None else to_text(state.doc.finished_at),
        "took": "" if time is None else span(time),
        "now": holding(state, seen.now),
        "error": state.doc.last_error or "",
    }
