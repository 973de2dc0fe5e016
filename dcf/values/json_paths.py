"""Paths into JSON documents, as the tools take them: parsing, reading, writing.

A path names exactly one value: `$`, `$.a.b`, `a.b`, `$['a.b']`, `$.list[0]`, `$.list[-1]`. Wildcards, slices and
filters are refused with position and reason, so no text of a caller reaches a library's path language. Pure: documents
are not changed; a new document shares its unchanged parts with the old one.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import Final, TypeAlias

from dcf.errors import InvalidArgument
from dcf.values.json_text import MAX_DEPTH, Json
from dcf.values.refusal import Refusal

JsonStep: TypeAlias = str | int
"""The name of an object's member, or the index of an array's element."""

JsonSteps: TypeAlias = tuple[JsonStep, ...]

MAX_PATH: Final = 2000
"""Longest path, in characters."""


class Missing(Enum):
    """Type of `MISSING`, which means that no value is there; null is a value."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING


_NAME = re.compile(r"(?:[A-Za-z0-9_-]|[^\W_])+")
_INDEX = re.compile(r"\[(0|-?[1-9][0-9]{0,8})\]")
_QUOTED = re.compile(r"""\[(?:'((?:[^'\\\x00-\x1f]|\\.)*)'|"((?:[^"\\\x00-\x1f]|\\.)*)")\]""")
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|(.))", re.DOTALL)
_ESCAPED: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/", "\\": "\\", "'": "'", '"': '"'}
_KINDS: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "a boolean",
    int: "a number",
    float: "a number",
}
_HINT: Final = "Write it as $.name.name, with $['any name'] for other names and $.list[0] or $.list[-1] for elements."


def parse_path(text: str, *, name: str = "path") -> JsonSteps:
    """Parse a path; empty text and `$` mean the whole document. Raise InvalidArgument with position and reason."""
    if text in {"", "$"}:
        return ()
    if len(text) > MAX_PATH:
        raise InvalidArgument(f"{name} is longer than {MAX_PATH} characters.", _HINT)
    # Tools also accept paths without the leading `$.`.
    position = 1 if text.startswith("$") else 0
    steps: list[JsonStep] = []
    while position < len(text):
        step, position = _step(text, position, name)
        steps.append(step)
        if len(steps) > MAX_DEPTH:
            raise InvalidArgument(f"{name} has more than {MAX_DEPTH} steps.", _HINT)
    return tuple(steps)


def spell(steps: JsonSteps) -> str:
    """Write a path as text that `parse_path` reads back as the same steps."""
    return "$" + "".join(map(_spelled, steps))


def find(document: Json, steps: JsonSteps) -> Json | Missing:
    """Return the value at a path, or MISSING."""
    for step in steps:
        if isinstance(step, str):
            if not isinstance(document, dict) or step not in document:
                return MISSING
            document = document[step]
        else:
            if not isinstance(document, list) or not -len(document) <= step < len(document):
                return MISSING
            document = document[step]
    return document


def pinned(document: Json, steps: JsonSteps) -> JsonSteps:
    """Replace negative indexes by positive ones, so that two paths to one place are equal."""
    result: list[JsonStep] = []
    for step in steps:
        here = find(document, tuple(result))
        if isinstance(step, int) and isinstance(here, list) and -len(here) <= step < 0:
            result.append(step + len(here))
        else:
            result.append(step)
    return tuple(result)


def put(document: Json | Missing, steps: JsonSteps, value: Json, done: JsonSteps = ()) -> Json | Refusal:
    """Return the document with `value` at this path, or a Refusal.

    Missing parents are created as objects; array elements must exist. `done` are the steps above, for the message.
    """
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        return _put_member({} if document is MISSING else document, step, rest, value, done)
    return _put_element(document, step, rest, value, done)


def _put_member(document: Json, step: str, rest: JsonSteps, value: Json, done: JsonSteps) -> Json | Refusal:
    if not isinstance(document, dict):
        return _no_container(document, done, step)
    inner = put(document.get(step, MISSING), rest, value, (*done, step))
    return inner if isinstance(inner, Refusal) else {**document, step: inner}


