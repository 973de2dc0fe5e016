"""Decides what follows from an answer: the output in a model's text, a failure by name, or problems for the model.

Decides only. The server checks the output once more when it is written.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from dcf.asl.json_schema.check import misfits
from dcf.hosting.prompts import FAILED
from dcf.hosting.protocol import Json, ModelAnswer, TaskFailed
from dcf.values.records import record

_FENCE: Final = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL)


@record(frozen=True, slots=True, kw_only=True)
class JudgedAnswer:
    """An output, and why it is not accepted, if it is not."""

    output: Json = None
    problems: tuple[str, ...] = ()


def judged(answer: Json | ModelAnswer, schema: Mapping[str, Json] | bool | None) -> JudgedAnswer:
    """Return the output that an answer has, or its problems; raise TaskFailed if the answer says so."""
    output = answer
    if isinstance(answer, ModelAnswer):
        text = _unfenced(answer.text)
        if not text.strip():
            return JudgedAnswer(problems=("The answer is empty.",))
        try:
            output = json.loads(text, parse_constant=_refuse)
        except (ValueError, RecursionError) as error:
            if schema is not None or text.lstrip()[:1] in {"{", "["}:
                return JudgedAnswer(problems=(f"The answer is not one JSON value: {error}",))
            return JudgedAnswer(output=answer.text)
        _raise_failure(output)
    return JudgedAnswer(output=output, problems=_problems(output, schema))


def _raise_failure(output: Json) -> None:
    failure = output.get(FAILED) if isinstance(output, dict) and output.keys() == {FAILED} else None
    if isinstance(failure, dict):
        raise TaskFailed(
            str(failure.get("error") or "States.TaskFailed"), str(failure.get("cause") or "The agent gave no cause.")
        )


def _problems(output: Json, schema: Mapping[str, Json] | bool | None) -> tuple[str, ...]:
    if schema is None:
        return ()
    return tuple(f"{misfit.pointer or 'the output'}: {misfit.message}" for misfit in misfits(schema, output))


def _unfenced(text: str) -> str:
    match = _FENCE.match(text)
    return text if match is None else match[1]


def _refuse(name: str) -> Json:
    raise ValueError(f"{name} is no JSON value")
