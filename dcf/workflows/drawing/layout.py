"""Gives a scene coordinates, in pixels from the top left corner: boxes, panels inside them, lines and labels. Pure."""

from collections.abc import Sequence
from typing import Final

from dcf.values.records import record
from dcf.workflows.drawing.layers import LayerPlan, Link, Slot, Wire, arrange
from dcf.workflows.drawing.scene import MARKERS, Arrow, Graph, Node
from dcf.workflows.drawing.words import printable, width_of

NAME_SIZE: Final = 13.0
NOTE_SIZE: Final = 11.0
MARGIN: Final = 20.0
HEADER: Final = 46.0
TITLE: Final = 22.0
LOOP: Final = 26.0
HEAD: Final = 7.0
"""Length of an arrow's head."""

_LONGEST_NAME: Final = 34
_LONGEST_LABEL: Final = 40
_STATUS_ROOM: Final = " · ✔ succeeded"
_COUNTS_ROOM: Final = " · ✘ 999k  ▶ 999k  ✔ 999k of 999k"
_PAD: Final = 14.0
_PANEL_PAD: Final = 12.0
_NODE_HEIGHT: Final = 44.0
_MARKER: Final = 16.0
_LABEL_HEIGHT: Final = 18.0
_PORT_GAP: Final = 22.0

Point = tuple[float, float]


@record(frozen=True, slots=True, kw_only=True)
class Rect:
    """A rectangle; `x` and `y` are its top left corner."""

    x: float
    y: float
    width: float
    height: float


@record(frozen=True, slots=True, kw_only=True)
class Label:
    """A text centred at a point. `full` is the text before it was cut."""

    x: float
    y: float
    width: float
    text: str
    full: str
    dashed: bool


@record(frozen=True, slots=True, kw_only=True)
class Line:
    """A line: straight to the second point, curved to the third, straight to the last. A loop is one curve back."""

    points: tuple[Point, ...]
    dashed: bool
    head: bool
    loop: bool = False


@record(frozen=True, slots=True, kw_only=True)
class Panel:
    """The picture of one machine, and the rectangle around it."""

    rect: Rect
    title: str
    boxes: "tuple[Box, ...]"
    lines: tuple[Line, ...]
    labels: tuple[Label, ...]


