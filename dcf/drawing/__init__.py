"""Pictures of a machine, pure: text, Mermaid and SVG from the same scene."""

from dcf.drawing.mermaid import draw_mermaid
from dcf.drawing.outline import draw_text
from dcf.drawing.statuses import Share
from dcf.drawing.svg import STYLE, draw_svg

__all__ = ["STYLE", "Share", "draw_mermaid", "draw_svg", "draw_text"]
