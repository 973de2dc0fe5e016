"""Workflows of runs with fields of Tasks that no capability of this process reads. Pure.

Another process, which has the capability, accepted such a workflow. This one reads it, keeps it and passes it on. It
must not decide about a state that has such a field.
"""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from dcf.asl.state_paths import name_of
from dcf.core.definitions.forms import asl_of
from dcf.core.definitions.model import Definition, read_definition
from dcf.errors import CapabilityMissing, InvalidDefinition, Problem
from dcf.values.digest import definition_sha256
from dcf.values.json_text import Json
from dcf.values.records import replace

_UNKNOWN = "unknown_field"


def read_stored(document: Json) -> Definition:
    """Parse the workflow of a run. Fields of Tasks that no capability reads are listed in `Definition.unread`.

    Raise InvalidDefinition for everything else that is wrong with it.
    """
    readable, unread = document, dict[str, tuple[str, ...]]()
    while True:
        try:
            definition = read_definition(readable)
        except InvalidDefinition as error:
            if not isinstance(readable, dict) or any(problem.code != _UNKNOWN for problem in error.problems):
                raise
            readable = {**readable, "asl": deepcopy(asl_of(readable))}
            for name, field in _taken_out(readable["asl"], error):
                unread[name] = (*unread.get(name, ()), field)
        else:
            break
    if not unread:
        return definition
    original = replace(definition, document=document, unread=unread)
    return replace(original, sha256=definition_sha256(original.identity))


def unless_unread(definition: Definition, path: str) -> None:
    """Raise CapabilityMissing for a state about which this process must not decide."""
    unread = definition.unread.get(name_of(path))
    if unread:
        message = f"No capability of this server reads {' and '.join(unread)} of state '{path}'."
        raise CapabilityMissing(message)


def _taken_out(machine: Any, error: InvalidDefinition) -> list[tuple[str, str]]:
    """Take unknown fields out of Tasks. Return each with the name of its Task; raise the error for any other field."""
    return [_take_out(machine, problem, error) for problem in error.problems]


def _take_out(machine: Any, problem: Problem, error: InvalidDefinition) -> tuple[str, str]:
    steps = [step.replace("~1", "/").replace("~0", "~") for step in problem.path.split("/")[2:]]
    task = _at(machine, steps[:-1])
    if not isinstance(task, dict) or task.get("Type") != "Task" or steps[-1] not in task:
        raise error
    del task[steps[-1]]
    return steps[-2], steps[-1]


def _at(document: Any, steps: Sequence[str]) -> Any:
    """Return the value at a JSON Pointer; None if there is none."""
    for step in steps:
        if isinstance(document, dict):
            document = document.get(step)
        else:
            document = document[int(step)] if isinstance(document, list) else None
    return document
