"""Evaluates JSONata expressions, `{% … %}`, within limits of steps, of memory and of time.

A plain expression is evaluated in this process: its form bounds what it may need. Any other is risky. It is evaluated
in a child process, whose memory and processor time the operating system limits: the library bounds neither, and it ends
its process when an allocation fails. An expression reads the variables and `$states`. The caller fixes the time and the
random numbers, so evaluating an expression twice gives the same value, but for the limits of a risky one. Every failure
is a StateError.
"""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from jlens import Expression, JlensError

from dcf.asl.expressions import confinement
from dcf.asl.expressions.confinement import Exceeded
from dcf.asl.expressions.risks import Unmarked
from dcf.asl.jsonata.aws_expressions import aws_expression
from dcf.asl.jsonata.evaluation import LUCKY, Valueless, evaluate, read_answer, request_of
from dcf.asl.jsonata.plain_expressions import is_plain
from dcf.asl.jsonata.text import called_names, holds_regex, objects_as_arrays, with_own_calls_marked, without_literals
from dcf.asl.limits import too_large
from dcf.asl.surroundings import Chance, Surroundings
from dcf.errors import StateError
from dcf.values.json_text import Json, load
from dcf.values.records import record

QUERY_ERROR: Final = "States.QueryEvaluationError"
MAX_TEXT: Final = 32_000
MAX_STEPS: Final = 5_000_000
"""Limit of steps per evaluation. The library counts them, so equal expressions on equal data stop at the same step."""

MAX_STEPS_MATCHING: Final = 100_000
"""The limit for expressions with a regular expression: a step of matching takes about a hundred times as long."""

_LONG_NUMBER: Final = re.compile(r"\d{16}")
_SHORT: Final = 15
"""A text of at most this many characters holds no long number."""

_EXACT: Final = 2**53


@record(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A compiled expression, what it reads (variables, parts of `$states`, random numbers) and its limit of steps.

    `expression` is None for a risky expression: nothing evaluates it in this process.
    """

    text: str
    expression: Expression | None
    variables: tuple[str, ...]
    states: frozenset[str] | None
    reads_input: bool
    lucky: bool
    max_steps: int

    @property
    def reads_states(self) -> bool:
        """True if the expression mentions `$states`, whole or in part."""
        return self.states is None or bool(self.states)

    @property
    def is_plain(self) -> bool:
        """True if the expression is evaluated in this process; any other is risky."""
        return self.expression is not None


@record(frozen=True, slots=True, kw_only=True)
class Query:
    """An expression at its place; `field` names the place in messages, such as `Output/result`."""

    field: str
    compiled: Compiled

    def render(self, document: Json, around: Surroundings, /) -> Json:
        """Evaluate the expression; `document` is the content of `$states` besides the context object."""
        result = self._evaluate(document, around)
        if isinstance(result, str):
            around.spending.build(len(result))
            return _read(result)
        raise self._without_value(result)

    def failure(self, problem: str) -> StateError:
        """Return the error for this expression."""
        text = f"The JSONata expression '{self.compiled.text}' specified for the field '{self.field}' {problem}"
        return StateError(QUERY_ERROR, text)

    def _without_value(self, valueless: Valueless) -> StateError:
        match valueless.kind:
            case "too_large":
                return too_large()
            case "failed":
                return self.failure(f"threw an error during evaluation. {valueless.text}")
            case "function":
                return self.failure("returned an unsupported result type.")
            case "nothing":
                return self.failure("returned nothing (undefined).")

    def _evaluate(self, document: Mapping[str, Json], around: Surroundings) -> str | Valueless:
        compiled = self.compiled
        bindings = _bindings(compiled, document, around)
        chance = around.chance if compiled.lucky else None
        if compiled.expression is None or not around.spending.affords(bindings):
            if not around.may_risk:
                raise Unmarked
            return self._confined(bindings, chance, around)
        return evaluate(
            compiled.expression, compiled.text, bindings, chance, millis=around.millis, max_steps=compiled.max_steps
        )

    def _confined(self, bindings: dict[str, Any], chance: Chance | None, around: Surroundings) -> str | Valueless:
        """Evaluate a risky expression where its memory and its time are limited."""
        text, millis, steps, time = self.compiled.text, around.millis, self.compiled.max_steps, confinement.UNCONFINED_S
        if not confinement.IS_CONFINED:
            expression = aws_expression(text)
            return evaluate(expression, text, bindings, chance, millis=millis, max_steps=steps, timeout=time)
        try:
            request = request_of(text, bindings, chance, millis=millis, max_steps=steps, timeout=time)
            reply = confinement.confined(confinement.EXPRESSION, request, around.spending)
        except TypeError:
            raise self.failure("reads data that JSON cannot hold.") from None
        except Exceeded as excess:
            raise self.failure(str(excess)) from None
        return read_answer(reply, chance)


def _read(text: str) -> Json:
    """Parse the library's JSON text; all its numbers are floats, also those written like long integers."""
    if len(text) <= _SHORT or _LONG_NUMBER.search(text) is None:
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
        compiled = aws_expression(text)
    except JlensError as error:
        raise ValueError(f"it is not JSONata: {error} ({error.code})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSONata: {error}") from None
    return _described(text, compiled, reads["bindings"], whole, called)


def _described(text: str, expression: Expression, read: Mapping[str, Any], whole: bool, called: set[str]) -> Compiled:
    states = read.get("states", {})
    return Compiled(
        text=text,
        expression=expression if is_plain(text) else None,
        variables=tuple(name for name in read if name != "states" and name not in called),
        states=frozenset(states) if isinstance(states, Mapping) else None,
        reads_input=whole,
        lucky=bool(called & LUCKY),
        max_steps=MAX_STEPS_MATCHING if holds_regex(text) else MAX_STEPS,
    )


def _bindings(compiled: Compiled, document: Mapping[str, Json], around: Surroundings) -> dict[str, Any]:
    known = around.variables
    bindings = {name: known[name] for name in compiled.variables if name in known} if compiled.variables else {}
    if compiled.reads_states:
        bindings["states"] = _states(compiled.states, document, around)
    return bindings


def _states(read: frozenset[str] | None, document: Mapping[str, Json], around: Surroundings) -> dict[str, Json]:
    """Return `$states` with only the parts that are read: passing more to the library costs time."""
    if read is None:
        return {**document, "context": dict(around.context)}
    shown = {name: document[name] for name in read if name in document}
    if "context" in read:
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
