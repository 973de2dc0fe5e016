"""Draws a machine as a Mermaid flowchart. Characters with a meaning in Mermaid are written as character codes. Pure."""

from collections.abc import Iterator, Mapping
from typing import Final

from dcf.asl.machine import Machine
from dcf.workflows.drawing.layout import kind_text
from dcf.workflows.drawing.scene import END, START, Arrow, Graph, Node, scene_of
from dcf.workflows.drawing.statuses import Share, Standing, Statuses
from dcf.workflows.drawing.words import printable

_HARMLESS: Final = frozenset(" _.,:/$()=+-")
_SHAPES: Final = {
    "Choice": ("{{", "}}"),
    "Succeed": ("([", "])"),
    "Fail": ("([", "])"),
    "Wait": ("[/", "/]"),
    "Pass": ("(", ")"),
    START: ("((", "))"),
    END: ("(((", ")))"),
}
_CLASSES: Final = (
    "  classDef running stroke:#0b63b0,stroke-width:3px",
    "  classDef succeeded stroke:#1b6e35,stroke-width:3px",
    "  classDef failed stroke:#b3261e,stroke-width:3px",
    "  classDef cancelled stroke:#7a5900,stroke-width:3px",
)
_COLOURED: Final = frozenset({"running", "succeeded", "failed", "cancelled"})


def draw_mermaid(machine: Machine, statuses: Statuses | None = None, shares: Mapping[str, Share] | None = None) -> str:
    """Return the flowchart. `statuses` are by the path of a state, `shares` by that of a Map."""
    graph = scene_of(machine)
    standing = Standing(graph, statuses, shares)
    classes = _CLASSES if statuses else ()
    return "\n".join(["flowchart TD", *_graph(graph, "n", "  ", standing), *classes]) + "\n"


def _graph(graph: Graph, prefix: str, indent: str, standing: Standing) -> Iterator[str]:
    for at, node in enumerate(graph.nodes):
        yield from _node(node, f"{prefix}{at}", indent, standing)
    for arrow in graph.arrows:
        yield f"{indent}{_arrow(arrow, prefix)}"


def _node(node: Node, ident: str, indent: str, standing: Standing) -> Iterator[str]:
    signs = standing.signs(node.path)
    lines = (
        [node.name] if node.kind in {START, END} else [node.name, f"{kind_text(node)}{f' {signs}' if signs else ''}"]
    )
    label = "<br/>".join(map(_quoted, lines))
    status = standing.status(node.path)
    marked = f":::{status}" if status in _COLOURED else ""
    if not node.groups:
        opening, closing = _SHAPES.get(node.kind, ("[", "]"))
        yield f'{indent}{ident}{opening}"{label}"{closing}{marked}'
        return
    yield f'{indent}subgraph {ident}["{label}"]'
    for at, group in enumerate(node.groups):
        yield f'{indent}  subgraph {ident}g{at}["{_quoted(group.title)}"]'
        yield from _graph(group.graph, f"{ident}g{at}n", f"{indent}    ", standing)
        yield f"{indent}  end"
    yield f"{indent}end"
    if marked:
        yield f"{indent}class {ident} {status}"


def _arrow(arrow: Arrow, prefix: str) -> str:
    shaft = "-.->" if arrow.dashed else "-->"
    label = f'|"{_quoted(printable(arrow.label, 80))}"|' if arrow.label else ""
    return f"{prefix}{arrow.source} {shaft}{label} {prefix}{arrow.target}"


def _quoted(text: str) -> str:
    return "".join(
        character if character.isalnum() or character in _HARMLESS else f"#{ord(character)};" for character in text
    )