@record(frozen=True, slots=True, kw_only=True)
class Box:
    """A node and the drawing inside it."""

    node: Node
    name: str
    rect: Rect
    panels: tuple[Panel, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class _Block:
    """A node whose size is known."""

    node: Node
    width: float
    height: float
    panels: "tuple[_Sheet, ...]" = ()


@record(frozen=True, slots=True, kw_only=True)
class _Sheet:
    """A graph whose nodes are arranged relative to each other, without absolute coordinates."""

    graph: Graph
    title: str
    blocks: tuple[_Block, ...]
    wires: tuple[int, ...]
    plan: LayerPlan

    @property
    def width(self) -> float:
        """Width of the panel."""
        return max(self.plan.width, width_of(self.title, NOTE_SIZE)) + 2 * _PANEL_PAD

    @property
    def height(self) -> float:
        """Height of the panel."""
        return self.plan.height + TITLE + _PANEL_PAD


def lay_out(graph: Graph) -> Panel:
    """Place everything; the panel's rectangle is the whole picture."""
    sheet = _sheet(graph, "")
    return _panel(sheet, MARGIN - _PANEL_PAD, MARGIN - TITLE)


def label_text(arrow: Arrow) -> str:
    """Return a label, cut to what the picture has room for."""
    return printable(arrow.label, _LONGEST_LABEL)


def picture_size(panel: Panel) -> tuple[float, float]:
    """Return the width and height of a whole picture."""
    return panel.rect.width - 2 * _PANEL_PAD + 2 * MARGIN, panel.rect.height - TITLE - _PANEL_PAD + 2 * MARGIN


def _sheet(graph: Graph, title: str) -> _Sheet:
    blocks = tuple(_block(node) for node in graph.nodes)
    loops = {arrow.source: _loop_room(graph, arrow.source) for arrow in graph.arrows if arrow.source == arrow.target}
    sizes = [(block.width + 2 * loops.get(at, 0.0), block.height) for at, block in enumerate(blocks)]
    wires = tuple(at for at, arrow in enumerate(graph.arrows) if arrow.source != arrow.target)
    plan = arrange(sizes, [_wire(graph.arrows[at]) for at in wires])
    return _Sheet(graph=graph, title=title, blocks=blocks, wires=wires, plan=plan)


def _wire(arrow: Arrow) -> Wire:
    size = (_label_width(label_text(arrow)), _LABEL_HEIGHT) if arrow.label else None
    return Wire(source=arrow.source, target=arrow.target, label=size, dashed=arrow.dashed)


def _label_width(text: str) -> float:
    return width_of(text, NOTE_SIZE) + 10


def _loop_text(graph: Graph, node: int) -> str:
    labels = [arrow.label for arrow in graph.arrows if arrow.source == arrow.target == node and arrow.label]
    return printable(" or ".join(labels), _LONGEST_LABEL)


def _loop_room(graph: Graph, node: int) -> float:
    return LOOP + _label_width(_loop_text(graph, node)) + 4


def _block(node: Node) -> _Block:
    if node.kind in MARKERS:
        return _Block(node=node, width=_MARKER, height=_MARKER)
    name = printable(node.name, _LONGEST_NAME)
    room = _COUNTS_ROOM if node.many else _STATUS_ROOM
    texts = width_of(name, NAME_SIZE) * 1.06, width_of(kind_text(node) + room, NOTE_SIZE)
    width = max(120.0, *texts) + 2 * _PAD + (16 if node.kind == "Choice" else 0)
    if not node.groups:
        return _Block(node=node, width=width, height=_NODE_HEIGHT)
    panels = tuple(_sheet(group.graph, group.title) for group in node.groups)
    inside = sum(panel.width + _PANEL_PAD for panel in panels) + _PANEL_PAD
    height = HEADER + max(panel.height for panel in panels) + _PANEL_PAD
    return _Block(node=node, width=max(width, inside), height=height, panels=panels)


def kind_text(node: Node) -> str:
    """Return the kind of a state, with a sign if it has retries."""
    return f"{node.kind} ↻" if node.retries else node.kind


def _panel(sheet: _Sheet, left: float, top: float, height: float | None = None) -> Panel:
    origin = (left + (sheet.width - sheet.plan.width) / 2, top + TITLE)
    boxes = tuple(_box(block, slot, origin) for block, slot in zip(sheet.blocks, sheet.plan.slots, strict=False))
    return Panel(
        rect=Rect(x=left, y=top, width=sheet.width, height=height or sheet.height),
        title=sheet.title,
        boxes=boxes,
        lines=(*_lines(sheet, boxes, origin), *_loops(sheet, boxes)),
        labels=(*_labels(sheet, origin), *_loop_labels(sheet, boxes)),
    )


def _box(block: _Block, slot: Slot, origin: Point) -> Box:
    x, y = origin[0] + slot.x - block.width / 2, origin[1] + slot.top
    rect = Rect(x=x, y=y, width=block.width, height=block.height)
    inside = sum(panel.width + _PANEL_PAD for panel in block.panels) - _PANEL_PAD
    left = x + (block.width - inside) / 2
    height = max((panel.height for panel in block.panels), default=0.0)
    panels: list[Panel] = []
    for sheet in block.panels:
        panels.append(_panel(sheet, left, y + HEADER, height))
        left += sheet.width + _PANEL_PAD
    return Box(node=block.node, name=printable(block.node.name, _LONGEST_NAME), rect=rect, panels=tuple(panels))


def _labels(sheet: _Sheet, origin: Point) -> list[Label]:
    labels: list[Label] = []
    for slot in sheet.plan.slots:
        if slot.wire is not None:
            arrow = sheet.graph.arrows[sheet.wires[slot.wire]]
            x, y = origin[0] + slot.x, origin[1] + slot.top + slot.height / 2
            text = label_text(arrow)
            labels.append(Label(x=x, y=y, width=slot.width, text=text, full=arrow.label, dashed=arrow.dashed))
    return labels


def _looping(sheet: _Sheet) -> dict[int, bool]:
    """Return the nodes that lead to themselves; True if only by catching an error."""
    looping: dict[int, bool] = {}
    for arrow in sheet.graph.arrows:
        if arrow.source == arrow.target:
            looping[arrow.source] = looping.get(arrow.source, True) and arrow.dashed
    return looping


def _loops(sheet: _Sheet, boxes: Sequence[Box]) -> list[Line]:
    lines: list[Line] = []
    for node, dashed in _looping(sheet).items():
        rect = boxes[node].rect
        right, middle = rect.x + rect.width, rect.y + _NODE_HEIGHT / 2
        points = ((right, middle - 8), (right + LOOP, middle - 8), (right + LOOP, middle + 8), (right, middle + 8))
        lines.append(Line(points=points, dashed=dashed, head=True, loop=True))
    return lines


def _loop_labels(sheet: _Sheet, boxes: Sequence[Box]) -> list[Label]:
    labels: list[Label] = []
    for node, dashed in _looping(sheet).items():
        text = _loop_text(sheet.graph, node)
        if text:
            rect, width = boxes[node].rect, _label_width(text)
            x, y = rect.x + rect.width + LOOP + width / 2, rect.y + _NODE_HEIGHT / 2
            labels.append(Label(x=x, y=y, width=width, text=text, full=text, dashed=dashed))
    return labels


def _lines(sheet: _Sheet, boxes: Sequence[Box], origin: Point) -> list[Line]:
    plan = sheet.plan
    outgoing = _ports(plan, plan.links, boxes, below=True)
    incoming = _ports(plan, plan.links, boxes, below=False)
    lines: list[Line] = []
    for at, link in enumerate(plan.links):
        points = (
            *_ends(plan, link.upper, outgoing.get(at), origin, boxes, below=True),
            *reversed(_ends(plan, link.lower, incoming.get(at), origin, boxes, below=False)),
        )
        lines.append(Line(points=points[::-1] if link.up else points, dashed=link.dashed, head=link.last))
    return lines


def _ends(
    plan: LayerPlan, slot_index: int, port: float | None, origin: Point, boxes: Sequence[Box], *, below: bool
) -> tuple[Point, Point]:
    """Return where a line leaves a slot, and where it leaves the layer."""
    slot = plan.slots[slot_index]
    top, bottom = plan.bands[slot.rank]
    edge = origin[1] + (bottom if below else top)
    if slot.node is None:
        x = origin[0] + slot.x
        return (x, origin[1] + (top + bottom) / 2), (x, edge)
    rect = boxes[slot.node].rect
    x = rect.x + rect.width / 2 if port is None else port
    return (x, rect.y + (rect.height if below else 0.0)), (x, edge)


def _ports(plan: LayerPlan, links: Sequence[Link], boxes: Sequence[Box], *, below: bool) -> dict[int, float]:
    """Return where lines meet the lower or upper side of their nodes; arriving lines share one point."""
    sides: dict[int, list[int]] = {}
    for at, link in enumerate(links):
        slot = link.upper if below else link.lower
        if plan.slots[slot].node is not None:
            sides.setdefault(slot, []).append(at)
    ports: dict[int, float] = {}
    for slot, members in sides.items():
        ports |= _spread(plan, links, members, boxes[slot].rect, below=below)
    return ports


def _spread(plan: LayerPlan, links: Sequence[Link], members: list[int], rect: Rect, *, below: bool) -> dict[int, float]:
    bundles: dict[int, list[int]] = {}
    for at in members:
        arrives = links[at].up if below else not links[at].up
        bundles.setdefault(-1 if arrives else at, []).append(at)

    def far(bundle: list[int]) -> float:
        ends = [plan.slots[links[at].lower if below else links[at].upper].x for at in bundle]
        return sum(ends) / len(ends)

    ordered = sorted(bundles.values(), key=far)
    middle = _anchor(links, ordered)
    gap = min(_PORT_GAP, rect.width / (2 * len(ordered)))
    centre = rect.x + rect.width / 2
    return {at: centre + (place - middle) * gap for place, bundle in enumerate(ordered) for at in bundle}


def _anchor(links: Sequence[Link], bundles: list[list[int]]) -> float:
    """Return which bundle is in the middle: the only one without caught errors, or else the centre."""
    solid = [place for place, bundle in enumerate(bundles) if not links[bundle[0]].dashed]
    return float(solid[0]) if len(solid) == 1 else (len(bundles) - 1) / 2
