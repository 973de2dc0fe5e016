"""The checks of every request of the web page before a page is made: Host and Origin; and safe headers on answers.

The check of hosts is that of /mcp: without it a foreign site could read the pages through a name that resolves to this
machine. A request that changes something must also come from a page of this very host: neither another site nor
another port may send one, whatever origins /mcp accepts.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dcf.settings.process import Settings
from dcf.verbs.endpoints import host_check

POLICY: Final = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
"""The permissions of a page: it loads files of this server, and runs no inline scripts."""

_HEADERS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser hides the Origin of our own forms
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_FOREIGN: Final = "Forms are taken only from the pages of this server. Open the page by the name that you call it by."
_READ: Final = frozenset({"GET", "HEAD"})


class Guard:
    """Passes on the requests that come from where they should."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._check_host = host_check(settings)
        self._public = urlsplit(settings.public_url or "").netloc.lower()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, with the safe headers on every answer, refusals as well."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = await self._refusal(Request(scope, receive))
        await (self._app if refused is None else refused)(scope, receive, send_safely)

    async def _refusal(self, request: Request) -> Response | None:
        is_own = self._is_own(request)
        refused = await self._check_host(_without_origin(request) if is_own else request)
        if refused is not None:
            return refused
        if request.method not in _READ and not is_own:
            return PlainTextResponse(_FOREIGN, 403)
        return None

    def _is_own(self, request: Request) -> bool:
        """Return whether a browser says that a page of this host sent the request."""
        site = request.headers.get("sec-fetch-site")
        if site not in {None, "same-origin", "none"}:
            return False
        origin = request.headers.get("origin")
        if origin is None:
            return site == "same-origin"
        netloc = origin.lower().partition("://")[2]
        return bool(netloc) and netloc in {request.headers.get("host", "").lower(), self._public}


def _without_origin(request: Request) -> Request:
    """Return the request as the check of hosts needs it, whose list of origins is for other sites."""
    headers = [(name, value) for name, value in request.scope["headers"] if name != b"origin"]
    return Request({**request.scope, "headers": headers})
