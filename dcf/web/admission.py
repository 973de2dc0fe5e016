"""Lets a request in: finds its visit, and checks the form that it brings. What is not said to be open is closed.

It comes before every route, so that a new route is behind the log-in, and so that no route accepts a form without the
token of its visit. A route finds them by `visit_of` and `form_of`.
"""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dcf.web.answers import answered, error_page
from dcf.web.forms import check_token, own_path, read_form
from dcf.web.sessions import COOKIE, LOGIN, Sessions
from dcf.web.templating import html
from dcf.web.visit import Visit, visiting

OPEN: Final = frozenset({"", "/", "/login"})
"""Paths that need no log-in: they show no run."""
OPEN_FOLDER: Final = "/static/"

SEE_OTHER: Final = 303
_METHODS: Final = frozenset({"GET", "HEAD", "POST"})
_GROWTH: Final = 3
"""How much longer a text gets at most in a form: each byte is written as three."""
_MORE_BYTES: Final = 64 * 1024


class Admission:
    """Passes on the requests of visitors that are logged in, and all requests for open paths."""

    def __init__(self, app: ASGIApp, sessions: Sessions) -> None:
        self._app = app
        self._sessions = sessions
        self._most = sessions.application.settings.max_document_bytes * _GROWTH + _MORE_BYTES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request."""
        if scope["type"] == "http" and scope["method"] not in _METHODS:
            await _wrong_method()(scope, receive, send)
            return
        if scope["type"] != "http" or _is_open(scope):
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        refused: Response | None = await answered(self._admitted(request))
        if refused is not None:
            await refused(scope, receive, send)
            return
        with visiting(visit_of(request)):
            await self._app(scope, receive, send)

    async def _admitted(self, request: Request) -> Response | None:
        """Note who makes the request, and its form; return what else to answer."""
        visit = await self._sessions.visit(request)
        if visit is None:
            return to_login(request)
        request.state.visit = visit
        if request.method == "POST":
            request.state.form = await read_form(request, self._most)
            check_token(request.state.form, visit)
        return None


def visit_of(request: Request) -> Visit:
    """Return the visit of a request that was let in."""
    visit: Visit = request.state.visit
    return visit


def form_of(request: Request) -> Mapping[str, str]:
    """Return the form of a request that was let in."""
    form: Mapping[str, str] = request.state.form
    return form


def _wrong_method() -> Response:
    response = error_page("The page knows no such request.", "Use its links and buttons.", 405)
    response.headers["Allow"] = "GET, HEAD, POST"
    return response


def to_login(request: Request) -> Response:
    """Send a person without a session to the log-in, from where they come back; 401 for what no person asked for.

    A link on another site brings no cookie along (SameSite=Strict), whether somebody is logged in or not. Such a
    request is sent once more from here, and then has its cookie.
    """
    login_link = _wanted(request)
    asked_by = request.headers.get("sec-fetch-dest", "document")
    if asked_by != "document" or "text/event-stream" in request.headers.get("accept", ""):
        return error_page("You are not logged in.", "Log in, and load the page again.", 401)
    came_from = request.headers.get("sec-fetch-site")
    if request.method == "GET" and COOKIE not in request.cookies and came_from in {"cross-site", "same-site"}:
        return HTMLResponse(html("onward.html", title="dcf", link=login_link))
    return RedirectResponse(f"{LOGIN}?next={quote(login_link, safe='')}", SEE_OTHER)


def _wanted(request: Request) -> str:
    """Return the page that was asked for, or that a form was sent from."""
    if request.method == "POST":
        referrer = request.headers.get("referer", "")
        return own_path(f"/{referrer.partition('://')[2].partition('/')[2]}")
    query = f"?{request.url.query}" if request.url.query else ""
    return own_path(f"{request.url.path}{query}")


def _is_open(scope: Scope) -> bool:
    root, path = scope.get("root_path", ""), str(scope["path"])
    within = path.removeprefix(root)
    return within in OPEN or within.startswith(OPEN_FOLDER)
