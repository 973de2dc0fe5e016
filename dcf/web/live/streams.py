"""The event streams of the pages: /runs/RUN/live of a run, /live of the list of runs, /accounts/live of accounts.

A stream ends when the server stops (`LivePages.stop`), when its visit is no longer valid, when Redis is lost, and
at once when its page goes. The browser then asks again, and says after which event: see `runs`.
"""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeAlias

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from dcf.application.application import Application
from dcf.errors import DcfError
from dcf.jitter import JITTER
from dcf.values.json_text import Json, dump
from dcf.values.records import record
from dcf.verbs.limits import refuse_excess
from dcf.web.live import lists
from dcf.web.live.lists import ListFeeds
from dcf.web.live.readers import Place, Stream, StreamMessage, Streams, message
from dcf.web.live.runs import FirstTold, RunFeeds
from dcf.web.pages.runs import asked_for
from dcf.web.visit import ToolRefused, Visit

log = logging.getLogger(__name__)

HEARTBEAT_S: Final = 15.0
"""Seconds of silence after which a comment is sent: it detects closed connections, and keeps open ones."""
CHECK_S: Final = 5.0
"""Seconds after which it is looked up again whether the visit holds."""
RETRY_MS: Final = (1500, 3000)
"""Milliseconds after which pages ask again, at random between these, since a server that stops ends many at once."""
_EVERY_S: Final = 0.5
_EVERY_S_PER_PAGE: Final = 0.015
"""Seconds between refreshes, and how many more for each open page: a page costs the server about a third of that."""
CLOCK_S: Final = 30.0
"""Seconds of silence after which a page is refreshed for what changes by time alone."""
_RETRY_AFTER_S: Final = 30
_ID: Final = re.compile(r"[0-9]{1,15}-[0-9]{1,10}(\.[0-9]{1,6})?\Z")
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

Answer: TypeAlias = Callable[[Request], Awaitable[Response]]
VisitOf: TypeAlias = Callable[[Request], Visit]
Answered: TypeAlias = Callable[[Awaitable[Response]], Awaitable[Response]]
"""Returns the answer, or that to the expected error that was raised instead."""
Holds: TypeAlias = Callable[[Request, Visit], Awaitable[bool]]
"""Returns whether a request would still be let in, with the same visit."""
Again: TypeAlias = Callable[[], Awaitable[FirstTold]]
Leave: TypeAlias = Callable[[], None]


async def always(_: Request, __: Visit) -> bool:
    """Say that a visit holds, where there is no log-in that could end."""
    return True


@record(frozen=True, slots=True, kw_only=True)
class _Opened:
    """A stream that was joined: what it is sent first, how it begins again, and how it is left."""

    stream: Stream
    first: FirstTold
    again: Again
    leave: Leave
    holds: Callable[[], Awaitable[bool]]


class LivePages:
    """The live pages of one server. Belongs to its event loop."""

    def __init__(self, application: Application, streams: Streams | None = None) -> None:
        self.streams = Streams() if streams is None else streams
        self.runs = RunFeeds(application, self._every_s)
        self.lists = ListFeeds(self._every_s)

    def stop(self) -> None:
        """End all streams, so that the server need not wait for them."""
        self.streams.end()

    async def close(self) -> None:
        """Close what the streams used."""
        self.stop()
        await self.runs.close()
        await self.lists.close()

    def _every_s(self) -> float:
        return _EVERY_S + _EVERY_S_PER_PAGE * len(self.streams)

    async def open_run(
        self, visit: Visit, workflow_id: str, after: str | None, holds: Holds, request: Request
    ) -> Response:
        """Return the stream of a run. Raise UnknownRun, and RateLimited for a caller that asks too often."""
        refuse_excess(visit.caller)
        await anyio.to_thread.run_sync(visit.check_run, workflow_id)
        stream = self.streams.enter(visit.caller.name)
        if isinstance(stream, str):
            return _full(stream)

        def leave() -> None:
            self.runs.leave(stream, workflow_id)
            self.streams.leave(stream)

        try:
            first = await self.runs.join(stream, workflow_id, after)
        except BaseException:
            leave()
            raise
        again = partial(self.runs.again, workflow_id)

        async def still() -> bool:
            """Ask also for the run: once it was deleted, its id may be that of a run of another project."""
            if not await holds(request, visit):
                return False
            await anyio.to_thread.run_sync(visit.check_run, workflow_id)
            return True

        return EventStream(_Opened(stream=stream, first=first, again=again, leave=leave, holds=still))

    async def open_list(self, visit: Visit, after: str | None, holds: Holds, request: Request) -> Response:
        """Return the stream of a list of runs. Raise ToolRefused for filters that mean nothing, and RateLimited."""
        filters = asked_for(request.query_params)
        return await self._open_list(visit, lists.RUNS, ("list_runs", filters), after, partial(holds, request, visit))

    async def open_accounts(self, visit: Visit, after: str | None, holds: Holds, request: Request) -> Response:
        """Return the stream of the list of accounts. Raise ToolRefused for who may not read it, and RateLimited."""
        question = ("list_accounts", dict[str, Json]())
        return await self._open_list(visit, lists.ACCOUNTS, question, after, partial(holds, request, visit))

    async def _open_list(
        self,
        visit: Visit,
        kind: lists.ListKind,
        question: tuple[str, dict[str, Json]],
        after: str | None,
        holds: Callable[[], Awaitable[bool]],
    ) -> Response:
        refuse_excess(visit.caller)
        tool, arguments = question
        key = dump([visit.caller.name, visit.caller.project, tool, sorted(arguments.items())])
        stream = self.streams.enter(visit.caller.name)
        if isinstance(stream, str):
            return _full(stream)

        def leave() -> None:
            self.lists.leave(stream, key)
            self.streams.leave(stream)

        async def again() -> FirstTold:
            return _unplaced(await self.lists.again(key))

        try:
            missed = await self.lists.join(stream, key, lists.reader_of(visit.ask, tool, arguments), after, kind)
        except BaseException:
            leave()
            raise
        first = _unplaced(missed)
        return EventStream(_Opened(stream=stream, first=first, again=again, leave=leave, holds=holds))


