"""The written form of a reference path, read into steps.

Kept apart from `paths` because how a path is spelled and how it is followed change for different reasons.
Knows no documents. Whatever may select more than one value is refused here, so that nothing later must ask.
"""

import re
from typing import NamedTuple, TypeAlias

from dcf.core.json_text import MAX_DEPTH

Step: TypeAlias = str | int
"""A member name or an array index."""


class UnsupportedPathError(ValueError):
    """The path may be right, but dcf cannot follow its kind yet."""


class Spelling(NamedTuple):
    """What a path says: where it starts, where it goes, and whether it is plain enough to be written to."""

    in_context: bool
    steps: tuple[Step, ...]
    plain: bool


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


def scan(text: str) -> Spelling:
    """Read a path; raise ValueError with a plain reason (UnsupportedPathError: not followed yet)."""
    if text.startswith("States."):
        raise UnsupportedPathError(f"'{clip(text)}' calls an intrinsic function: not supported yet")
    if not text.startswith("$"):
        raise ValueError(f"a path starts with '$', but '{clip(text)}' does not")
    in_context = text.startswith("$$")
    position = 2 if in_context else 1
    if not in_context and text[1:2].isidentifier():
        raise UnsupportedPathError(f"'{clip(text)}' reads a variable: not supported yet")
    steps: list[Step] = []
    plain = True
    while position < len(text):
        step, reserved, position = _next_step(text, position)
        steps.append(step)
        plain = plain and not reserved
        if len(steps) > MAX_DEPTH:
            raise ValueError(f"'{clip(text)}' has more than {MAX_DEPTH} steps")
    return Spelling(in_context, tuple(steps), plain)


def clip(text: str, limit: int = 80) -> str:
    """Shorten text for a message, and make it printable if it is not valid Unicode."""
    short = text if len(text) <= limit else text[:limit] + "…"
    return short.encode("utf-8", "replace").decode()


def _next_step(text: str, position: int) -> tuple[Step, bool, int]:
    """Read one step: it, whether it holds reserved characters, and where the next one starts."""
    if found := _DOTTED.match(text, position):
        name = found.group(1)
        return _unescape(name, _DOTTED_ESCAPE, text), bool(_RESERVED.search(name)), found.end()
    if found := _INDEX.match(text, position):
        return int(found.group(1)), False, found.end()
    if found := _QUOTED.match(text, position):
        single, double = found.groups()
        quote, name = ("'", single) if single is not None else ('"', double)
        return _unescape(name, _QUOTED_ESCAPE[quote], text), False, found.end()
    raise _refusal(text, position)


def _unescape(name: str, escape: re.Pattern[str], text: str) -> str:
    if "\\" in name:
        name = escape.sub(_unescaped, name)
    if name.isascii():
        return name
    try:
        # A character beyond the first plane may be spelled as two escapes; together they are one character.
        return name.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError(f"'{clip(text)}' names a member that is not valid Unicode") from None


def _unescaped(found: re.Match[str]) -> str:
    escaped = found.group(1)
    return escaped if len(escaped) == 1 else chr(int(escaped[1:], 16))


def _refusal(text: str, position: int) -> ValueError:
    if _SEVERAL.match(text, position):
        return UnsupportedPathError(
            f"'{clip(text)}' can select several values (*, .., slice, filter, union): not supported yet"
        )
    rest = clip(text[position:], 12)
    return ValueError(f"'{clip(text)}' is not a path: unexpected '{rest}' at character {position + 1}")
