"""The page of one run: how it stands, four views of its states and its history, and one state at the side.

Tab, chosen state and everything else are parameters of the address, so every view of a run can be linked to. The first
view costs a fixed number of round trips to Redis, however large the run is (`runs/views/overview.py`).
"""

from collections.abc import Mapping
from typing import Any

from dcf.runs.views.overview import Glance, glance
from dcf.web.run.events import events_tab
from dcf.web.run.graph import graph_tab
from dcf.web.run.grid import grid
from dcf.web.run.header import header
from dcf.web.run.panel import panel
from dcf.web.run.table import table_tab
from dcf.web.run.timeline import timeline_tab
from dcf.web.run.view import TABS, RunAddress, history_link, read_address, value_link
from dcf.web.templating import html, live_link
from dcf.web.visit import Visit


def run_page(visit: Visit, parameters: Mapping[str, str], workflow_id: str) -> str:
    """Return the page. Raise UnknownRun or UnknownState, and InvalidArgument for a tab that there is not."""
    visit.check_run(workflow_id)
    application = visit.application
    seen = glance(application.control_plane, workflow_id)
    address = read_address(parameters, workflow_id, seen.definition)
    inside = address.get("inside") if address.tab == "table" else None
    head = header(seen, application.diagnosis.explain(workflow_id), address)
    return html(
        "run.html",
        title=f"{head['word']} - {seen.meta.get('workflow_name') or 'run'}: {workflow_id}",
        visit=visit,
        workflow_id=workflow_id,
        head=head,
        tabs=[(name, address.to_tab(name)) for name in TABS],
        tab=tab_name(address, inside),
        state=address.state,
        back=address.here(),
        downloads={"history": history_link(workflow_id), "value": value_link},
        meta=seen.meta,
        stream=live_link(workflow_id),
        position=seen.newest_event or "",
        panel=(side_panel := panel(visit, seen, address)),
        state_doc=None if side_panel is None else side_panel["doc"],
        view=_view(visit, seen, address, inside),
    )


def tab_name(address: RunAddress, inside: str | None) -> str:
    """Return the name of the view: the tab, or `inside` for the branches or iterations of a state."""
    return address.tab if inside is None else "inside"


def _view(visit: Visit, seen: Glance, address: RunAddress, inside: str | None) -> dict[str, Any]:
    """Return what only this view shows; the others cost nothing."""
    application = visit.application
    if inside is not None:
        return grid(visit, seen, address, inside)
    match address.tab:
        case "graph":
            return graph_tab(seen, address)
        case "timeline":
            return timeline_tab(application.history, seen, address)
        case "table":
            return table_tab(seen, address)
        case _:
            return events_tab(application.histories, address)
