"""The outcome of an action on its way to the page that shows it: in a cookie, which that page deletes.

It is sealed with the visit's own token, so that no other site and no other session can make the page say something.
"""

import base64
import binascii
import hmac
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from dcf.values.json_text import dump, load
from dcf.values.text_pieces import clip
from dcf.web.visit import ActionOutcome

_COOKIE: Final = "dcf_told"
_PATH: Final = "/ui"
_LIFE_S: Final = 120
_LONGEST: Final = 300
"""Characters of a sentence. A cookie may have 4 KB."""


def tell(response: Response, outcome: ActionOutcome, form_token: str, *, secure: bool) -> None:
    """Send an outcome along with a response."""
    parts = [outcome.done, clip(outcome.message, _LONGEST), clip(outcome.hint, _LONGEST)]
    text = base64.urlsafe_b64encode(dump(parts).encode()).decode()
    sealed = f"{text}.{_seal(text, form_token)}"
    response.set_cookie(_COOKIE, sealed, _LIFE_S, path=_PATH, secure=secure, httponly=True, samesite="strict")


def read_outcome(request: Request, form_token: str) -> ActionOutcome | None:
    """Return the outcome in a request; None if there is none, or somebody else made it."""
    text, dot, seal = request.cookies.get(_COOKIE, "").partition(".")
    if not dot or not seal.isascii() or not hmac.compare_digest(seal, _seal(text, form_token)):
        return None
    try:
        done, message, hint = load(base64.urlsafe_b64decode(text))
    except (ValueError, binascii.Error):
        return None
    return ActionOutcome(done=bool(done), message=str(message), hint=str(hint))


def forget_outcome(response: Response) -> None:
    """Delete the outcome: it has been shown."""
    response.delete_cookie(_COOKIE, path=_PATH, httponly=True, samesite="strict")


def _seal(text: str, form_token: str) -> str:
    return hmac.digest(form_token.encode(), f"told {text}".encode("utf-8", "surrogateescape"), "sha256").hex()
