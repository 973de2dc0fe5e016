"""Draws steps a second as plain bars: an SVG that reads on a light and on a dark page."""

from collections.abc import Sequence
from html import escape
from typing import Final

from benchmarks.peers.figures import Case, Figures
from benchmarks.peers.systems import System

PANELS: Final = (
    ("Chain, one worker, one step at a time", Case("chain")),
    ("dag of diamonds, one worker, ten steps at once", Case("dag", 1, 10)),
    ("dag of diamonds, one worker, one step at a time", Case("dag")),
    ("Map, one worker, one step at a time", Case("map")),
)

_WIDTH, _LEFT, _RIGHT = 720, 170, 80
_BAR, _STEP, _HEAD = 16, 24, 34

_STYLE: Final = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .head { font-weight: 600 }
  .peer { fill: #8c959f }
  .own { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .peer { fill: #6e7681 }
    .own { fill: #58a6ff }
  }
"""


def draw(figures: Figures, systems: Sequence[System], note: str) -> str:
    """Return a picture with a group of bars for each panel that has figures."""
    parts: list[str] = []
    top = 8
    for title, case in PANELS:
        rates = [(system, rate) for system in systems if (rate := figures.rate(system.name, case)) is not None]
        if not rates:
            continue
        parts.append(f'<text class="head" x="8" y="{top + 18}">{escape(title)}: steps a second</text>')
        top += _HEAD
        most = max(rate for _, rate in rates)
        for system, rate in sorted(rates, key=lambda rate: -rate[1]):
            parts += _bar(system, rate, rate / most, top)
            top += _STEP
        top += 10
    parts.append(f'<text x="8" y="{top + 14}">{escape(note)}</text>')
    size = f'viewBox="0 0 {_WIDTH} {top + 28}" width="{_WIDTH}" height="{top + 28}"'
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="Steps a second of dcf and its peers">\n'
        f"<style>{_STYLE}</style>\n{body}\n</svg>\n"
    )


def _bar(system: System, rate: float, share: float, top: int) -> list[str]:
    length = max(1, round(share * (_WIDTH - _LEFT - _RIGHT)))
    kind = "own" if system.name.startswith("dcf") else "peer"
    line = top + _BAR - 3
    return [
        f'<text x="{_LEFT - 8}" y="{line}" text-anchor="end">{escape(system.title)}</text>',
        f'<rect class="{kind}" x="{_LEFT}" y="{top}" width="{length}" height="{_BAR}"/>',
        f'<text x="{_LEFT + length + 6}" y="{line}">{rate:,.0f}</text>',
    ]
