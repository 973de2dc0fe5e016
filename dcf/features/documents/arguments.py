"""Arguments that the JSON tools share: their types with descriptions, and how they are read."""

from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import Forbidden, InvalidArgument
from dcf.values import json_edits
from dcf.values.json_text import Json, dump, parse
from dcf.verbs.callers import current_caller

RedisKey = Annotated[
    str,
    Field(
        min_length=1,
        max_length=2000,
        description="Key of the document, as doc:notes or cp:wf:RUN:meta.",
        examples=["doc:notes"],
    ),
]
PATH_TEXT: Final = "Where: $.a.b, $['any name'], $.list[0] or $.list[-1]; $ is the whole document."
Path = Annotated[str, Field(max_length=2000, description=PATH_TEXT, examples=["$.status"])]
_NATIVE: Final = 10**18
Plain = Annotated[int, Field(ge=-_NATIVE, le=_NATIVE)]
Fraction = Annotated[float, Field(ge=-_NATIVE, le=_NATIVE)]
_LONGEST_LIFE_S: Final = 365 * 24 * 3600
Life = Annotated[
    Annotated[int, Field(ge=1, le=_LONGEST_LIFE_S)] | Literal["never"] | None,
    Field(
        description="Seconds that a doc: document is kept after its last write; 'never' where an operator allows it.",
        examples=[86400],
    ),
]
AsText = Annotated[bool, Field(description="Take it as plain text, not as JSON.")]


def keep_s(app: Application, wish: int | Literal["never"] | None) -> int | None:
    """Return for how many seconds a document is to be kept, 0 for ever; raise Forbidden where an operator must ask."""
    if wish != "never":
        return wish
    if app.settings.json_life_s and Scope.OPERATE not in current_caller().scopes:
        raise Forbidden(
            "A document that never expires is an operator's right.",
            f"Pass expires_in_s as seconds, at most {_LONGEST_LIFE_S}; every write begins that time anew.",
        )
    return 0


def given(app: Application, value: Any, name: str, *, as_text: bool = False) -> Json:
    """Read a JSON value: JSON text or a native value, or with `as_text` a string as it is."""
    if as_text:
        if not isinstance(value, str):
            raise InvalidArgument(f"{name} is not text, as as_text=true says.", "Leave out as_text, or send a string.")
        value = dump(value)
    return parse(value, name=name, max_bytes=app.documents.max_bytes)


def number(delta: str | float) -> json_edits.Number:
    """Read a number, or text that holds one."""
    given: Json = delta
    if isinstance(delta, str):
        try:
            given = parse(delta.strip(), name="delta")
        except InvalidArgument:
            given = None
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise InvalidArgument("delta must be a numeric value.", 'Send a number, as 1 or "1" or "-0.5".')
    return given
