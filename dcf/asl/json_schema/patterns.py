"""Matches the regular expressions of JSON Schemas (`pattern`, `patternProperties`) in a bounded number of steps. Pure.

Python's own engine may not end for an expression such as `(a+)+$`. That of JSONata knows the same dialect as JSON
Schema (ECMA-262) and counts its steps.
"""

import re
from functools import lru_cache
from typing import Final

from dcf.asl.jsonata.expressions import Query, compile_expression
from dcf.asl.surroundings import Surroundings
from dcf.errors import StateError
from dcf.values.records import replace

LONGEST_PATTERN: Final = 1_000

_UNKNOWN: Final = re.compile(r"\\(?:\\\\)*(?:[pP]\{|u\{)")
_FEW: Final = 20
_GROWTH: Final = 10


class Endless(Exception):
    """A text could not be matched within the steps that were left."""


class Steps:
    """The steps that are left for all matching of one value. A step takes a few microseconds."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


def flaw_of_pattern(pattern: str) -> str | None:
    """Return why this is no expression that can be matched, to follow "pattern"; None if it is one."""
    if len(pattern) > LONGEST_PATTERN:
        return f"has more than {LONGEST_PATTERN} characters"
    if _UNKNOWN.search(pattern) is not None:
        return r"has \p{…} or \u{…}, which is not supported: name the characters, as in [A-Za-zÀ-ÿ]"
    try:
        _compiled(pattern or "a", _FEW)
    except ValueError:
        return "is not a regular expression (ECMA-262)"
    return None


def matches(pattern: str, text: str, steps: Steps) -> bool:
    """Return True if the pattern is found in the text; raise Endless when the steps are used up.

    How many steps a match took is not told, so it is tried with few, and then with more: what is counted is what was
    allowed.
    """
    allowed, around = _FEW, Surroundings()
    while pattern:
        if allowed > steps.left:
            raise Endless
        steps.left -= allowed
        try:
            return bool(_compiled(pattern, allowed).render({"input": text}, around))
        except StateError:
            allowed *= _GROWTH
    return True


@lru_cache(maxsize=1024)
def _compiled(pattern: str, allowed: int) -> Query:
    """Return the question whether the pattern is found; raise ValueError if it is none."""
    compiled = compile_expression(f"$contains($states.input, /{_as_literal(pattern)}/)")
    return Query(field="pattern", compiled=replace(compiled, max_steps=allowed))


def _as_literal(pattern: str) -> str:
    """Escape what would end a literal of JSONata early, or confuse its search for the end."""
    written, position, in_class = list[str](), 0, False
    while position < len(pattern):
        character = pattern[position]
        if character == "\\":
            written.append(pattern[position : position + 2].replace("\n", "n"))
            position += 2
            continue
        in_class = (in_class or character == "[") and character != "]"
        needs = character == "/" or (in_class and character in "(){}")
        written.append(_LINES.get(character) or (f"\\{character}" if needs else character))
        position += 1
    return "".join(written)


_LINES: Final = {"\n": r"\n", "\r": r"\r", "\u2028": r"\u2028", "\u2029": r"\u2029"}
