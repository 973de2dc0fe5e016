"""What makes the states of a picture links: where each leads, what it is called, where arrow keys go from it. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Final

from dcf.values.records import record
from dcf.workflows.drawing.scene import Graph, Node

_MOST_NEXT: Final = 20
"""Most states that arrow keys lead to from one."""


@record(frozen=True, slots=True, kw_only=True)
class Links:
    """`to` gives the address of a state by its path, `names` further names of states.

    `following` has for each path those to which an arrow leads; `chosen` is the state that is marked.
    """

    to: Callable[[str], str]
    names: Mapping[str, str] = field(default_factory=dict)
    following: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    chosen: str | None = None

    def name_of(self, node: Node, words: str) -> str:
        """Return what a screen reader says of a state; `words` describe its status."""
        return self.names.get(node.path) or f"{node.name}: {words or node.kind}"


def following(graph: Graph) -> dict[str, tuple[str, ...]]:
    """Return for each state the paths of those after it; of a Parallel or Map also the first ones inside."""
    following_states: dict[str, list[str]] = {}
    for arrow in graph.arrows:
        source, target = graph.nodes[arrow.source].path, graph.nodes[arrow.target].path
        if source and target and len(following_states.setdefault(source, [])) < _MOST_NEXT:
            following_states[source].append(target)
    shown = {source: tuple(targets) for source, targets in following_states.items()}
    for node in graph.nodes:
        for group in node.groups:
            shown |= following(group.graph)
            shown[node.path] = (*shown.get(node.path, ()), group.graph.nodes[0].path)
    return shown
