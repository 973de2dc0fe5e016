"""The texts of the MCP prompts, as Markdown files with `{names}` to fill in. Nothing else is here."""

from functools import cache
from pathlib import Path

_PLACE = Path(__file__).parent


@cache
def text_of(name: str) -> str:
    """Return the text of the prompt of this name."""
    return (_PLACE / f"{name}.md").read_text("utf-8").strip()
