"""Evaluates the part of a path that may select several values, with the python-jsonpath library, in a child process.

The library counts no steps: a path such as `$[*,*][*,*]…` takes exponential time, and `$[?@ in $]` quadratic. No other
module imports it, and this one only when a workflow has such a path: few do, and the import takes long. Regular
expressions in filters are refused: a workflow's author writes them, and Python's can take exponential time.
"""

import re
from functools import cache, lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import orjson

from dcf.asl.expressions import confinement
from dcf.asl.expressions.confinement import Exceeded
from dcf.asl.limits import least_size, too_large
from dcf.asl.surroundings import Spending
from dcf.errors import StateError
from dcf.values.json_text import Json, load
from dcf.values.records import record

if TYPE_CHECKING:
    from jsonpath import CompoundJSONPath, JSONPath, JSONPathEnvironment

NoMatches: TypeAlias = Literal["failed", "too_many", "too_large"]
"""Why a search has no result: the library failed, or too much was found."""

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


@record(frozen=True, slots=True, kw_only=True)
class Search:
    """The steps of a path that may select several values, as they are written."""

    rest: str

    def find(self, value: Json, spending: Spending) -> list[Json]:
        """Return all matches in a value, in order; raise StateError when there are too many, or it takes too much."""
        if not isinstance(value, dict | list):
            return []
        matches = self._matches(value, spending)
        match matches:
            case "failed":
                raise self._failure("could not be followed.")
            case "too_many":
                raise self._failure(f"finds more than {MAX_FOUND} values.")
            case "too_large":
                raise too_large()
        return matches

    def _matches(self, value: Json, spending: Spending) -> list[Json] | NoMatches:
        if not confinement.IS_CONFINED:
            return _all_matches(self.rest, value)
        try:
            request = orjson.dumps([self.rest, value])
            matches: list[Json] | NoMatches = load(confinement.confined(confinement.SEARCH, request, spending))
        except TypeError:
            raise self._failure("reads data that JSON cannot hold.") from None
        except Exceeded as excess:
            raise StateError("States.DataLimitExceeded", f"The path '${self.rest}' {excess}") from None
        return matches

    def _failure(self, problem: str) -> StateError:
        return StateError("States.Runtime", f"The path '${self.rest}' {problem}")


@lru_cache(maxsize=1024)
def parse_search(rest: str) -> Search:
    """Compile the steps of a path that may select several values; raise ValueError with the reason."""
    if any(word in rest for word in _REGULAR_EXPRESSIONS):
        raise ValueError("regular expressions in filters are not accepted")
    if len(rest) > MAX_TEXT or rest.count("..") > _MAX_DESCENTS:
        raise ValueError("the path is too long or searches too deep")
    from jsonpath.exceptions import JSONPathError  # noqa: PLC0415 - see the docstring of the module

    try:
        _compiled(rest)
    except (JSONPathError, ValueError, RecursionError):
        raise ValueError("the part that selects several values is not a JSONPath") from None

    return Search(rest=rest)


def answer(request: bytes) -> bytes:
    """Search what a request of `Search` names: the function that a confined child calls."""
    return orjson.dumps(_all_matches(*orjson.loads(request)))


def _all_matches(rest: str, value: Json) -> list[Json] | NoMatches:
    from jsonpath.exceptions import JSONPathError  # noqa: PLC0415 - see the docstring of the module

    try:
        matches = [match.obj for match in islice(_compiled(rest).finditer(value), MAX_FOUND + 1)]
    except (JSONPathError, RecursionError, TypeError, ValueError):
        return "failed"
    if len(matches) > MAX_FOUND:
        return "too_many"
    try:
        least_size(matches)
    except StateError:
        return "too_large"
    return matches


@lru_cache(maxsize=1024)
def _compiled(rest: str) -> "JSONPath | CompoundJSONPath":
    return _library().compile(f"${_respelled(rest)}")


def _respelled(rest: str) -> str:
    """Rewrite AWS's spelling as the library's: no dot before a bracket, and quotes around words in filters."""
    return _OTHERWISE_SPELLED.sub(_spelling, rest)


def _spelling(match: re.Match[str]) -> str:
    if match["word"] is None:
        return match["text"] or ""
    return match[0] if match["word"] in _CONSTANTS else f"{match['operator']}'{match['word']}'"


@cache
def _library() -> "JSONPathEnvironment":
    from jsonpath import JSONPathEnvironment  # noqa: PLC0415 - see the docstring of the module

    library = JSONPathEnvironment(filter_caching=False)
    for name in ("match", "search"):
        library.function_extensions.pop(name, None)
    return library
