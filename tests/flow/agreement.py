"""Runs a flow as Python and as the state machine that it becomes: value, error and calls must be the same."""

import importlib.util
import inspect
import json
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcf import testing
from dcf.flow.compiling import CompiledFlow
from dcf.steps.plain_values import plain
from dcf.steps.vocabulary import Flow, Task

OWN_ERRORS = ("TooBig", "Odd", "Refused")
EXPRESSION = "States.QueryEvaluationError"


@dataclass(frozen=True)
class Outcome:
    """The result of a run: a value, or the name of an error, and the calls of the tasks."""

    value: Any = None
    error: str | None = None
    cause: str = ""
    calls: tuple[str, ...] = ()


def load(path: Path) -> types.ModuleType:
    """Import a generated module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def as_python(module: types.ModuleType, run_input: dict[str, Any]) -> Outcome:
    """Call the function under `@flow`, with steps that are plain functions."""
    calls: list[str] = []
    names = {
        **vars(module),
        "each": lambda items, **_: items,
        "parallel": lambda *steps: steps,
        "sleep": lambda _: None,
    }
    names |= {name: _noted(value, calls) for name, value in vars(module).items() if isinstance(value, Task)}
    for name, value in vars(module).items():
        if isinstance(value, Flow):
            function = value.function
            names[name] = types.FunctionType(function.__code__, names, name, function.__defaults__)
    try:
        value = plain(names["main"](**json.loads(json.dumps(run_input))))
    except Exception as error:  # noqa: BLE001 - whatever the generated program raises
        kind = type(error).__name__
        is_own = kind in OWN_ERRORS
        return Outcome(None, kind if is_own else EXPRESSION, str(error) if is_own else "")
    return Outcome(value, calls=tuple(sorted(calls)))


def as_machine(compiled: CompiledFlow, run_input: dict[str, Any]) -> Outcome:
    """Simulate the document, with the functions of its tasks."""
    calls: list[str] = []
    functions = {state: _by_state(task, calls) for state, task in compiled.functions.items()}
    story = testing.run(compiled.document, run_input, functions)
    if story.status == "succeeded":
        return Outcome(story.output, calls=tuple(sorted(calls)))
    return Outcome(None, story.error, (story.cause or "") if story.error in OWN_ERRORS else "")


def _noted(task: Task[..., Any], calls: list[str]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = inspect.signature(task.function).bind(*args, **kwargs)
        calls.append(f"{task.name}({json.dumps(plain(bound.arguments), sort_keys=True)})")
        return task.function(*args, **kwargs)

    return call


def _by_state(task: Task[..., Any], calls: list[str]) -> Any:
    noted = _noted(task, calls)
    return lambda state_input: plain(noted(**state_input))


def same(ours: Any, theirs: Any) -> bool:
    """Compare JSON values as JSON does: 1 and 1.0 are one number, true is none."""
    if isinstance(ours, bool) or isinstance(theirs, bool):
        return ours is theirs
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
    return bool(ours == theirs)
