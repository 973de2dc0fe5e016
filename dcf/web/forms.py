"""Reads the forms of the page, and checks that this page made them: the token in a form is that of its visit."""

import hmac
import secrets
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

from starlette.requests import Request

from dcf.web.visit import Visit

TOKEN: Final = "_token"  # noqa: S105 - the name of a field
NEXT_DEFAULT: Final = "/ui/runs"

_TYPE: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 1_000
_IN_PATH: Final = "/%:@!$&'()*+,;=~"
_IN_QUERY: Final = f"{_IN_PATH}?"
_LONGEST_LINK: Final = 2_000
_NOT_TO: Final = ("/ui/login", "/ui/logout", "/ui/act", "/ui/static")


class WrongForm(Exception):
    """A form that this page did not make, or that is too long: the status of the answer, and what to do."""

    def __init__(self, status: int, message: str, hint: str) -> None:
        self.status = status
        self.message = message
        self.hint = hint
        super().__init__(message)


async def read_form(request: Request, most: int) -> Mapping[str, str]:
    """Return the fields of a form; of those with the same name the last. Raise WrongForm for anything else."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != _TYPE:
        raise WrongForm(415, "That is no form.", "Use the buttons of the page.")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise WrongForm(413, "The form is too long.", f"It may have {most} bytes.")
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise WrongForm(400, "The form cannot be read.", "Use the buttons of the page.") from None
    return dict(pairs)


def check_token(form: Mapping[str, str], visit: Visit) -> None:
    """Raise WrongForm unless the form has the token of this visit."""
    sent = form.get(TOKEN, "").encode("utf-8", "surrogateescape")
    if not visit.form_token or not hmac.compare_digest(sent, visit.form_token.encode()):
        raise WrongForm(
            403, "The form is not of your session, or of an older one.", "Go back, load the page again and repeat it."
        )


def new_request_id() -> str:
    """Return an id for one confirmation, which is applied once however often it is sent."""
    return secrets.token_hex(16)


def own_path(link: str | None) -> str:
    """Return the next page: the path and query of a page of this site, or its first page for anything else."""
    if not link or len(link) > _LONGEST_LINK or not link.isprintable() or "\\" in link or " " in link:
        return NEXT_DEFAULT
    try:
        parts = urlsplit(link)
    except ValueError:
        return NEXT_DEFAULT
    is_page = parts.path.startswith("/ui/") and "//" not in parts.path and ".." not in parts.path.split("/")
    if parts.scheme or parts.netloc or not is_page or parts.path.startswith(_NOT_TO):
        return NEXT_DEFAULT
    query = f"?{quote(parts.query, safe=_IN_QUERY)}" if parts.query else ""
    return quote(parts.path, safe=_IN_PATH) + query
