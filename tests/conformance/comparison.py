"""Whether an answer agrees with a recorded one.

Recordings were normalised: what differs from run to run was replaced by marks such as `<uuid:1>` or `timestamp`.
A mark agrees with any text. Numbers are compared by value, and two strings that both hold JSON by what they hold.
"""

import json
import re
from typing import Any

MARK = re.compile(r"<[A-Za-z_][\w\- .]{0,60}(?::\d+)?>")
BARE_MARKS = frozenset(
    {
        "timestamp",
        "date",
        "time",
        "start-date",
        "stop-date",
        "start-time",
        "entered-time",
        "snf_role_arn",
        "sfn_role_arn",
        "sfn_role_arn_1",
        "role-arn",
        "RequestId",
        "X-Amzn-Trace-Id",
        "x-amz-crc32",
        "x-amzn-RequestId",
        "x-amzn-requestid",
        "lambda_function_name",
        "uuid",
        "RandomNumberGenerated",
    }
)
RUNTIME_NAMES = frozenset(
    f"States.{name}"
    for name in ("ParameterPathFailure", "ResultPathMatchFailure", "NoChoiceMatched", "IntrinsicFailure")
)
"""Errors that the specification names and AWS reports as States.Runtime."""


def agrees(recorded: Any, answer: Any) -> bool:
    """Compare one JSON value with a recorded one."""
    if isinstance(recorded, bool) or isinstance(answer, bool) or recorded is None:
        return recorded is answer
    if isinstance(recorded, dict) and isinstance(answer, dict):
        return recorded.keys() == answer.keys() and all(agrees(recorded[name], answer[name]) for name in recorded)
    if isinstance(recorded, list) and isinstance(answer, list):
        return len(recorded) == len(answer) and all(map(agrees, recorded, answer))
    if isinstance(recorded, int | float) and isinstance(answer, int | float):
        return abs(recorded - answer) <= 1e-9 * max(abs(recorded), abs(answer))
    return _texts_agree(recorded, answer)


def errors_agree(recorded: str | None, answer: str | None) -> bool:
    """Compare error names; none and an empty one are the same."""
    if (recorded or "") == (answer or ""):
        return True
    return (recorded == "States.Runtime" and answer in RUNTIME_NAMES) or agrees(recorded, answer)


def _texts_agree(recorded: Any, answer: Any) -> bool:
    if isinstance(recorded, str) and not isinstance(answer, dict | list) and answer is not None:
        if recorded in BARE_MARKS or MARK.fullmatch(recorded):
            return True
        if isinstance(answer, str):
            return recorded == answer or _pattern(recorded, answer) or _held_agree(recorded, answer)
        return False
    # The recorder unpacked some strings that held JSON.
    return isinstance(recorded, dict) and isinstance(answer, str) and agrees(recorded, _held(answer))


def _pattern(recorded: str, answer: str) -> bool:
    if not MARK.search(recorded):
        return False
    expression = ".*".join(re.escape(part) for part in MARK.split(recorded))
    return re.fullmatch(expression, answer, re.DOTALL) is not None


def _held_agree(recorded: str, answer: str) -> bool:
    holding = _held(recorded)
    return isinstance(holding, dict | list) and agrees(holding, _held(answer))


def _held(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
