"""The two ways in which a client's verb calls its tool: once for one answer, or page after page for a list.

The verbs of `rows.py` are made of these, and most functions in `steps/`. As there, nothing here waits or sends: the
drivers of `exchange.py` do.
"""

from typing import TypeVar

from dcf.client.arguments import given
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.values.json_text import Json

R = TypeVar("R")


def call_tool(kind: type[R], tool: str, /, **arguments: Json) -> Conversation[R]:
    """Call one tool, leaving out arguments that are None, and return its answer as a record."""
    answer = yield ToolCall(tool, given(**arguments))
    return read(kind, accepted(answer))


def call_pages(kind: type[R], tool: str, field: str, /, **arguments: Json) -> Stream[R]:
    """Yield what the pages of a tool's answer have in a field, as records; the next page is read when it is needed."""
    cursor = None
    while True:
        page = accepted((yield ToolCall(tool, given(**arguments, cursor=cursor))))
        for row in page[field] or ():
            yield Item(read(kind, row))
        cursor = page.get("next_cursor")
        if cursor is None:
            return