def _put_element(document: Json | Missing, step: int, rest: JsonSteps, value: Json, done: JsonSteps) -> Json | Refusal:
    if not isinstance(document, list):
        return _no_container(document, done, step)
    if not -len(document) <= step < len(document):
        return _no_element(len(document), done, step)
    inner = put(document[step], rest, value, (*done, step))
    if isinstance(inner, Refusal):
        return inner
    changed = list(document)
    changed[step] = inner
    return changed


def remove(document: Json, steps: JsonSteps) -> Json:
    """Return the document without the value at this path, which must exist. Later elements of an array move down."""
    around, last = steps[:-1], steps[-1]
    holder: Json = find(document, around)
    remaining: Json = holder.copy()
    del remaining[last]
    return put(document, around, remaining)


def kind_of(value: Json | Missing) -> str:
    """Return the JSON type of a value with its article, as in "an object"."""
    if value is MISSING:
        return "nothing"
    return _KINDS.get(type(value), "null")


def shown(steps: JsonSteps) -> str:
    """Write a path for a message: in quotes, cut after 120 characters."""
    text = spell(steps)
    return f"'{text if len(text) <= 120 else text[:120] + '…'}'"  # noqa: PLR2004 - a length for eyes


def _step(text: str, position: int, name: str) -> tuple[JsonStep, int]:
    if text[position] == "[":
        return _bracketed(text, position, name)
    if position > 0:
        if text[position] != ".":
            raise _refused(text, position, name, "a step begins with '.' or '['")
        position += 1
    if text.startswith("*", position) or (position > 0 and text.startswith(".", position)):
        raise _refused(text, position, name, "it would select several values, and a path names one")
    match = _NAME.match(text, position)
    if match is None:
        raise _refused(text, position, name, "a name is missing or has other characters than letters, digits, _ and -")
    return match.group(), match.end()


def _bracketed(text: str, position: int, name: str) -> tuple[JsonStep, int]:
    if match := _INDEX.match(text, position):
        return int(match.group(1)), match.end()
    if match := _QUOTED.match(text, position):
        single, double = match.groups()
        return _unescaped(single if single is not None else double, text, position, name), match.end()
    raise _refused(text, position, name, "brackets hold one element's number or one quoted name")


def _unescaped(quoted: str, text: str, position: int, name: str) -> str:
    def character(match: re.Match[str]) -> str:
        code, simple = match.groups()
        if code is not None:
            return chr(int(code, 16))
        if simple not in _ESCAPED:
            raise _refused(text, position, name, "the quoted name has an unknown escape after a backslash")
        return _ESCAPED[simple]

    plain = _ESCAPE.sub(character, quoted)
    try:
        # A character beyond U+FFFF may be written as two \u escapes (a surrogate pair).
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise _refused(text, position, name, "the quoted name is not valid Unicode") from None


def _refused(text: str, position: int, name: str, why: str) -> InvalidArgument:
    begun = text[max(0, position - 20) : position + 12].encode("utf-8", "replace").decode()
    return InvalidArgument(f"{name} is not a path at character {position + 1} (near '{begun}'): {why}.", _HINT)


def _spelled(step: JsonStep) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    if _NAME.fullmatch(step):
        return f".{step}"
    quoted = step.replace("\\", "\\\\").replace("'", "\\'")
    return "['" + re.sub(r"[\x00-\x1f]", lambda match: f"\\u{ord(match[0]):04x}", quoted) + "']"


def _no_container(document: Json | Missing, done: JsonSteps, step: JsonStep) -> Refusal:
    text = "an object" if isinstance(step, str) else "an array"
    hint = (
        "Elements have numbers in brackets, as in $.list[0]."
        if isinstance(document, list)
        else "Set or create that value first; only missing objects are created on the way."
    )
    code = "not_found" if document is MISSING else "wrong_type"
    return Refusal(code=code, message=f"At {shown(done)} is {kind_of(document)}, not {text}.", hint=hint)


def _no_element(count: int, done: JsonSteps, step: int) -> Refusal:
    return Refusal(
        code="not_found",
        message=f"The array at {shown(done)} has {count} elements and none of number {step}.",
        hint="Use `json_append` to add elements; numbers begin with 0, and -1 is the last one.",
    )
