"""The web page as routes of an ASGI application: together with /mcp, or alone.

Every request passes `Guard` (where it comes from) and `Admission` (who makes it) before it comes to a route.
"""

import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

import anyio.to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route

from dcf.application.application import Application
from dcf.web.actions import act
from dcf.web.admission import Admission, form_of, visit_of
from dcf.web.answers import answered, error_page, page_of
from dcf.web.compression import Compressed
from dcf.web.downloads import Download, artifact_file, history_file, value_file
from dcf.web.guard import Guard
from dcf.web.live.streams import LivePages, live_routes
from dcf.web.pages.accounts import accounts_page
from dcf.web.pages.agents import agents_page
from dcf.web.pages.inbox import check_answer, inbox_page
from dcf.web.pages.login import login, logout
from dcf.web.pages.runs import runs_page
from dcf.web.pages.system import system_page
from dcf.web.pages.why import why_page
from dcf.web.pages.workflows import check_start, check_workflow, workflow_page, workflows_page
from dcf.web.run.page import run_page
from dcf.web.sessions import PATH, Sessions
from dcf.web.shared_pages import SharedPages
from dcf.workflows.drawing import PAGE_STYLE

Parameters: TypeAlias = Mapping[str, str]
Screen: TypeAlias = Callable[..., str | Download]
"""Makes a page, or a file, from the visit, the parts of the path, and the parameters of the address."""

SCREENS: Final[tuple[tuple[str, Screen], ...]] = (
    ("/runs", runs_page),
    ("/runs/{workflow_id}", run_page),
    ("/runs/{workflow_id}/value", value_file),
    ("/runs/{workflow_id}/history.json", history_file),
    ("/runs/{workflow_id}/artifacts/{artifact_id}", artifact_file),
    ("/why", why_page),
    ("/inbox", inbox_page),
    ("/agents", agents_page),
    ("/accounts", accounts_page),
    ("/workflows", workflows_page),
    ("/workflows/{name:path}", workflow_page),
    ("/system", system_page),
)

LIVE: Final = re.compile(rf"{PATH}/(runs(/[^/]+)?|accounts)")
"""The screens that update automatically, so that many pages request the same one at once."""

Endpoint: TypeAlias = Callable[[Sessions, Request], Awaitable[Response]]
"""Answers a request directly: it is not a page that is only shown."""

ENDPOINTS: Final[tuple[tuple[str, tuple[str, ...], Endpoint], ...]] = (
    ("/login", ("GET", "POST"), login),
    ("/logout", ("POST",), logout),
    ("/act/{tool}", ("POST",), act),
)

CHECKS: Final[tuple[tuple[str, Screen], ...]] = (
    ("/validate", check_workflow),
    ("/validate/answer", check_answer),
    ("/validate/start", check_start),
)
"""Make a page from the visit and from a form that was sent by POST, because an address is too short for it.

They change nothing.
"""

_STATIC: Final = Path(__file__).parent / "static"
_TYPES: Final = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


def pages(application: Application, live: LivePages | None = None, *, may_act: bool = False) -> Mount:
    """Return the pages as a route, to be added to others. `may_act`: they may change things, not only show them.

    The caller that passes `live` stops it before the server, since open event streams would block the shutdown.
    """
    sessions = Sessions(application, may_act)
    site = Starlette(routes=routes(sessions, live), exception_handlers={404: _no_page, 405: _wrong_method})
    site.router.redirect_slashes = False  # it would send to whatever name and scheme the request was made with
    mount = Mount(PATH, Guard(Admission(SharedPages(Compressed(site), LIVE), sessions), application.settings))
    mount.path_regex = re.compile(mount.path_regex.pattern, re.DOTALL)  # else a line break in a path gets by the guard
    return mount


def routes(sessions: Sessions, live: LivePages | None = None) -> list[Route]:
    """Return every route of the site. `Admission` stands before them, and says which are open to anybody."""
    live = LivePages(sessions.application) if live is None else live
    return [
        Route("/", _to_runs),
        *live_routes(live, visit_of, answered, sessions.holds),
        *(Route(path, partial(_show, sessions, screen)) for path, screen in SCREENS),
        *(Route(path, partial(_check, sessions, check), methods=["POST"]) for path, check in CHECKS),
        *(Route(path, partial(_answer, sessions, page), methods=methods) for path, methods, page in ENDPOINTS),
        Route("/static/{name}", _static),
    ]


def build_site(application: Application, live: LivePages | None = None, *, may_act: bool = False) -> Starlette:
    """Return the pages as an application of their own."""
    return Starlette(routes=[Route("/", _to_runs), ENTRANCE, pages(application, live, may_act=may_act)])


async def _to_runs(_: Request) -> Response:
    return RedirectResponse(f"{PATH}/runs")


ENTRANCE: Final = Route(PATH, _to_runs)
"""The address of the pages without its slash, to be added to their routes: else the application redirects to it."""


async def _show(sessions: Sessions, screen: Screen, request: Request) -> Response:
    visit = visit_of(request)
    make = partial(screen, visit, dict(request.query_params), **request.path_params)
    return await answered(page_of(sessions, visit, make))


async def _check(sessions: Sessions, check: Screen, request: Request) -> Response:
    visit = visit_of(request)
    return await answered(page_of(sessions, visit, partial(check, visit, form_of(request))))


async def _answer(sessions: Sessions, endpoint: Endpoint, request: Request) -> Response:
    return await answered(endpoint(sessions, request))


async def _static(request: Request) -> Response:
    """Return a file of the page; its name is looked up, never joined to a path."""
    content, suffix = await anyio.to_thread.run_sync(_file, request.path_params["name"])
    if content is None:
        return Response(status_code=404)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    # A browser keeps the file and asks whether it is still the same, so that pages do not flash, nor show old styles.
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[suffix], headers=headers)


def _file(name: str) -> tuple[bytes | None, str]:
    if name == "drawing.css":
        return PAGE_STYLE.encode(), ".css"
    file = next((item for item in _STATIC.iterdir() if item.name == name and item.suffix in _TYPES), None)
    return (None, "") if file is None else (file.read_bytes(), file.suffix)


async def _no_page(_: Request, __: Exception) -> Response:
    return error_page("There is no such page.", "Begin at the list of runs.", 404)


async def _wrong_method(_: Request, __: Exception) -> Response:
    return error_page("That page cannot be asked for in this way.", "Use the links and buttons of the page.", 405)
