"""Draws a machine as SVG, for light and dark pages and for screen readers.

All text is escaped and nothing has an id. Without its style sheet the picture may be part of a page with a strict
content security policy. Each state is a group with `data-state` and `data-status`, so that a page can update it.
"""

import json
from collections.abc import Iterator, Mapping
from html import escape
from string import Template
from typing import Final

from dcf.asl.machine import Machine
from dcf.data import PACKAGE
from dcf.workflows.drawing.layout import (
    HEAD,
    NAME_SIZE,
    NOTE_SIZE,
    Box,
    Label,
    Line,
    Panel,
    Point,
    Rect,
    kind_text,
    lay_out,
    picture_size,
)
from dcf.workflows.drawing.links import Links
from dcf.workflows.drawing.scene import MARKERS, START, Graph, Node, nodes_in, scene_of
from dcf.workflows.drawing.statuses import Share, Standing, Statuses
from dcf.workflows.drawing.words import printable

_COLOURS: Final = {
    "page": ("#ffffff", "#11161c"),
    "ink": ("#16202a", "#e8edf2"),
    "soft": ("#52616f", "#a5b2bf"),
    "line": ("#5f7082", "#8c9baa"),
    "edge": ("#7f8f9e", "#63717f"),
    "box": ("#f3f6f9", "#1d252e"),
    "panel": ("#fafbfc", "#161c23"),
    "caught": ("#a34a00", "#f0a35e"),
    "running": ("#0b63b0", "#6cb6ff"),
    "running_box": ("#e3f0fc", "#12304d"),
    "succeeded": ("#1b6e35", "#6fd08c"),
    "succeeded_box": ("#e4f4e8", "#12361f"),
    "failed": ("#b3261e", "#ff8a80"),
    "failed_box": ("#fce8e6", "#471a17"),
    "cancelled": ("#7a5900", "#e6c15c"),
    "cancelled_box": ("#fbf1d5", "#3b2f0c"),
}
"""Each colour on a light and on a dark page."""


def _rules(pattern: str) -> str:
    """Return the rules of `colours.css`, in which each colour is written by a pattern of the light and the dark one."""
    rules = Template("".join((PACKAGE / "workflows" / "drawing" / "colours.css").read_text("utf-8").splitlines()))
    return rules.substitute({name: pattern.format(*colours) for name, colours in _COLOURS.items()})


_SHAPES: Final = (
    ".dcf-graph{font-family:system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif}"
    f".dcf-name{{font-size:{NAME_SIZE:g}px;font-weight:600;text-anchor:middle}}"
    f".dcf-note,.dcf-text,.dcf-text-caught,.dcf-title{{font-size:{NOTE_SIZE:g}px;text-anchor:middle}}"
    ".dcf-line{fill:none;stroke-width:1.5}.dcf-caught .dcf-line{stroke-dasharray:5 3}"
    ".dcf-panel{stroke-dasharray:2 3}.dcf-word{font-weight:600}.dcf-end{fill:none;stroke-width:2}"
)
_FORCED: Final = (
    "@media(forced-colors:active){.dcf-page,.dcf-plate,.dcf-shape,.dcf-panel{fill:Canvas!important}"
    ".dcf-shape,.dcf-panel,.dcf-line,.dcf-end{stroke:CanvasText!important}"
    ".dcf-head,.dcf-mark,.dcf-graph text,.dcf-graph tspan{fill:CanvasText!important}}"
)
"""The colours that somebody chose for all programs hold for pictures too; each status is a word and a mark as well."""

STYLE: Final = f"{_SHAPES}{_rules('{0}')}@media(prefers-color-scheme:dark){{{_rules('{1}')}}}{_FORCED}"
"""Style sheet of a picture alone; it is light or dark as the system is."""

PAGE_STYLE: Final = f"{_SHAPES}{_rules('light-dark({0},{1})')}{_FORCED}"
"""Style sheet of pictures drawn with `style=False`; they are light or dark as the page that shows them is."""


