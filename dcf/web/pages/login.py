"""The page where one logs in with an API key, and out. A key goes in by its form only, and never comes out again."""

from typing import Final
from urllib.parse import quote

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from dcf.core.access.model import Scope
from dcf.verbs.limits import refuse_excess
from dcf.web.admission import SEE_OTHER, visit_of
from dcf.web.forms import NEXT_DEFAULT, own_path, read_form
from dcf.web.sessions import COOKIE, LOGIN, PATH, Sessions, is_secure
from dcf.web.templating import html

_MOST_BYTES: Final = 8 * 1024
_OPENS_NOTHING: Final = "This key opens nothing here: it is wrong, has expired or was revoked."
_MAY_NOT_READ: Final = "This key may not read (it lacks the scope 'read'), and every page needs that."


async def login(sessions: Sessions, request: Request) -> Response:
    """Show the form, or begin a session with the key in it."""
    if not sessions.asks:
        return RedirectResponse(NEXT_DEFAULT, SEE_OTHER)
    own_place = own_path(request.query_params.get("next"))
    if request.method != "POST":
        if await sessions.visit(request) is not None:
            return RedirectResponse(own_place, SEE_OTHER)
        return _form(own_place)
    is_secure(request)  # before anything is done with the key
    key = (await read_form(request, _MOST_BYTES)).get("key", "").strip()
    caller = await sessions.admit(key)
    if caller is None:
        return _form(own_place, _OPENS_NOTHING)
    refuse_excess(caller)
    if Scope.READ not in caller.scopes:
        return _form(own_place, _MAY_NOT_READ)
    response = RedirectResponse(own_place, SEE_OTHER)
    await sessions.begin(request, key, response)
    await anyio.to_thread.run_sync(sessions.application.refusals.logged_in, caller)
    return response


async def logout(sessions: Sessions, request: Request) -> Response:
    """End the session."""
    await sessions.end(request)
    await anyio.to_thread.run_sync(sessions.application.refusals.logged_out, visit_of(request).caller)
    response = RedirectResponse(LOGIN, SEE_OTHER)
    response.delete_cookie(COOKIE, path=PATH, httponly=True, samesite="strict")
    return response


def _form(target: str, wrong: str | None = None) -> Response:
    page = html("login.html", title="Log in", action=f"{LOGIN}?next={quote(target, safe='')}", wrong=wrong)
    return HTMLResponse(page, 200 if wrong is None else 403)
