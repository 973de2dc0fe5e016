"""A receiver of webhooks on a loopback port, which does as a test says and remembers what came."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from dcf.webhooks import WebhookEvent, verify
from tests.tools.calls import serving

Answering = Callable[[], Response]


@dataclass(frozen=True, kw_only=True)
class Came:
    """A request as it came."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(kw_only=True)
class Receiver:
    """Answers `next` in turn, then 204. `hold` is waited for before each answer."""

    url: str = ""
    next: list[Response] = field(default_factory=list)
    came: list[Came] = field(default_factory=list)
    hold: threading.Event = field(default_factory=threading.Event)

    def answers(self, *statuses: int, **headers: str) -> None:
        self.next.extend(Response(status_code=status, headers=headers) for status in statuses)

    def events(self, secrets: Any, **more: Any) -> list[WebhookEvent]:
        return [verify(came.headers, came.body, secrets, **more) for came in self.came]


@contextmanager
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    receiver.hold.set()

    async def take(request: Request) -> Response:
        receiver.came.append(Came(headers=dict(request.headers), body=await request.body()))
        while not receiver.hold.is_set():
            await _turn()
        return receiver.next.pop(0) if receiver.next else Response(status_code=204)

    with serving(Starlette(routes=[Route("/{path:path}", take, methods=["GET", "POST"])])) as base:
        receiver.url = f"{base}/hook"
        yield receiver
        receiver.hold.set()


async def _turn() -> None:
    import anyio  # noqa: PLC0415 - the test's event loop

    await anyio.sleep(0.01)
