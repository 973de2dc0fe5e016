"""Evaluates JSONata expressions, `{% … %}`, with the jlens library, within limits.

No other module imports that library. An expression reads the variables and `$states`. The caller fixes the time and
the random numbers, so evaluating an expression twice gives the same value. Every failure is a StateError.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypedDict

from jlens import Expression, JlensError

from dcf.asl import jsonata_functions
from dcf.asl.jsonata_text import called_names, holds_regex, objects_as_arrays, with_own_calls_marked, without_literals
from dcf.asl.limits import MAX_ITEMS
from dcf.asl.risks import Unmarked, is_risky
from dcf.asl.surroundings import Surroundings
from dcf.errors import StateError
from dcf.values.json_text import MAX_BYTES, Json, load
from dcf.values.records import record

QUERY_ERROR: Final = "States.QueryEvaluationError"
MAX_TEXT: Final = 32_000
MAX_STEPS: Final = 5_000_000
"""Limit of steps per evaluation. The library counts them, so equal expressions on equal data stop at the same step."""

MAX_STEPS_MATCHING: Final = 100_000
"""The limit for expressions with a regular expression: a step of matching takes about a hundred times as long."""

_LONG_NUMBER: Final = re.compile(r"\d{16}")
_EXACT: Final = 2**53

_FAILURES: Final = (JlensError, ValueError, TypeError, ArithmeticError, LookupError, RecursionError)


class _Bounds(TypedDict):
    max_depth: int
    max_string_length: int
    max_array_length: int
    max_result_size: int


_BOUNDS: Final = _Bounds(
    max_depth=400,
    max_string_length=4 * MAX_BYTES,
    max_array_length=MAX_ITEMS,
    max_result_size=4 * MAX_BYTES,
)


@record(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A compiled expression, what it reads (variables, parts of `$states`, random numbers) and its limit of steps."""

    text: str
    expression: Expression
    variables: tuple[str, ...]
    states: frozenset[str] | None
    reads_input: bool
    lucky: bool
    max_steps: int

    @property
    def reads_states(self) -> bool:
        """True if the expression mentions `$states`, whole or in part."""
        return self.states is None or bool(self.states)


@record(frozen=True, slots=True, kw_only=True)
class Query:
    """An expression at its place; `field` names the place in messages, such as `Output/result`."""

    field: str
    compiled: Compiled

    def render(self, document: Json, around: Surroundings, /) -> Json:
        """Evaluate the expression; `document` is the content of `$states` besides the context object."""
        if not around.may_risk and is_risky(self.compiled.text):
            raise Unmarked
        found = self._evaluate(document, around)
        if found is None:
            raise self.failure(self._nothing(document, around))
        return _read(found)

    def failure(self, what: str) -> StateError:
        """Return the error for this expression."""
        text = f"The JSONata expression '{self.compiled.text}' specified for the field '{self.field}' {what}"
        return StateError(QUERY_ERROR, text)

    def _evaluate(self, document: Mapping[str, Json], around: Surroundings) -> str | None:
        compiled, millis = self.compiled, around.millis
        bindings = _bindings(compiled, document, around)
        seed = around.chance.bits(53) if compiled.lucky else 0
        try:
            return compiled.expression.evaluate_json(
                None, bindings, now=millis, seed=seed, max_steps=compiled.max_steps, **_BOUNDS
            )
        except JlensError as error:
            raise self.failure(f"threw an error during evaluation. {error.code}: {error}") from None
        except _FAILURES as error:
            raise self.failure(f"threw an error during evaluation. {error}") from None

    def _nothing(self, document: Mapping[str, Json], around: Surroundings) -> str:
        compiled = self.compiled
        # The library returns None both for a function and for no value, so ask for the type. Only failing states pay.
        try:
            kind = Expression(f"$type(({compiled.text}))").evaluate(
                None,
                _bindings(compiled, document, around),
                now=around.millis,
                seed=0,
                max_steps=compiled.max_steps,
                **_BOUNDS,
            )
        except _FAILURES:
            kind = None
        return "returned an unsupported result type." if kind == "function" else "returned nothing (undefined)."


def _read(text: str) -> Json:
    """Parse the library's JSON text; all its numbers are floats, also those written like long integers."""
    if _LONG_NUMBER.search(text) is None:
        return load(text)
    return json.loads(text, parse_int=lambda digits: int(digits) if abs(int(digits)) <= _EXACT else float(digits))


@lru_cache(maxsize=4096)
def compile_expression(text: str) -> Compiled:
    """Compile the text between `{%` and `%}`; raise ValueError with the reason when it is invalid."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"the expression has more than {MAX_TEXT} characters")
    bare = without_literals(text)
    called = called_names(bare)
    try:
        expression = Expression(text)
        strangers = {name: _nothing for name in called if not _is_builtin(name)}
        reads = expression.reads(strangers)
        # `input` is an empty object if only functions that lack an argument would fall back on it.
        whole = bool(reads.get("input")) and _reads_input(bare, strangers)
    except JlensError as error:
        raise ValueError(f"it is not JSONata: {error} ({error.code})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSONata: {error}") from None
    for name, (function, signature) in jsonata_functions.PURE.items():
        if name in called:
            expression.register_function(name, function, signature)
    return _described(text, expression, reads["bindings"], whole, called)


def _described(text: str, expression: Expression, read: Mapping[str, Any], whole: bool, called: set[str]) -> Compiled:
    states = read.get("states", {})
    return Compiled(
        text=text,
        expression=expression,
        variables=tuple(name for name in read if name != "states" and name not in called),
        states=frozenset(states) if isinstance(states, Mapping) else None,
        reads_input=whole,
        lucky=bool(called & {"random", "uuid", "shuffle"}),
        max_steps=MAX_STEPS_MATCHING if holds_regex(text) else MAX_STEPS,
    )


def _bindings(compiled: Compiled, document: Mapping[str, Json], around: Surroundings) -> dict[str, Any]:
    known = around.variables
    bindings = {name: known[name] for name in compiled.variables if name in known}
    if compiled.reads_states:
        bindings["states"] = _states(compiled.states, document, around)
    if compiled.lucky:
        bindings |= jsonata_functions.lucky(around.chance)
    return bindings


def _states(read: frozenset[str] | None, document: Mapping[str, Json], around: Surroundings) -> dict[str, Json]:
    """Return `$states` with only the parts that are read: passing more to the library costs time."""
    shown = {name: part for name, part in document.items() if read is None or name in read}
    if read is None or "context" in read:
        shown["context"] = dict(around.context)
    return shown


def _reads_input(bare: str, strangers: dict[str, Any]) -> bool:
    """Return True if the expression reads its input, analysed without object constructors and its own functions.

    The library reports that each of those reads the value around it.
    """
    if "{" not in bare:
        return True
    marked, own = with_own_calls_marked(objects_as_arrays(bare))
    try:
        return bool(Expression(marked).reads({**strangers, **dict.fromkeys(own, _nothing)}).get("input"))
    except (JlensError, ValueError, RecursionError):
        return False


@lru_cache(maxsize=1024)
def _is_builtin(name: str) -> bool:
    return bool(Expression(f"$type(${name})").evaluate() == "function")


def _nothing(*_arguments: Any) -> None:
    return None
