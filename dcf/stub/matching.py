"""Matches calls to cases: by a strategy, a path into the arguments, and a value to compare with.

    always     every call
    exact      the value at the path equals this text, number, object or list
    regex      the pattern is found in the text at the path
    contains   a text contains this one, a list this item, an object these members
    jsonpath   the value at the path is this JSON value, of the same type

A path is written `a.b[0].c`, `items[*].sku` or as JSONPath (`$.a.b`); without a path all arguments are compared. If a
path finds several values, one match suffices; without a value there is no match. A value that is not a text is compared
as compact JSON text with sorted keys.
"""

import json
import re
from collections.abc import Callable
from typing import Final, TypeAlias

from dcf.asl.expressions.paths import MISSING, parse_path
from dcf.asl.surroundings import Surroundings
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json, parse

STRATEGIES: Final = ("exact", "jsonpath", "regex", "contains", "always")
MAX_PATTERN: Final = 500
MAX_SEARCHED: Final = 10_000
"""Most characters of a text that a regular expression searches. Python cannot limit the time of a slow pattern, which
can block the whole stub: patterns come from the stub's author, the searched texts from any caller."""

Predicate: TypeAlias = Callable[[Json], bool]
"""Returns True if the arguments of a call match."""

Reader: TypeAlias = Callable[[Json], list[Json]]
"""Returns the values of the arguments at a path."""


def compile_match(strategy: str, path: str, value: Json) -> Predicate:
    """Return the predicate of a case; raise ValueError with a reason for people."""
    if strategy == "always":
        return lambda _: True
    if value is None or value == "":
        raise ValueError(f"the strategy {strategy} needs a value")
    fits = _FITS[strategy](value)
    read = compile_path(path)
    return lambda arguments: any(fits(value) for value in read(arguments))


def compile_path(path: str) -> Reader:
    """Return a reader of the values at a path; raise ValueError with a reason for people."""
    text = path.strip()
    if not text:
        return lambda arguments: [arguments]
    if not text.startswith("$"):
        text = "$" + ("" if text.startswith("[") else ".") + text
    compiled = parse_path(text)
    if not compiled.in_document:
        raise ValueError(f"'{path}' does not lead into the arguments")

    def read(arguments: Json) -> list[Json]:
        value = compiled.find(arguments, Surroundings())
        if compiled.search is not None:
            return list(value)
        return [] if value is MISSING else [value]

    return read


def canonical(value: Json) -> str:
    """Write a value as JSON such that equal values give equal texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def text_of(value: Json) -> str:
    """Return a text as it is, and any other value as JSON."""
    return value if isinstance(value, str) else canonical(value)


def _exact(expected: Json) -> Predicate:
    texts = {text_of(expected)}
    if isinstance(expected, str) and expected.lstrip()[:1] in {"{", "["}:
        texts.add(canonical(_json(expected)))
    return lambda value: text_of(value) in texts


def _jsonpath(pattern: Json) -> Predicate:
    expected = canonical(_json(pattern) if isinstance(pattern, str) else pattern)
    return lambda value: canonical(value) == expected


def _regex(pattern_source: Json) -> Predicate:
    if not isinstance(pattern_source, str) or len(pattern_source) > MAX_PATTERN:
        raise ValueError(f"the regular expression is no text of at most {MAX_PATTERN} characters")
    try:
        pattern = re.compile(pattern_source)
    except (re.error, RecursionError, OverflowError):
        raise ValueError("the value is no regular expression") from None
    return lambda value: pattern.search(text_of(value)[:MAX_SEARCHED]) is not None


def _contains(part: Json) -> Predicate:
    text = text_of(part)
    members = _json(part) if isinstance(part, str) and part.lstrip()[:1] == "{" else part
    same = _exact(part)

    def fits(document: Json) -> bool:
        if isinstance(document, list):
            return any(same(item) for item in document)
        if isinstance(document, dict) and isinstance(members, dict):
            return all(name in document and canonical(document[name]) == canonical(members[name]) for name in members)
        return text in text_of(document)

    return fits


def _json(text: str) -> Json:
    try:
        return parse(text, name="the value")
    except InvalidArgument:
        raise ValueError("the value is not valid JSON") from None


_FITS: Final[dict[str, Callable[[Json], Predicate]]] = {
    "exact": _exact,
    "jsonpath": _jsonpath,
    "regex": _regex,
    "contains": _contains,
}
