"""The input of a Task that starts a child run, read when the state is entered. Pure.

As on AWS: `StateMachineArn` names the definition, `Input` is the child's input, `Name` a name for it. `Agents` is dcf's
own: who does the child's Tasks.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from dcf.asl.retrying import RUNTIME
from dcf.errors import InvalidArgument, StateError
from dcf.values.json_text import Json, parse
from dcf.values.records import record

FIELDS: Final = frozenset({"StateMachineArn", "Input", "Name", "Agents", "TraceHeader"})
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}\Z", re.ASCII)
_ARN: Final = re.compile(r"arn:[^:]*:states:[^:]*:[^:]*:stateMachine:([^:]+)(?::([^:]+))?\Z")
_LONGEST_REFERENCE: Final = 300


@record(frozen=True, slots=True, kw_only=True)
class ChildInput:
    """What to start: a kept definition by `reference` (`name@version`, name or hash), with an input.

    `name` becomes a tag of the child. `agents` maps its Tasks to agents, as callers write it.
    """

    reference: str
    run_input: Json
    name: str | None = None
    agents: Mapping[str, Json] | None = None


def read_child_input(effective: Json) -> ChildInput:
    """Read the input of a state that starts a child run; raise StateError if it has no valid request."""
    fields: dict[str, Any] = effective if isinstance(effective, dict) else {}
    unknown = sorted(fields.keys() - FIELDS)
    if unknown:
        raise _wrong(f"'{unknown[0][:80]}' is no field of it; it takes {', '.join(sorted(FIELDS))}")
    reference, name, agents = fields.get("StateMachineArn"), fields.get("Name"), fields.get("Agents")
    if not isinstance(reference, str) or not 0 < len(reference) <= _LONGEST_REFERENCE:
        raise _wrong("StateMachineArn names no definition: 'name@version', 'name' (the newest) or its hash")
    if name is not None and not (isinstance(name, str) and _NAME.match(name)):
        raise _wrong("Name has not 1 to 64 letters, digits or _ . -, beginning with a letter or digit")
    if agents is not None and not isinstance(agents, dict):
        raise _wrong('Agents is not an object, as in {"State": "agent-id"}')
    return ChildInput(
        reference=_reference(reference), run_input=_run_input(fields.get("Input", {})), name=name, agents=agents
    )


def _reference(text: str) -> str:
    """Return the name in an ARN of AWS, with its version if it has one; any other text as it is."""
    match = _ARN.match(text)
    if match is None:
        return text
    return match[1] if match[2] is None else f"{match[1]}@{match[2]}"


def _run_input(run_input: Json) -> Json:
    """Return the input of the child. As on AWS, text is JSON text."""
    if not isinstance(run_input, str):
        return run_input
    try:
        return parse(run_input, name="Input")
    except InvalidArgument as error:
        raise StateError("StepFunctions.InvalidExecutionInputException", error.message) from None


def _wrong(problem: str) -> StateError:
    return StateError(RUNTIME, f"The input of a state that starts a child run is wrong: {problem}.")
