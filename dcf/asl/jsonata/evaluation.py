"""Evaluates one JSONata expression with the jlens library: here, or as the pure function that a confined child calls.

Besides, `aws_expressions` uses that library to compile, and `expressions` to analyse. The caller fixes the time and the
random numbers, so evaluating an expression twice gives the same value. Every failure is a value.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias, TypedDict, cast

import orjson
from jlens import Expression, JlensError

from dcf.asl.jsonata.aws_expressions import aws_expression
from dcf.asl.jsonata.random_functions import lucky
from dcf.asl.limits import MAX_ITEMS
from dcf.asl.surroundings import Chance
from dcf.values.json_text import MAX_BYTES, Json
from dcf.values.records import record

FAILURES: Final = (JlensError, ValueError, TypeError, ArithmeticError, LookupError, RecursionError)
"""The exceptions of the library and of dcf's functions for an expression or its data."""

LUCKY: Final = frozenset({"random", "uuid", "shuffle"})
"""The functions that draw random numbers."""

NoValue: TypeAlias = Literal["nothing", "function", "failed", "too_large"]
"""Why an evaluation has no value: `nothing` means undefined, and `function` that JSON cannot hold the result."""


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
_RESULT_TOO_LARGE: Final = "The result would exceed"


@record(frozen=True, slots=True, kw_only=True)
class Valueless:
    """An evaluation without a value, and the reason where it failed; the text follows "threw an error"."""

    kind: NoValue
    text: str = ""


def evaluate(
    expression: Expression,
    text: str,
    bindings: dict[str, Any],
    chance: Chance | None,
    *,
    millis: int,
    max_steps: int,
    timeout: float | None = None,
) -> str | Valueless:
    """Return the value of `expression`, compiled of `text`, as JSON text.

    `chance` is None for an expression that draws no random numbers.
    """
    seed = 0
    if chance is not None:
        bindings |= lucky(chance)
        seed = chance.bits(53)
    try:
        result_text = expression.evaluate_json(
            None, bindings, now=millis, seed=seed, max_steps=max_steps, timeout=timeout, **_BOUNDS
        )
    except JlensError as error:
        if str(error).startswith(_RESULT_TOO_LARGE):
            return Valueless(kind="too_large")
        return Valueless(kind="failed", text=f"{error.code}: {error}")
    except FAILURES as error:
        return Valueless(kind="failed", text=str(error))
    if result_text is not None:
        return result_text
    # The library returns None both for a function and for no value, so ask for the type. Only failing states pay.
    try:
        kind = aws_expression(f"$type(({text}))").evaluate(
            None, bindings, now=millis, seed=0, max_steps=max_steps, timeout=timeout, **_BOUNDS
        )
    except FAILURES:
        kind = None
    return Valueless(kind="function" if kind == "function" else "nothing")


def request_of(
    text: str,
    bindings: Mapping[str, Json],
    chance: Chance | None,
    *,
    millis: int,
    max_steps: int,
    timeout: float | None,
) -> bytes:
    """Return what `answer` needs to evaluate an expression; raise TypeError for data that JSON cannot hold."""
    place = None if chance is None else chance.place
    return orjson.dumps([text, bindings, place, millis, max_steps, timeout])


def answer(request: bytes) -> bytes:
    """Evaluate what a request of `request_of` asks for: the function that a confined child calls."""
    text, bindings, place, millis, max_steps, timeout = orjson.loads(request)
    chance = None if place is None else Chance(*place)
    result = evaluate(_compiled(text), text, bindings, chance, millis=millis, max_steps=max_steps, timeout=timeout)
    kind, written = ("value", result) if isinstance(result, str) else (result.kind, result.text)
    drawn = 0 if chance is None else chance.place[1]
    return f"{kind} {drawn}\n{written}".encode("utf-8", "surrogatepass")


def read_answer(data: bytes, chance: Chance | None) -> str | Valueless:
    """Return what `answer` found; `chance` continues after the numbers that were drawn."""
    head, _, written = data.decode("utf-8", "surrogatepass").partition("\n")
    kind, drawn = head.split(" ")
    if chance is not None:
        chance.skip_to(int(drawn))
    return written if kind == "value" else Valueless(kind=cast("NoValue", kind), text=written)


_compiled: Final = lru_cache(maxsize=256)(aws_expression)
