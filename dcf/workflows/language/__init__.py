"""How a workflow is written, on one page each for flows in Python and for documents in Amazon States Language.

The pages are short, since a model reads all of one before it writes anything. Tests run their examples.
"""

import json
from functools import cache
from pathlib import Path
from typing import Final

from dcf.asl.limits import MAX_ITEMS
from dcf.asl.syntax.parsing import MAX_STATES
from dcf.core.documents.model import DEFAULT_MAX_ATTEMPTS
from dcf.values.json_text import MAX_BYTES, MAX_DEPTH, Json

EXAMPLES: Final = ("smallest", "programme")
"""The examples of the page, each a file in its directory."""

MAX_DOCUMENT: Final = 1024 * 1024

_PLACE: Final = Path(__file__).parent
_KIB: Final = 1024


@cache
def describe() -> str:
    """Return the page about documents as Markdown."""
    page = (_PLACE / "page.md").read_text("utf-8")
    blocks = {name: f"```json\n{_shown(name)}\n```" for name in EXAMPLES}
    return page.format(
        **blocks,
        document_kib=MAX_DOCUMENT // _KIB,
        states=MAX_STATES,
        value_kib=MAX_BYTES // _KIB,
        items=MAX_ITEMS,
        depth=MAX_DEPTH,
        attempts=DEFAULT_MAX_ATTEMPTS,
    )


@cache
def describe_flows() -> str:
    """Return the page about flows as Markdown."""
    return (_PLACE / "flows.md").read_text("utf-8")


def example(name: str) -> Json:
    """Return an example of the page."""
    return json.loads(_shown(name))


def _shown(name: str) -> str:
    return (_PLACE / f"{name}.json").read_text("utf-8").strip()
