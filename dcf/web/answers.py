"""Makes HTTP answers out of pages, and out of what went wrong: each expected error is a page that says what to do.

Pages are made in threads, because reading from Redis blocks.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio.to_thread
from starlette.responses import HTMLResponse, Response, StreamingResponse

from dcf.errors import DcfError, Forbidden, InvalidArgument, NotFound, RateLimited, StoreUnavailable
from dcf.web.downloads import Download
from dcf.web.forms import WrongForm
from dcf.web.outcome import forget_outcome
from dcf.web.sessions import PlainHttp, Sessions
from dcf.web.templating import html
from dcf.web.visit import ToolRefused, Visit, current_visit

Found = TypeVar("Found")

_REFUSED: Final = {
    "forbidden": 403,
    "unknown_run": 404,
    "unknown_state": 404,
    "conflict": 409,
    "rate_limited": 429,
    "internal_error": 500,
    "store_unsuitable": 500,
    "store_too_new": 500,
    "store_unavailable": 503,
    "unknown_outcome": 503,
}
_STATUSES: Final = (
    (NotFound, 404),
    (InvalidArgument, 400),
    (Forbidden, 403),
    (RateLimited, 429),
    (StoreUnavailable, 503),
)
_LATER: Final = frozenset({429, 503})


async def page_of(sessions: Sessions, visit: Visit, make: Callable[[], str | Download], status: int = 200) -> Response:
    """Make a page, or a file, for a visit, within the limits of its caller; forget the outcome that it shows."""
    with sessions.meter.turn(visit.caller) as threads:
        made = await anyio.to_thread.run_sync(make, limiter=threads)
    if isinstance(made, Download):
        return StreamingResponse(made.pieces, media_type=made.media_type, headers=made.headers)
    response = HTMLResponse(made, status)
    if visit.outcome is not None:
        forget_outcome(response)
    return response


async def answered(made: Awaitable[Found]) -> Found | Response:
    """Return the answer, or the page of the expected error that was raised instead."""
    try:
        return await made
    except ToolRefused as refused:
        return error_page(refused.message, refused.hint, _REFUSED.get(refused.code, 400))
    except WrongForm as wrong:
        return error_page(wrong.message, wrong.hint, wrong.status)
    except PlainHttp:
        return error_page(
            "The page is open over plain HTTP, where others could read keys and sessions on the way.",
            "Open it by https://. If a key was just sent, revoke it: `dcf keys revoke`.",
            403,
        )
    except DcfError as error:
        status = next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)
        wait_s = error.retry_after_s if isinstance(error, RateLimited) else 1
        return error_page(error.message, error.hint, status, wait_s)


def error_page(message: str, hint: str, status: int, wait_s: float = 1) -> Response:
    """Return the page that says what went wrong, and what to do."""
    response = HTMLResponse(html("error.html", title=message, message=message, hint=hint), status)
    visit = current_visit()
    if visit is not None and visit.outcome is not None:
        forget_outcome(response)
    if status in _LATER:
        response.headers["Retry-After"] = str(max(1, round(wait_s)))
    return response
