"""Draws a machine as indented text: every state in reading order, with its transitions. Pure."""

from collections.abc import Iterator, Mapping

from dcf.asl.machine import Machine
from dcf.workflows.drawing.layout import kind_text
from dcf.workflows.drawing.scene import END, MARKERS, Graph, Node, scene_of
from dcf.workflows.drawing.statuses import Share, Standing, Statuses


def draw_text(machine: Machine, statuses: Statuses | None = None, shares: Mapping[str, Share] | None = None) -> str:
    """Return the outline. `statuses` are by the path of a state, `shares` by that of a Map."""
    graph = scene_of(machine)
    return "\n".join(_graph(graph, "", Standing(graph, statuses, shares))) + "\n"


def _graph(graph: Graph, indent: str, standing: Standing) -> Iterator[str]:
    for at, node in enumerate(graph.nodes):
        if node.kind not in MARKERS:
            note = standing.told(node.path)
            yield f"{indent}{node.name}  ({kind_text(node)})" + (f"  {note}" if note else "")
            yield from _inside(node, indent, standing)
            yield from _ways(graph, at, indent)


def _inside(node: Node, indent: str, standing: Standing) -> Iterator[str]:
    for group in node.groups:
        yield f"{indent}  │ {group.title}"
        yield from _graph(group.graph, f"{indent}  │   ", standing)


def _ways(graph: Graph, at: int, indent: str) -> Iterator[str]:
    leaving = [arrow for arrow in graph.arrows if arrow.source == at]
    for arrow in leaving:
        target = graph.nodes[arrow.target]
        name = "end" if target.kind == END else target.name
        shaft = "⇢" if arrow.dashed else "→"
        yield f"{indent}  {shaft} {name}" + (f"   [{arrow.label}]" if arrow.label else "")
