"""Checks the text of a JSONata expression without parsing it.

AWS runs an older JSONata than the library here. This module finds what AWS would refuse. Code is searched only
after strings, comments and regular expressions are taken out of the text.
"""

import re
from collections.abc import Callable
from typing import Final

_LITERAL = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|`[^`]*`)"""
    r"""|(?P<comment>/\*.*?\*/)"""
    r"""|(?P<regex>(?<![\w)\]}"'`$%*\s])\s*/(?:\\.|[^/\\\n])+/[im]*)""",
    re.DOTALL,
)
_CALLED = re.compile(r"\$([^\W\d]\w*)\s*\(")
_DEFINED = re.compile(r"\$([^\W\d]\w*)\s*:=\s*(?:function|λ)\s*\(")
_EVAL = re.compile(r"\$eval\b")
_STATES_BOUND = re.compile(r"\$states\s*:=")

_WORD_OPERATOR = re.compile(r"\b(?:and|or|in)$")

NEWER: Final = ("??", "?:")
"""Operators that AWS's JSONata does not have."""


def without_literals(text: str) -> str:
    """Replace strings, quoted names, comments and regular expressions with neutral text."""
    return _LITERAL.sub(lambda match: " " if match.group("comment") else '""', text)


def with_regexes_changed(text: str, change: Callable[[str], str]) -> str:
    """Replace each regular expression in the text with what `change` makes of it."""
    return _LITERAL.sub(lambda match: change(match[0]) if match["regex"] else match[0], text)


def may_divide(text: str) -> bool:
    """Return True if the text may have a quotient or a remainder. A regular expression looks like one."""
    bare = _LITERAL.sub(lambda match: match["regex"] or "", text)
    return "/" in bare or "%" in bare


def holds_regex(text: str) -> bool:
    """Return True if the text has a regular expression."""
    return any(match["regex"] for match in _LITERAL.finditer(text))


def called_names(bare: str) -> set[str]:
    """Return the names of the functions called as `$name(…)`."""
    return set(_CALLED.findall(bare))


def with_own_calls_marked(bare: str) -> tuple[str, set[str]]:
    """Rename the calls of functions that the expression itself defines; return the text and the new names.

    Such a function reads only its arguments, but an analysis of the call alone assumes that it reads anything.
    """
    own = set(_DEFINED.findall(bare))
    marked = _CALLED.sub(lambda match: f"${match[1]}_called(" if match[1] in own else match[0], bare)
    return marked, {f"{name}_called" for name in own}


def objects_as_arrays(bare: str) -> str:
    """Rewrite `{k: v}` as `[k, v]`: it reads the same names, but not the input it is applied to.

    Only constructors are rewritten. Braces after a value are a function's body or a grouping and stay.
    """
    written: list[str] = []
    closings: list[str] = []
    waiting = 0
    for at, character in enumerate(bare):
        inside = closings[-1] if closings else ""
        if character == "{":
            constructs = _begins_value(bare[:at].rstrip())
            closings.append("]" if constructs else "}")
            written.append("[" if constructs else "{")
        elif character in "([":
            closings.append(")" if character == "(" else "] ")
            written.append(character)
        elif character in ")]}" and closings:
            written.append(closings.pop().strip())
        elif character == ":" and inside == "]" and waiting == 0:
            written.append(",")
        else:
            waiting += (character == "?") - (character == ":" and waiting > 0)
            written.append(character)
    return "".join(written)


def _begins_value(before: str) -> bool:
    return not before or before[-1] in "([{,:;?=<>+-*/%&~|!^" or bool(_WORD_OPERATOR.search(before))


def refusals(text: str) -> list[str]:
    """Return a sentence for each thing in the expression that AWS forbids, even with valid syntax."""
    bare = without_literals(text)
    reasons = [f"the operator {mark} is not part of the language's JSONata" for mark in NEWER if mark in bare]
    if _EVAL.search(bare):
        reasons.append("$eval is not allowed")
    if _STATES_BOUND.search(bare):
        reasons.append("$states cannot be assigned to")
    return reasons
