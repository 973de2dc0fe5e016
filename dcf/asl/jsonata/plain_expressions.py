"""Decides whether a JSONata expression is plain: whether its form alone bounds what evaluating it may need.

A plain expression reads, compares, calculates, and builds objects and arrays. Its time grows with its data and no
faster, and what it holds at once is at most `MOST_OPERANDS` values of the size that the library allows for one. Every
other expression is risky. The decision errs on that side: it reads tokens, and what it does not know is risky.
"""

import re
from typing import Final

MOST_CHARACTERS: Final = 2_000
MOST_OPERANDS: Final = 20
"""Limit on what may each hold a value of full size: variables read, calls, arrays and joined strings."""

CHEAP: Final = frozenset(
    {
        *("abs", "append", "assert", "average", "base64decode", "base64encode", "boolean", "ceil", "contains", "count"),
        *("encodeUrl", "encodeUrlComponent", "error", "exists", "floor", "formatBase", "hash", "join", "length"),
        *("lookup", "lowercase", "max", "millis", "min", "not", "number", "power", "random", "reverse", "round"),
        *("sort", "sqrt", "string", "substring", "substringAfter", "substringBefore", "sum", "trim", "type"),
        *("uppercase", "uuid"),
    }
)
"""Functions whose result is about as large as their arguments, or checked while it grows, in nearly linear time.

Measured and left out, for example: $distinct, $keys and $merge compare all pairs. $replace checks no length. $split and
$spread make many small values. The pictures of $now and $fromMillis ask for any width.
"""

_TOKEN: Final = re.compile(
    r"""\s*(?:
    (?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
    |(?P<name>`[^`]*`|[^\W\d]\w*)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<variable>\$\$|\$\w*)
    |(?P<sign>!=|<=|>=|[.,:?=<>+*/&()\[\]{}-])
    )\s*""",
    re.VERBOSE | re.DOTALL,
)
_REFUSED: Final = ("..", ":=", "**", "??", "?:", "~>")
_WORDS: Final = ("and", "or", "in")
_WILDCARDS: Final = ("*",)
_CALLING: Final = ("(",)
_KEYWORDS: Final = ("function", "λ")


class _NotPlain(Exception):
    """The expression has something that is not plain."""


def is_plain(text: str) -> bool:
    """Return True if the expression may be evaluated in any process; False if it is risky."""
    # With one slash there is neither a comment nor a regular expression, which could hide the rest from this reader.
    if len(text) > MOST_CHARACTERS or text.count("/") > 1:
        return False
    # The numbers of an array or object are searched for a quotient that is none, in a copy of Python objects.
    if "/" in text and ("[" in text or "{" in text):
        return False
    reader = _Reader()
    position = 0
    try:
        while position < len(text):
            token = _TOKEN.match(text, position)
            if token is None:
                return False
            reader.read(token.lastgroup or "", token[token.lastgroup or 0])
            position = token.end()
    except _NotPlain:
        return False
    return reader.operands <= MOST_OPERANDS


class _Reader:
    """Reads tokens one after the other; `inside` are the closings of the brackets around the next."""

    def __init__(self) -> None:
        self.operands = 0
        self._inside: list[str] = []
        self._before = ""
        self._before_kind = ""

    def read(self, kind: str, token: str) -> None:
        """Take the next token; raise _NotPlain for a token that is not plain."""
        if self._before == "." and kind not in ("text", "name") and token not in _WILDCARDS:
            raise _NotPlain
        # A predicate is evaluated for every item, so what it reads beyond the item is read as often.
        reads_beyond = self._before_kind == "variable" and self._before != "$" and token not in _CALLING
        if reads_beyond and self._is_in_predicate:
            raise _NotPlain
        match kind:
            case "variable":
                self.operands += 1
            case "sign":
                self._sign(token)
            case "name" if token in _KEYWORDS:
                raise _NotPlain
        # `in` and its like are operators, but for names of fields after a dot.
        is_operator = kind == "name" and token in _WORDS and self._before != "."
        self._before, self._before_kind = token, "sign" if is_operator else kind

    def _sign(self, sign: str) -> None:
        if self._before_kind == "sign" and self._before + sign in _REFUSED:
            raise _NotPlain
        follows_value = self._before_kind in ("text", "name", "number", "variable") or self._before in (")", "]", "}")
        match sign:
            case "(":
                self._open_parenthesis(follows_value=follows_value)
            case "[":
                self._open_bracket(follows_value=follows_value)
            case "{":
                if follows_value or self._before == "*" or self._is_in_predicate:
                    raise _NotPlain
                self._inside.append("}")
            case ")" | "]" | "}":
                if not self._inside or self._inside.pop()[0] != sign:
                    raise _NotPlain
            case "&":
                self.operands += 1

    def _open_parenthesis(self, *, follows_value: bool) -> None:
        if self._before_kind == "variable":
            if self._before[1:] not in CHEAP:
                raise _NotPlain
        elif follows_value:
            raise _NotPlain
        self._inside.append(")")

    def _open_bracket(self, *, follows_value: bool) -> None:
        if self._before == "*":
            raise _NotPlain  # of the items of a wildcard, or an array to multiply with
        if follows_value:
            self._inside.append("] of items")
            return
        if self._is_in_predicate:
            raise _NotPlain
        self.operands += 1
        self._inside.append("]")

    @property
    def _is_in_predicate(self) -> bool:
        return "] of items" in self._inside
