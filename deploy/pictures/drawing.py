"""Draws boxes and arrows on a grid as SVG, for light and dark pages. Knows no picture; `concepts` describes them."""

from collections.abc import Iterator
from html import escape
from typing import Final, Literal, NamedTuple

Tone = Literal["plain", "good", "bad", "key"]

_CELL_WIDTH: Final = 190
_CELL_HEIGHT: Final = 92
_BOX_WIDTH: Final = 150
_LINE_HEIGHT: Final = 17
_MARGIN: Final = 24

_STYLE: Final = (
    "text{font:13px system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif;text-anchor:middle;fill:#16202a}"
    ".b{font-weight:600}.s{font-size:12px;fill:#52616f}.page{fill:#fff}"
    ".box{fill:#f3f6f9;stroke:#7f8f9e}.good{fill:#e4f4e8;stroke:#1b6e35}.bad{fill:#fce8e6;stroke:#b3261e}"
    ".key{fill:#e3f0fc;stroke:#0b63b0}.line{fill:none;stroke:#5f7082;stroke-width:1.5}.head{fill:#5f7082}"
    ".plate{fill:#fff}"
    "@media(prefers-color-scheme:dark){text{fill:#e8edf2}.s{fill:#a5b2bf}.page,.plate{fill:#11161c}"
    ".box{fill:#1d252e;stroke:#63717f}.good{fill:#12361f;stroke:#6fd08c}.bad{fill:#471a17;stroke:#ff8a80}"
    ".key{fill:#12304d;stroke:#6cb6ff}.line{stroke:#8c9baa}.head{fill:#8c9baa}}"
)


class Box(NamedTuple):
    """A box at a column and a row of the grid (halves are allowed): its first line is bold."""

    column: float
    row: float
    lines: tuple[str, ...]
    tone: Tone = "plain"


class Arrow(NamedTuple):
    """An arrow between two boxes, by their first lines, with its words."""

    start: str
    end: str
    words: str = ""


class Picture(NamedTuple):
    """A picture: what it shows in a sentence, for readers who cannot see it, its boxes and its arrows."""

    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...] = ()


def draw(picture: Picture) -> str:
    """Return the SVG of a picture."""
    columns = max(box.column for box in picture.boxes)
    rows = max(box.row for box in picture.boxes)
    width = 2 * _MARGIN + columns * _CELL_WIDTH + _BOX_WIDTH
    height = 2 * _MARGIN + rows * _CELL_HEIGHT + max(map(_height, picture.boxes))
    by_name = {box.lines[0]: box for box in picture.boxes}
    body = [part for arrow in picture.arrows for part in _arrow(by_name[arrow.start], by_name[arrow.end], arrow.words)]
    body += [part for box in picture.boxes for part in _box(box)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-label="{escape(picture.title)}"><title>{escape(picture.title)}</title>'
        f'<style>{_STYLE}</style><rect class="page" width="100%" height="100%"/>{"".join(body)}</svg>\n'
    )


def _height(box: Box) -> float:
    return 18 + _LINE_HEIGHT * len(box.lines)


def _corner(box: Box) -> tuple[float, float]:
    return _MARGIN + box.column * _CELL_WIDTH, _MARGIN + box.row * _CELL_HEIGHT


def _box(box: Box) -> Iterator[str]:
    x, y = _corner(box)
    tone = "box" if box.tone == "plain" else box.tone
    yield f'<rect class="{tone}" x="{x:g}" y="{y:g}" width="{_BOX_WIDTH}" height="{_height(box):g}" rx="6"/>'
    for number, line in enumerate(box.lines):
        at = y + 20 + number * _LINE_HEIGHT
        yield f'<text class="{"s" if number else "b"}" x="{x + _BOX_WIDTH / 2:g}" y="{at:g}">{escape(line)}</text>'


def _arrow(start: Box, end: Box, words: str) -> Iterator[str]:
    (x1, y1), (x2, y2) = _edge(start, end), _edge(end, start)
    dx, dy = x2 - x1, y2 - y1
    length = (dx * dx + dy * dy) ** 0.5
    ux, uy = dx / length, dy / length
    yield f'<path class="line" d="M{x1:g} {y1:g}L{x2 - ux * 8:g} {y2 - uy * 8:g}"/>'
    left, right = (x2 - ux * 9 - uy * 4, y2 - uy * 9 + ux * 4), (x2 - ux * 9 + uy * 4, y2 - uy * 9 - ux * 4)
    yield f'<path class="head" d="M{x2:g} {y2:g}L{left[0]:.1f} {left[1]:.1f}L{right[0]:.1f} {right[1]:.1f}Z"/>'
    if words:
        x, y, room = (x1 + x2) / 2, (y1 + y2) / 2, 6.4 * len(words) + 6
        yield f'<rect class="plate" x="{x - room / 2:g}" y="{y - 9:g}" width="{room:g}" height="17"/>'
        yield f'<text class="s" x="{x:g}" y="{y + 4:g}">{escape(words)}</text>'


def _edge(box: Box, other: Box) -> tuple[float, float]:
    """Return the point on the edge of a box that faces the other box."""
    x, y = _corner(box)
    middle_x, middle_y = x + _BOX_WIDTH / 2, y + _height(box) / 2
    other_x, other_y = _corner(other)
    dx = other_x + _BOX_WIDTH / 2 - middle_x
    dy = other_y + _height(other) / 2 - middle_y
    if abs(dy) * _BOX_WIDTH > abs(dx) * _height(box):
        return middle_x, middle_y + (_height(box) / 2 if dy > 0 else -_height(box) / 2)
    return middle_x + (_BOX_WIDTH / 2 if dx > 0 else -_BOX_WIDTH / 2), middle_y
