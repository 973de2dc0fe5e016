"""Parses the text of a path into steps.

It is separate from `paths`, which follows a path: the syntax and the evaluation change for different reasons. It
reads no documents. A part that may select several values stays text in `rest`: a library evaluates it.
"""

import re
from typing import NamedTuple, TypeAlias

from dcf.values.json_text import MAX_DEPTH
from dcf.values.text_pieces import clip

PathStep: TypeAlias = str | int
"""A member name or an array index."""


class Spelling(NamedTuple):
    """A parsed path: where it starts, its steps, and whether it can also be written to.

    `variable` is the name it starts from, if any; `rest` begins with the first step that may select several values.
    """

    in_context: bool
    variable: str | None
    steps: tuple[PathStep, ...]
    plain: bool
    rest: str


_DOTTED = re.compile(r"\.((?:\\.|[^\\.\[\]*()\s])+)", re.DOTALL)
_INDEX = re.compile(r"\[[ \t]*(-?[0-9]{1,9})[ \t]*\]")
_QUOTED = re.compile(r"""\[[ \t]*(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")[ \t]*\]""", re.DOTALL)
_UNIT = re.compile(r"\\u([0-9A-Fa-f]{4})")
_DOTTED_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_QUOTED_ESCAPE = {
    "'": re.compile(r"\\(u[0-9A-Fa-f]{4}|'|\\)"),
    '"': re.compile(r'\\(u[0-9A-Fa-f]{4}|"|\\)'),
}
_RESERVED = re.compile(r"(?<!\\)(?:\\\\)*[@,:?]")
_SEVERAL = re.compile(r"\.\.|\.\*|\[\s*[*?(]|\[[^\]]*[,:]")
_VARIABLE = re.compile(r"\w+")
_ENDS_EARLY = re.compile(r"[.\[]")


def scan(text: str) -> Spelling:
    """Parse a path; raise ValueError. As on AWS, `$.[0]` equals `$[0]`, and trailing blanks are ignored."""
    if not text.startswith("$"):
        raise ValueError(f"a path starts with '$', but '{clip(text)}' does not")
    in_context = text.startswith("$$")
    variable = None if in_context else _variable(text)
    position = 2 if in_context else 1 + len(variable or "")
    steps: list[PathStep] = []
    plain = True
    while text[position:].strip():
        if text.startswith(".[", position):
            position += 1
        if _SEVERAL.match(text, position) and not _QUOTED.match(text, position):
            return Spelling(in_context, variable, tuple(steps), plain=False, rest=text[position:])
        step, reserved, position = _next_step(text, position)
        steps.append(step)
        plain = plain and not reserved
        if len(steps) > MAX_DEPTH:
            raise ValueError(f"'{clip(text)}' has more than {MAX_DEPTH} steps")
    return Spelling(in_context, variable, tuple(steps), plain, "")


def _variable(text: str) -> str | None:
    match = _VARIABLE.match(text, 1)
    if match is None or not match.group().isidentifier():
        return None
    if text[match.end() :].strip() and not _ENDS_EARLY.match(text, match.end()):
        raise _refusal(text, match.end())
    return match.group()


def _next_step(text: str, position: int) -> tuple[PathStep, bool, int]:
    """Parse one step; return it, whether it has reserved characters, and the position after it."""
    if match := _DOTTED.match(text, position):
        name = match.group(1)
        return _unescape(name, _DOTTED_ESCAPE, text), bool(_RESERVED.search(name)), match.end()
    if match := _INDEX.match(text, position):
        return int(match.group(1)), False, match.end()
    if match := _QUOTED.match(text, position):
        single, double = match.groups()
        quote, name = ("'", single) if single is not None else ('"', double)
        return _unescape(name, _QUOTED_ESCAPE[quote], text), False, match.end()
    raise _refusal(text, position)


def _unescape(name: str, escape: re.Pattern[str], text: str) -> str:
    if "\\" in name:
        name = escape.sub(_unescaped, name)
    if name.isascii():
        return name
    try:
        # A character outside the Basic Multilingual Plane may be written as two escapes; together they are one
        # character.
        return name.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError(f"'{clip(text)}' names a member that is not valid Unicode") from None


def _unescaped(match: re.Match[str]) -> str:
    escaped = match.group(1)
    return escaped if len(escaped) == 1 else chr(int(escaped[1:], 16))


def _refusal(text: str, position: int) -> ValueError:
    rest = clip(text[position:], 12)
    return ValueError(f"'{clip(text)}' is not a path: unexpected '{rest}' at character {position + 1}")
