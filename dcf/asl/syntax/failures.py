"""Parses, checks and compiles Retry and Catch. Pure."""

import math
from typing import TYPE_CHECKING, Final

from dcf.asl.states import Catcher, Retrier
from dcf.asl.syntax.fields import MAX_SECONDS, DefinitionFields, token
from dcf.asl.syntax.flow import read_assign
from dcf.values.text_pieces import clip

if TYPE_CHECKING:
    from dcf.values.json_text import Json

ALL: Final = "States.ALL"
KNOWN: Final = frozenset(
    f"States.{name}"
    for name in (
        "ALL",
        "HeartbeatTimeout",
        "Timeout",
        "TaskFailed",
        "Permissions",
        "ResultPathMatchFailure",
        "ParameterPathFailure",
        "QueryEvaluationError",
        "BranchFailed",
        "NoChoiceMatched",
        "IntrinsicFailure",
        "ExceedToleratedFailureThreshold",
        "ItemReaderFailed",
        "ResultWriterFailed",
        "Runtime",
        "DataLimitExceeded",
        "Http.Socket",
    )
)
MAX_DELAY: Final = 31_622_399
_RETRY: Final = frozenset(
    {"ErrorEquals", "IntervalSeconds", "MaxAttempts", "BackoffRate", "MaxDelaySeconds", "JitterStrategy", "Comment"}
)
_CATCH: Final = frozenset({"ErrorEquals", "Next", "Assign", "Comment"})


def read_retriers(fields: DefinitionFields) -> tuple[Retrier, ...]:
    """Compile Retry."""
    return tuple(_retrier(rule, last=last) for rule, last in _rules(fields, "Retry"))


def read_catchers(fields: DefinitionFields) -> tuple[Catcher, ...]:
    """Compile Catch."""
    return tuple(_catcher(rule, last=last) for rule, last in _rules(fields, "Catch"))


def _rules(fields: DefinitionFields, name: str) -> list[tuple[DefinitionFields, bool]]:
    written: list[Json] = fields.value(name, list, "an array") or []
    opened = [
        (fields.members(f"/{name}/{at}", rule, f"{fields.owner}, {name}"), at == len(written) - 1)
        for at, rule in enumerate(written)
    ]
    return [(rule, last) for rule, last in opened if rule is not None]


def _retrier(rule: DefinitionFields, *, last: bool) -> Retrier:
    rule.allow(_RETRY)
    rule.text("Comment")
    interval, delay = rule.whole("IntervalSeconds", 1, MAX_SECONDS), rule.whole("MaxDelaySeconds", 1, MAX_DELAY)
    if delay is not None and delay <= (1 if interval is None else interval):
        message = "MaxDelaySeconds must be more than IntervalSeconds."
        rule.note("MaxDelaySeconds", "invalid_value", message, "Make it larger, or leave it out.")
    attempts = rule.whole("MaxAttempts", 0, MAX_SECONDS)
    return Retrier(
        errors=_errors(rule, last=last),
        interval=1 if interval is None else interval,
        max_attempts=3 if attempts is None else attempts,
        rate=_rate(rule),
        max_delay=delay,
        jitter=rule.choice("JitterStrategy", ("FULL", "NONE")) == "FULL",
    )


def _rate(rule: DefinitionFields) -> float:
    rate = rule.document.get("BackoffRate", 2.0)
    if not rule.fits("BackoffRate", rate, 1, None, fraction=True) or not math.isfinite(rate):
        return 2.0
    return float(rate)


def _catcher(rule: DefinitionFields, *, last: bool) -> Catcher:
    mine, others = ("Output", "ResultPath") if rule.jsonata else ("ResultPath", "Output")
    rule.allow(_CATCH | {mine}, {others})
    rule.text("Comment")
    return Catcher(
        errors=_errors(rule, last=last),
        next=rule.required_text("Next", "Say where the error leads, with the name of a state."),
        result_path=None if rule.jsonata else rule.destination("ResultPath"),
        output=rule.query("Output", "errorOutput") if rule.jsonata else None,
        assign=read_assign(rule, "errorOutput"),
    )


def _errors(rule: DefinitionFields, *, last: bool) -> tuple[str, ...]:
    names = rule.document.get("ErrorEquals")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        message = "ErrorEquals must be a non-empty array of strings."
        rule.note("ErrorEquals" if "ErrorEquals" in rule.document else None, "missing_field", message, _HINT)
        return ()
    if ALL in names and (len(names) > 1 or not last):
        message = f"{ALL} must stand alone, and in the last rule."
        rule.note("ErrorEquals", "misplaced_all", message, "Move it to a last rule of its own.")
    for name in names:
        if name.startswith("States.") and name not in KNOWN:
            message = f"'{clip(name)}' is not an error of the language."
            rule.warn(f"/{token('ErrorEquals')}", "unknown_error", message, "Names that begin with States. are taken.")
    return tuple(names)


_HINT: Final = f'List error names, such as ["{ALL}"].'