def live_routes(live: LivePages, visit_of: VisitOf, answered: Answered, holds: Holds = always) -> list[Route]:
    """Return the routes of the streams.

    `visit_of` says who asks, `answered` makes answers out of errors, and `holds` says whether a stream may continue.
    """

    async def of_run(request: Request) -> Response:
        after = _after(request)
        known = after if after is not None and _ID.match(after) else None
        run = request.path_params["workflow_id"]
        return await answered(live.open_run(visit_of(request), run, known, holds, request))

    async def of_list(request: Request) -> Response:
        return await answered(live.open_list(visit_of(request), _after(request), holds, request))

    async def of_accounts(request: Request) -> Response:
        return await answered(live.open_accounts(visit_of(request), _after(request), holds, request))

    return [
        Route("/live", _only_get(of_list)),
        Route("/accounts/live", _only_get(of_accounts)),
        Route("/runs/{workflow_id}/live", _only_get(of_run)),
    ]


def _only_get(answer: Answer) -> Answer:
    """Reject HEAD, which Starlette accepts with GET: the stream would continue without a reader."""

    async def checked(request: Request) -> Response:
        if request.method != "GET":
            return Response(status_code=405, headers={"Allow": "GET"})
        return await answer(request)

    return checked


class EventStream(StreamingResponse):
    """A stream of server-sent events as an answer; its place is given up however it ends."""

    def __init__(self, opened: _Opened) -> None:
        super().__init__(_told(opened), headers=_HEADERS, media_type="text/event-stream")
        self._leave = opened.leave

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events until the stream ends or the page is gone."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._leave()


async def _told(opened: _Opened) -> AsyncIterator[bytes]:
    """Yield the messages; if something cannot be read, end: the page asks again, and gets the error then."""
    try:
        async for sent in _sent(opened):
            yield sent
    except (DcfError, ToolRefused) as error:
        log.info("an event stream ended: %s", error)


async def _sent(opened: _Opened) -> AsyncIterator[bytes]:
    stream, place = opened.stream, opened.first.place
    loop = asyncio.get_running_loop()
    yield b"".join(
        (f"retry: {JITTER.randint(*RETRY_MS)}\n\n".encode(), *(message.text for message in opened.first.messages))
    )
    sent_at = checked_at = refreshed_at = loop.time()
    while not stream.is_ended:
        await stream.stir(CHECK_S)
        messages = stream.take()
        if stream.is_ended:
            break
        if messages is None:
            beginning = await opened.again()
            waiting, place = list(beginning.messages), beginning.place
        else:
            waiting, place = _later(messages, place)
        now = loop.time()
        if now >= checked_at + CHECK_S:
            checked_at = now
            if not await opened.holds():
                yield message("ended", {"why": "Your visit has ended."}).text
                return
        if not waiting and now >= refreshed_at + CLOCK_S:
            waiting = [message("refresh", {"version": f"t{int(time.monotonic() / CLOCK_S)}"})]
        if waiting:
            sent_at = refreshed_at = now
            yield b"".join(event.text for event in waiting)
        elif now >= sent_at + HEARTBEAT_S:
            sent_at = now
            yield b": still here\n\n"


def _later(waiting: Sequence[StreamMessage], place: Place) -> tuple[list[StreamMessage], Place]:
    """Return the messages that the page has not had, and up to where it has heard with them."""
    later: list[StreamMessage] = []
    for event in waiting:
        if event.place is None:
            later.append(event)
        elif event.place > place:
            later.append(event)
            place = event.place
    return later, place


def _unplaced(messages: Sequence[StreamMessage]) -> FirstTold:
    return FirstTold(messages, (0, 0, 0))


def _after(request: Request) -> str | None:
    return request.headers.get("last-event-id") or request.query_params.get("after")


def _full(why: str) -> Response:
    return PlainTextResponse(why, 429, {"Retry-After": str(_RETRY_AFTER_S)})
