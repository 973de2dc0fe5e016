"""The content of a picture, without coordinates: a machine as nodes, arrows and groups."""

from collections import deque
from typing import Final

from dcf.asl.machine import Choice, Machine, Map, Parallel, State
from dcf.asl.state_paths import join, open_scope
from dcf.errors import InvalidArgument
from dcf.values.records import record, replace
from dcf.workflows.drawing.words import describe, errors_text, printable

START: Final = "Start"
END: Final = "End"
MARKERS: Final = frozenset({START, END})
MAX_STATES: Final = 1_000


@record(frozen=True, slots=True, kw_only=True)
class Arrow:
    """A transition between two nodes of a graph, by their indexes. `dashed` means that it catches an error."""

    source: int
    target: int
    label: str = ""
    dashed: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Node:
    """A state, or the marker where a run begins or ends. Inside a Map, `path` is that of the first iteration.

    `many` is True for a Map and what is inside it, which show counts.
    """

    path: str
    name: str
    kind: str
    retries: bool = False
    many: bool = False
    groups: "tuple[Group, ...]" = ()


@record(frozen=True, slots=True, kw_only=True)
class Graph:
    """A machine: its nodes in reading order, and the arrows between them."""

    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]


@record(frozen=True, slots=True, kw_only=True)
class Group:
    """A machine inside a Parallel or Map."""

    title: str
    graph: Graph


@record(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of a graph that is too large to be looked at: its nodes from `first` on, of `total` in reading order."""

    graph: Graph
    first: int
    total: int


def part_of(graph: Graph, first: int, most: int) -> Part:
    """Return at most `most` nodes, with the arrows between them. Content of a node that is too large is left out."""
    shown, arrows = range(first, min(len(graph.nodes), first + most)), graph.arrows
    nodes = tuple(_folded(graph.nodes[at], most) for at in shown)
    within = (
        Arrow(source=arrow.source - first, target=arrow.target - first, label=arrow.label, dashed=arrow.dashed)
        for arrow in arrows
        if arrow.source in shown and arrow.target in shown
    )
    return Part(graph=Graph(nodes=nodes, arrows=tuple(within)), first=first, total=len(graph.nodes))


def _folded(node: Node, most: int) -> Node:
    inside = sum(len(nodes_in(group.graph)) for group in node.groups)
    return node if inside <= most else replace(node, groups=())


def scene_of(machine: Machine) -> Graph:
    """Return the graph of a machine; raise InvalidArgument if it has more than MAX_STATES states."""
    if _size(machine) > MAX_STATES:
        message = f"A workflow of more than {MAX_STATES} states is not drawn."
        raise InvalidArgument(message, "Draw a part of it.")
    return _graph(machine, "", marked=True)


def nodes_in(graph: Graph) -> list[Node]:
    """Return all nodes, those inside groups included."""
    nodes: list[Node] = []
    for node in graph.nodes:
        nodes.append(node)
        for group in node.groups:
            nodes += nodes_in(group.graph)
    return nodes


def _size(machine: Machine) -> int:
    return sum(1 + sum(map(_size, state.machines)) for state in machine.states.values())


def _graph(machine: Machine, scope: str, *, marked: bool, many: bool = False) -> Graph:
    names = _in_reading_order(machine)
    nodes = [_node(machine.states[name], name, join(scope, name), many=many) for name in names]
    ends = [name for name in names if marked and _runs_out(machine.states[name])]
    if marked:
        nodes.insert(0, Node(path="", name="start", kind=START))
    if ends:
        nodes.append(Node(path="", name="end", kind=END))
    index = {name: at for at, name in enumerate(names, 1 if marked else 0)}
    arrows = [Arrow(source=0, target=index[start]) for start in machine.starts] if marked else []
    for name in names:
        arrows += _arrows(machine.states[name], index[name], index)
    arrows += [Arrow(source=index[name], target=len(nodes) - 1) for name in ends]
    return Graph(nodes=tuple(nodes), arrows=tuple(arrows))


def _in_reading_order(machine: Machine) -> list[str]:
    pending, seen = deque(machine.starts), dict.fromkeys(machine.starts)
    while pending:
        for target in machine.downstream(pending.popleft()):
            if target not in seen:
                seen[target] = None
                pending.append(target)
    return list(seen)


def _runs_out(state: State) -> bool:
    return state.may_end and not state.is_end


def _node(state: State, name: str, path: str, *, many: bool) -> Node:
    parallel = isinstance(state, Parallel)
    many = many or isinstance(state, Map)
    groups = (
        Group(
            title=f"branch {at}" if parallel else "each item",
            graph=_graph(inner, open_scope(path, at), marked=False, many=many),
        )
        for at, inner in enumerate(state.machines)
    )
    return Node(
        path=path,
        name=printable(name),
        kind=state.kind(),
        retries=bool(state.retriers),
        many=many,
        groups=tuple(groups),
    )


def _arrows(state: State, source: int, index: dict[str, int]) -> list[Arrow]:
    arrows: list[Arrow] = []
    if isinstance(state, Choice):
        arrows += [
            Arrow(source=source, target=index[branch.next], label=describe(branch.rule)) for branch in state.branches
        ]
        if state.default is not None:
            arrows.append(Arrow(source=source, target=index[state.default], label="otherwise"))
    if state.next is not None:
        arrows.append(Arrow(source=source, target=index[state.next]))
    for catcher in state.catchers:
        label = errors_text(catcher.errors)
        arrows.append(Arrow(source=source, target=index[catcher.next], label=label, dashed=True))
    return arrows
