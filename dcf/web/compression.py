"""Compresses pages, since that of a run of a thousand states is half a megabyte otherwise.

A page may hold a secret (a form's token, texts of a run) and also text from its address. An attacker who makes a
visitor's browser ask for many addresses can then learn the secret from the sizes of compressed pages (BREACH). So the
answer to a request with a cookie is compressed only if the browser says that the visitor, or a page of this site, made
the request. Requests of other sites get plain answers. Only HTML is compressed: no event stream waits.
"""

import gzip
from typing import Final

import anyio.to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_OWN: Final = frozenset({"same-origin", "none"})
_SMALL: Final = 1_000
_LEVEL: Final = 6


class Compressed:
    """Answers as the application does, pages compressed where that is asked for and safe."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        if scope["type"] == "http" and _may_compress(Headers(scope=scope)):
            await self._app(scope, receive, _Sender(send))
        else:
            await self._app(scope, receive, send)


class _Sender:
    """Holds the beginning of an answer back until it is known whether all of it is there, and HTML."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._held: Message | None = None

    async def __call__(self, message: Message) -> None:
        """Send the next message of the answer."""
        if message["type"] == "http.response.start" and _is_page(Headers(raw=message["headers"])):
            self._held = message
            return
        held_start, self._held = self._held, None
        if held_start is not None:
            body = message.get("body", b"")
            headers = MutableHeaders(scope=held_start)
            headers.add_vary_header("Accept-Encoding")
            headers.add_vary_header("Sec-Fetch-Site")
            if len(body) > _SMALL and not message.get("more_body", False):
                small = await anyio.to_thread.run_sync(gzip.compress, body, _LEVEL)
                headers["Content-Encoding"], headers["Content-Length"] = "gzip", str(len(small))
                message = {**message, "body": small}
            await self._send(held_start)
        await self._send(message)


def _may_compress(headers: Headers) -> bool:
    return "gzip" in headers.get("accept-encoding", "") and (
        "cookie" not in headers or headers.get("sec-fetch-site") in _OWN
    )


def _is_page(headers: Headers) -> bool:
    return headers.get("content-type", "").startswith("text/html") and "content-encoding" not in headers
