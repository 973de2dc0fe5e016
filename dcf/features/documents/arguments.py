"""Arguments that the JSON tools share: what they mean, and how they are read."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from dcf.core.access.model import Scope
from dcf.errors import Forbidden, InvalidArgument
from dcf.values import json_edits
from dcf.values.json_text import Json, dump, parse
from dcf.verbs.callers import current_caller
from dcf.verbs.description.verb import Argument
from dcf.verbs.description.words import ID

if TYPE_CHECKING:
    from dcf.application.application import Application

RedisKey = Annotated[
    str,
    Argument(
        means="Key of the document, as doc:notes or cp:wf:RUN:meta.", example="doc:notes", min_length=1, max_length=2000
    ),
]
PATH_TEXT: Final = "Where: $.a.b, $['any name'], $.list[0] or $.list[-1]; $ is the whole document."
Path = Annotated[str, Argument(means=PATH_TEXT, example="$.status", max_length=2000)]
_NATIVE: Final = 10**18
Number = Annotated[
    Annotated[str, Field(max_length=40)]
    | Annotated[int, Field(ge=-_NATIVE, le=_NATIVE)]
    | Annotated[float, Field(ge=-_NATIVE, le=_NATIVE)],
    Argument(means='What to add, as 1 or "1" or "-0.5"; very large integers as text.', example=1),
]
_LONGEST_LIFE_S: Final = 365 * 24 * 3600
Life = Annotated[
    Annotated[int, Field(ge=1, le=_LONGEST_LIFE_S)] | Literal["never"] | None,
    Argument(
        means="Seconds that a doc: document is kept after its last write; 'never' where an operator allows it.",
        example=86400,
    ),
]
AsText = Annotated[bool, Argument(means="Take it as plain text, not as JSON.")]
OnceOnly = Annotated[
    str | None,
    Argument(means="Repeated with it, a call is applied only once.", min_length=1, max_length=200, form="request"),
]
Planner = Annotated[str | None, Argument(means="Your agent id, if you plan the run.", example="pricing-1", pattern=ID)]


def keep_s(app: "Application", wish: int | Literal["never"] | None) -> int | None:
    """Return for how many seconds to keep a document, 0 without a limit; raise Forbidden where an operator must ask."""
    if wish != "never":
        return wish
    if app.settings.json_life_s and Scope.OPERATE not in current_caller().scopes:
        raise Forbidden(
            "A document that never expires is an operator's right.",
            f"Pass `expires_in_s` as seconds, at most {_LONGEST_LIFE_S}; every write begins that time again.",
        )
    return 0


def given(app: "Application", value: Any, name: str, *, as_text: bool = False) -> Json:
    """Read a JSON value: JSON text or a native value, or with `as_text` a string as it is."""
    if as_text:
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} is no text, as as_text=true says.", "Leave out `as_text`, or send a string.")
        value = dump(value)
    return parse(value, name=name, max_bytes=app.documents.max_bytes)


def number(delta: str | float) -> json_edits.Number:
    """Read a number, or text that holds one."""
    number: Json = delta
    if isinstance(delta, str):
        try:
            number = parse(delta.strip(), name="delta")
        except InvalidArgument:
            number = None
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidArgument("delta must be a numeric value.", 'Send a number, as 1 or "1" or "-0.5".')
    return number
