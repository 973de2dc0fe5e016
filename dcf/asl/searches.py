"""Evaluates the part of a path that may select several values, with the python-jsonpath library.

No other module imports that library, and this one only when a workflow has such a path: few do, and the import takes
long. Regular expressions in filters are refused: a workflow's author writes them,
and Python's can take exponential time.
"""

import re
from collections.abc import Callable
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, TypeAlias

from dcf.errors import StateError
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from jsonpath import JSONPathEnvironment

Search: TypeAlias = Callable[[Json], list[Json]]
"""A function that returns all matches in a value, in order."""

MAX_FOUND: Final = 100_000
MAX_TEXT: Final = 2_000
_MAX_DESCENTS: Final = 2
_CONSTANTS: Final = ("true", "false", "null")
_OTHERWISE_SPELLED = re.compile(
    r"""(?P<text>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\\.|\.\.)"""
    r"""|\.(?=\[)"""
    r"""|(?P<operator>[=<>]\s*)(?P<word>[^\W\d][\w-]*)(?=\s*(?:[)\]]|&&|\|\|))""",
    re.DOTALL,
)
_REGULAR_EXPRESSIONS: Final = ("=~", "match(", "search(")


@lru_cache(maxsize=1024)
def parse_search(rest: str) -> Search:
    """Compile the steps of a path that may select several values; raise ValueError with the reason."""
    if any(word in rest for word in _REGULAR_EXPRESSIONS):
        raise ValueError("regular expressions in filters are not accepted")
    if len(rest) > MAX_TEXT or rest.count("..") > _MAX_DESCENTS:
        raise ValueError("the path is too long or searches too deep")
    from jsonpath.exceptions import JSONPathError  # noqa: PLC0415 - see the docstring of the module

    try:
        query = _library().compile(f"${_respelled(rest)}")
    except (JSONPathError, ValueError, RecursionError):
        raise ValueError("the part that selects several values is not a JSONPath") from None

    def search(value: Json) -> list[Json]:
        try:
            matches = query.finditer(value) if isinstance(value, dict | list) else ()
            found = [match.obj for match in islice(matches, MAX_FOUND + 1)]
        except (JSONPathError, RecursionError, TypeError, ValueError):
            raise StateError("States.Runtime", f"The path '${rest}' could not be followed.") from None
        if len(found) > MAX_FOUND:
            raise StateError("States.Runtime", f"The path '${rest}' finds more than {MAX_FOUND} values.")
        return found

    return search


def _respelled(rest: str) -> str:
    """Rewrite AWS's spelling as the library's: no dot before a bracket, and quotes around words in filters."""
    return _OTHERWISE_SPELLED.sub(_spelling, rest)


def _spelling(found: re.Match[str]) -> str:
    if found["word"] is None:
        return found["text"] or ""
    return found[0] if found["word"] in _CONSTANTS else f"{found['operator']}'{found['word']}'"


@cache
def _library() -> "JSONPathEnvironment":
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415 - see the docstring of the module

    library = JSONPathEnvironment(filter_caching=False)
    for name in ("match", "search"):
        library.function_extensions.pop(name, None)
    return library
