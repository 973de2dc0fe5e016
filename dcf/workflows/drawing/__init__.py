"""Draws a state machine as text, Mermaid or SVG, all from the same scene. Pure."""

from dcf.workflows.drawing.mermaid import draw_mermaid
from dcf.workflows.drawing.outline import draw_text
from dcf.workflows.drawing.statuses import Share
from dcf.workflows.drawing.svg import PAGE_STYLE, STYLE, draw_svg

__all__ = ["PAGE_STYLE", "STYLE", "Share", "draw_mermaid", "draw_svg", "draw_text"]
