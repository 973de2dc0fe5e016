"""The tab with the picture of a run: every state is a link. Of a large workflow a part is drawn at a time."""

from typing import Any, Final

from dcf.asl.state_paths import ancestors
from dcf.errors import InvalidArgument
from dcf.runs.views.overview import Glance
from dcf.web.run.view import RunAddress
from dcf.web.run.words import spoken
from dcf.workflows.drawing.links import Links, following
from dcf.workflows.drawing.scene import Graph, Part, nodes_in, part_of, scene_of
from dcf.workflows.drawing.statuses import Standing
from dcf.workflows.drawing.svg import draw_graph

_DRAWN: Final = 150
"""Most states of the workflow's own that are drawn at once."""

_URGENT: Final = ("failed", "running", "pending")


def graph_tab(seen: Glance, address: RunAddress) -> dict[str, Any]:
    """Return the picture, with the links to its other parts where it is too large to be drawn at once."""
    try:
        graph = scene_of(seen.definition.machine)
    except InvalidArgument as error:
        return {"svg": "", "undrawn": error.message, "parts": []}
    standing = Standing(graph, seen.statuses, seen.shares)
    part = _part(graph, standing, address)
    many = _of_maps(part.graph)

    def to(path: str) -> str:
        """Return where a box leads: of a state that stands for all iterations, to these."""
        return address.inside(many[path]) if path in many else address.to_state(path)

    links = Links(
        to=to,
        names={path: spoken(view, seen.now) for path, view in seen.states.items() if path not in many},
        following=following(part.graph),
        chosen=address.state,
    )
    title = f"Workflow of {seen.workflow_id}"
    svg = draw_graph(part.graph, standing, title=title, style=False, links=links)
    return {"svg": svg, "undrawn": None, "parts": _parts(part, address)}


def _of_maps(graph: Graph, owner: str | None = None) -> dict[str, str]:
    """Return the outermost Map around each state inside one: such a state exists once for each iteration."""
    maps: dict[str, str] = {}
    for node in graph.nodes:
        if owner is not None:
            maps[node.path] = owner
        around = owner if owner is not None else node.path if node.kind == "Map" else None
        for group in node.groups:
            maps |= _of_maps(group.graph, around)
    return maps


def _part(graph: Graph, standing: Standing, address: RunAddress) -> Part:
    if len(nodes_in(graph)) <= _DRAWN:
        return part_of(graph, 0, len(graph.nodes) + _DRAWN)
    part = address.get("part")
    at = (address.number("part") - 1) * _DRAWN if part is not None else _focus(graph, standing, address.state)
    first = max(0, min(at, len(graph.nodes) - 1)) // _DRAWN * _DRAWN
    return part_of(graph, first, _DRAWN)


def _focus(graph: Graph, standing: Standing, state: str | None) -> int:
    """Return the place of the node to look at: the chosen one, else the first that needs attention."""
    places = {node.path: at for at, node in enumerate(graph.nodes) if node.path}
    chosen = None if state is None else (ancestors(state) or (state,))[0]
    if chosen in places:
        return places[chosen]
    statuses = {status: at for path, at in reversed(places.items()) if (status := standing.status(path)) is not None}
    return next((statuses[status] for status in _URGENT if status in statuses), 0)


def _parts(part: Part, address: RunAddress) -> list[dict[str, Any]]:
    if len(part.graph.nodes) == part.total:
        return []
    return [
        {
            "text": f"{first + 1} to {min(first + _DRAWN, part.total)}",
            "link": address.here(part=str(first // _DRAWN + 1)),
            "is_shown": first == part.first,
        }
        for first in range(0, part.total, _DRAWN)
    ]
