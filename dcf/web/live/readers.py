"""The open event streams of this process: what waits to be sent to each page, and how many there may be.

A stream holds a bounded number of messages. A page that reads them too slowly loses all of them and must begin again,
so that it delays no other page. Belongs to one event loop, and must not know runs or HTTP.
"""

import asyncio
import json
from collections import Counter, deque
from collections.abc import Mapping
from itertools import count
from typing import Any, Final

from dcf.values.records import record

MOST: Final = 400
"""Open streams of this process."""
MOST_OF_ONE: Final = 120
"""Open streams of one visitor. Without keys all pages of this machine are those of one visitor."""
MOST_WAITING: Final = 200
"""Messages that wait for one page."""

Place = tuple[int, int, int]


@record(frozen=True, slots=True)
class StreamMessage:
    """A message as it is sent, made once for all pages. `place` is its place in a run's history, if it has one."""

    text: bytes
    place: Place | None = None


def message(
    event: str, data: Mapping[str, Any], *, event_id: str | None = None, place: Place | None = None
) -> StreamMessage:
    """Return an event of a stream. JSON has no line breaks, so the data is one line."""
    head = "" if event_id is None else f"id: {event_id}\n"
    body = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return StreamMessage(f"{head}event: {event}\ndata: {body}\n\n".encode(), place)


class Stream:
    """The events that are not yet sent to one page of a visitor."""

    def __init__(self, visitor: str) -> None:
        self.visitor = visitor
        self.is_ended = False
        self._waiting: deque[StreamMessage] = deque()
        self._is_behind = False
        self._stirred = asyncio.Event()

    def put(self, stream_message: StreamMessage) -> None:
        """Let a message wait; one too many, and all are dropped."""
        if self._is_behind:
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.clear()
            self._is_behind = True
        else:
            self._waiting.append(stream_message)
        self._stirred.set()

    def end(self) -> None:
        """Let the stream end, whatever waits."""
        self.is_ended = True
        self._stirred.set()

    async def stir(self, seconds: float) -> None:
        """Wait until there is something to do, at most `timeout_s`."""
        try:
            async with asyncio.timeout(seconds):
                await self._stirred.wait()
        except TimeoutError:
            return

    def take(self) -> list[StreamMessage] | None:
        """Return all that waits; None if the page was too slow, so that it has to begin again."""
        self._stirred.clear()
        if self.is_ended:
            self._stirred.set()
        if self._is_behind:
            self._is_behind = False
            return None
        stream_messages = list(self._waiting)
        self._waiting.clear()
        return stream_messages


class Streams:
    """The open streams: so many for all, and for each visitor."""

    def __init__(self, most: int = MOST, most_of_one: int = MOST_OF_ONE) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._open: set[Stream] = set()
        self._of_visitors: Counter[str] = Counter()
        self._is_over = False

    def __len__(self) -> int:
        return len(self._open)

    def enter(self, visitor: str) -> Stream | str:
        """Return a new stream, or the sentence that says why there is none."""
        if self._is_over:
            return "This server is stopping."
        if len(self._open) >= self._most:
            return f"All {self._most} live pages of this server are taken. Close some, or look at this one as it is."
        if self._of_visitors[visitor] >= self._most_of_one:
            return f"You have {self._most_of_one} live pages open, which is the most. Close some of them."
        stream = Stream(visitor)
        self._open.add(stream)
        self._of_visitors[visitor] += 1
        return stream

    def leave(self, stream: Stream) -> None:
        """Give its place up. Idempotent."""
        if stream in self._open:
            self._open.discard(stream)
            self._of_visitors[stream.visitor] -= 1
            self._of_visitors = +self._of_visitors

    def end(self) -> None:
        """End all streams, and open no new ones."""
        self._is_over = True
        for stream in self._open:
            stream.end()


_VERSIONS: Final = count(1)


def refresh() -> StreamMessage:
    """Return the message that the page may ask for its own HTML again.

    Pages that get this message together ask for the same version, so that it is made once for all (`shared_pages`).
    """
    return message("refresh", {"version": str(next(_VERSIONS))})