def draw_svg(
    machine: Machine,
    statuses: Statuses | None = None,
    shares: Mapping[str, Share] | None = None,
    *,
    title: str = "Workflow",
    style: bool = True,
) -> str:
    """Return the SVG. `statuses` are by the path of a state, `shares` by that of a Map.

    Raise InvalidArgument if the machine has more than MAX_STATES states.
    """
    graph = scene_of(machine)
    return draw_graph(graph, Standing(graph, statuses, shares), title=title, style=style)


def draw_graph(
    graph: Graph, standing: Standing, *, title: str = "Workflow", style: bool = True, links: Links | None = None
) -> str:
    """Return the SVG of a graph or a part of one; with `links` its states are links."""
    panel = lay_out(graph)
    width, height = picture_size(panel)
    body = "".join(_panel_parts(panel, standing, links))
    sheet = f"<style>{STYLE}</style>" if style else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="dcf-graph" role="graphics-document" '
        f'viewBox="0 0 {_n(width)} {_n(height)}" width="{_n(width)}" height="{_n(height)}" '
        f'aria-label="{_text(title)}">'
        f"<title>{_text(title)}</title><desc>{_text(_summary(graph, standing))}</desc>{sheet}"
        f'<rect class="dcf-page" width="100%" height="100%"/>{body}</svg>\n'
    )


def _summary(graph: Graph, standing: Standing) -> str:
    states = [node for node in nodes_in(graph) if node.kind not in MARKERS]
    lines = [f"{node.name}: {standing.words(node.path) or node.kind}" for node in states]
    return printable(f"{len(states)} states in reading order: {'; '.join(lines)}.", 4000)


def _panel_parts(panel: Panel, standing: Standing, links: Links | None) -> Iterator[str]:
    yield from map(_line, panel.lines)
    yield from map(_label, panel.labels)
    for box in sorted(panel.boxes, key=lambda box: (box.rect.y, box.rect.x)):
        yield from _box(box, standing, links)


def _box(box: Box, standing: Standing, links: Links | None) -> Iterator[str]:
    node, rect = box.node, box.rect
    if node.kind in MARKERS:
        yield _marker(rect, begins=node.kind == START)
        return
    status, words = standing.status(node.path), standing.words(node.path)
    known = f" dcf-{status}" if status in {"running", "succeeded", "failed", "cancelled"} else ""
    spoken = links.name_of(node, words) if links is not None else f"{node.name}: {words or node.kind}"
    yield "" if links is None else _opened(links, node)
    yield (
        f'<g class="dcf-state{known}" role="graphics-symbol" aria-label="{_text(spoken)}" '
        f'data-state="{_attribute(node.path)}" data-status="{_text(status or "")}">'
        f"<title>{_text(spoken)}</title>{_shape(node.kind, rect)}"
    )
    x, y = rect.x + rect.width / 2, rect.y
    signs = standing.signs(node.path)
    word = f' · <tspan class="dcf-word">{_text(signs)}</tspan>' if signs else ""
    yield f'<text class="dcf-name" x="{_n(x)}" y="{_n(y + 19)}">{_text(box.name)}</text>'
    yield f'<text class="dcf-note" x="{_n(x)}" y="{_n(y + 35)}">{_text(kind_text(node))}{word}</text>'
    yield "" if links is None else "</g></a>"
    for panel in box.panels:
        yield f'<g role="group" aria-label="{_text(f"{node.name}, {panel.title}")}">{_rect("dcf-panel", panel.rect, 6)}'
        middle = panel.rect.x + panel.rect.width / 2
        yield f'<text class="dcf-note" x="{_n(middle)}" y="{_n(panel.rect.y + 14)}">{_text(panel.title)}</text>'
        yield from _panel_parts(panel, standing, links)
        yield "</g>"
    yield "</g>" if links is None else ""


def _opened(links: Links, node: Node) -> str:
    """Begin the link of a state, which holds its box without what is drawn inside it, and is called as the box is."""
    chosen = ' aria-current="true"' if node.path == links.chosen else ""
    following = escape(json.dumps(links.following.get(node.path, ()), allow_nan=False))
    return f'<a class="dcf-link" href="{escape(links.to(node.path))}"{chosen} data-next="{following}">'


