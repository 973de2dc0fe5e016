"""The workflow language on one page, for a model that is to write a workflow: made from examples that the tests run.

It is short, since a model reads all of it before it writes anything.
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
"""The examples of the page, each a file beside it."""

MAX_DOCUMENT: Final = 1024 * 1024

_PLACE: Final = Path(__file__).parent
_KIB: Final = 1024


@cache
def describe() -> str:
    """Return the page as Markdown."""
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


def example(name: str) -> Json:
    """Return an example of the page."""
    return json.loads(_shown(name))


def _shown(name: str) -> str:
    return (_PLACE / f"{name}.json").read_text("utf-8").strip()