def _marker(rect: Rect, *, begins: bool) -> str:
    x, y, radius = rect.x + rect.width / 2, rect.y + rect.height / 2, rect.width / 2
    inner = f'<circle class="dcf-mark" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius - (0 if begins else 4))}"/>'
    ring = f'<circle class="dcf-end" cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius - 1)}"/>'
    name = "start" if begins else "end"
    return f'<g role="graphics-symbol" aria-label="{name}"><title>{name}</title>{inner}{"" if begins else ring}</g>'


def _shape(kind: str, rect: Rect) -> str:
    if kind == "Choice":
        left, top, right, bottom = rect.x, rect.y, rect.x + rect.width, rect.y + rect.height
        middle, cut = top + rect.height / 2, 14.0
        corners = (
            (left, middle),
            (left + cut, top),
            (right - cut, top),
            (right, middle),
            (right - cut, bottom),
            (left + cut, bottom),
        )
        return f'<polygon class="dcf-shape" points="{" ".join(map(_point, corners))}"/>'
    return _rect("dcf-shape", rect, rect.height / 2 if kind in {"Succeed", "Fail"} else 7)


def _rect(name: str, rect: Rect, radius: float) -> str:
    place = f'x="{_n(rect.x)}" y="{_n(rect.y)}" width="{_n(rect.width)}" height="{_n(rect.height)}"'
    return f'<rect class="{name}" {place} rx="{_n(radius)}"/>'


def _line(line: Line) -> str:
    first, second, third, last = line.points
    if line.loop:
        back = (HEAD, 0.0)
        path = f"M{_point(first)}C{_point(second)} {_point(third)} {_point(_moved(last, back))}"
    else:
        back = (0.0, HEAD if first[1] > last[1] else -HEAD)
        middle = (second[1] + third[1]) / 2
        curve = (
            f"C{_point((second[0], middle))} {_point((third[0], middle))} {_point(_before(third, last, back, line))}"
        )
        path = f"M{_point(first)}L{_point(second)}{curve}L{_point(_moved(last, back) if line.head else last)}"
    head = _head(last, back) if line.head else ""
    return f'<g class="{"dcf-caught" if line.dashed else "dcf-way"}"><path class="dcf-line" d="{path}"/>{head}</g>'


def _before(third: Point, last: Point, back: Point, line: Line) -> Point:
    """Return where the curve ends: at the arrow's head or before it."""
    stop = _moved(last, back) if line.head else last
    nearer = min if back[1] < 0 else max
    return (third[0], nearer(third[1], stop[1]))


def _head(tip: Point, back: Point) -> str:
    """Draw an arrow's head; `back` is the vector from its tip to the middle of its base."""
    x, y = _moved(tip, back)
    across = (4.0, 0.0) if back[1] else (0.0, 4.0)
    corners = (tip, (x - across[0], y - across[1]), (x + across[0], y + across[1]))
    return f'<polygon class="dcf-head" points="{" ".join(map(_point, corners))}"/>'


def _moved(point: Point, by: Point) -> Point:
    return (point[0] + by[0], point[1] + by[1])


def _label(label: Label) -> str:
    plate = Rect(x=label.x - label.width / 2, y=label.y - 8, width=label.width, height=16)
    kind = "dcf-text-caught" if label.dashed else "dcf-text"
    more = f"<title>{_text(label.full)}</title>" if label.full != label.text else ""
    text = f'<text class="{kind}" x="{_n(label.x)}" y="{_n(label.y + 4)}">{_text(label.text)}</text>'
    return f'<g class="dcf-label">{more}{_rect("dcf-plate", plate, 3)}{text}</g>'


def _text(text: str) -> str:
    return escape(printable(text, 4000))


def _attribute(path: str) -> str:
    """Escape a path without cutting it, since programs compare it."""
    return escape("".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in path))


def _point(point: Point) -> str:
    return f"{_n(point[0])},{_n(point[1])}"


def _n(value: float) -> str:
    return f"{round(value, 1):g}"
