"""The interpreter: from where a run stands to the next Task, or to its end.

It does no I/O and keeps nothing: the caller stores the answer, or throws it away and asks again. A failure of
a state's data flow is an answer too, never an exception.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from dcf.asl.limits import bounded
from dcf.asl.machine import Choice, Fail, Machine, Pass, Succeed, Task
from dcf.asl.paths import Path
from dcf.asl.templates import Template
from dcf.core.json_text import Json
from dcf.errors import InvalidArgument, StateError

MAX_SILENT: Final = 1_000
"""Silent states in one go; a loop of them would otherwise never end."""

Context: TypeAlias = Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """A silent state that was run on the way; `source` is the state before it, None at the start."""

    state: str
    source: str | None
    input: Json
    output: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Enter:
    """A Task is reached and must be leased; `effective` is its raw input after InputPath and Parameters."""

    state: str
    source: str | None
    raw: Json
    effective: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Succeeded:
    """The run ended well in `state`."""

    state: str
    output: Json


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The run failed in `state`."""

    state: str
    error: str | None
    cause: str | None


Outcome: TypeAlias = Enter | Succeeded | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The silent states that were run, in order, and where that led."""

    visits: tuple[Visit, ...]
    outcome: Outcome


def start(machine: Machine, run_input: Json, context: Context) -> Advance:
    """Begin a run."""
    return _run(machine, machine.start_at, None, run_input, context)


def complete(machine: Machine, state: str, raw: Json, result: Json, context: Context) -> Advance:
    """Go on after the Task `state`, entered with `raw`, came to `result`."""
    task = _task(machine, state)
    try:
        output = _leave(task, raw, result, _in_state(context, state))
    except StateError as error:
        return Advance(visits=(), outcome=_failed(state, error))
    if task.next is None:
        return Advance(visits=(), outcome=Succeeded(state=state, output=output))
    return _run(machine, task.next, state, output, context)


def fail(
    machine: Machine,
    state: str,
    raw: Json,  # noqa: ARG001 - Catch will need it; callers already pass it
    error: str,
    cause: str,
    context: Context,  # noqa: ARG001 - likewise
) -> Advance:
    """Go on after the Task `state` failed: so far, the run fails with it."""
    _task(machine, state)
    return Advance(visits=(), outcome=Failed(state=state, error=error, cause=cause))


def _task(machine: Machine, name: str) -> Task:
    state = machine.states.get(name)
    if not isinstance(state, Task):
        raise InvalidArgument(f"'{name}' is not a Task of this workflow.")
    return state


def _run(machine: Machine, name: str, source: str | None, document: Json, context: Context) -> Advance:
    visits: list[Visit] = []
    while True:
        state, here = machine.states[name], _in_state(context, name)
        if len(visits) >= MAX_SILENT and not isinstance(state, Task | Fail):
            return Advance(visits=tuple(visits), outcome=_failed(name, _endless()))
        try:
            if isinstance(state, Task | Fail):
                return Advance(visits=tuple(visits), outcome=_stop(state, name, source, document, here))
            output, following = _silent(state, document, here)
        except StateError as error:
            return Advance(visits=tuple(visits), outcome=_failed(name, error))
        visits.append(Visit(state=name, source=source, input=document, output=output))
        if following is None:
            return Advance(visits=tuple(visits), outcome=Succeeded(state=name, output=output))
        name, source, document = following, name, output


def _stop(state: Task | Fail, name: str, source: str | None, document: Json, context: Context) -> Outcome:
    if isinstance(state, Task):
        effective = _effective(state.input_path, state.parameters, document, context)
        return Enter(state=name, source=source, raw=document, effective=effective)
    error, cause = _words(state.error, document, context), _words(state.cause, document, context)
    return Failed(state=name, error=error, cause=cause)


def _silent(state: Pass | Choice | Succeed, document: Json, context: Context) -> tuple[Json, str | None]:
    """Run a state that nobody works on: its output and the state that follows, None at the end."""
    match state:
        case Pass():
            return _reshape(state, document, context), state.next
        case Choice():
            return _choose(state, document, context)
        case Succeed():
            selected = _select(state.input_path, document, context)
            return _select(state.output_path, selected, context), None


def _reshape(state: Pass, document: Json, context: Context) -> Json:
    effective = _effective(state.input_path, state.parameters, document, context)
    result = bounded(state.result) if state.has_result else effective
    return _select(state.output_path, _place(state.result_path, document, result), context)


def _choose(state: Choice, document: Json, context: Context) -> tuple[Json, str]:
    effective = _select(state.input_path, document, context)
    matching = (branch.next for branch in state.branches if branch.rule.matches(effective, context))
    target = next(matching, state.default)
    if target is None:
        raise StateError("States.NoChoiceMatched", "No rule matched, and the Choice state has no Default.")
    return _select(state.output_path, effective, context), target


def _leave(task: Task, raw: Json, result: Json, context: Context) -> Json:
    if task.result_selector is not None:
        result = bounded(task.result_selector.render(result, context))
    return _select(task.output_path, _place(task.result_path, raw, result), context)


def _effective(path: Path | None, parameters: Template | None, document: Json, context: Context) -> Json:
    selected = _select(path, document, context)
    return selected if parameters is None else bounded(parameters.render(selected, context))


def _select(path: Path | None, document: Json, context: Context) -> Json:
    return {} if path is None else path.read(document, context)


def _place(path: Path | None, raw: Json, result: Json) -> Json:
    if path is None:
        return raw
    return result if path.is_root else bounded(path.write(raw, result))


def _words(words: str | Path | None, document: Json, context: Context) -> str | None:
    if not isinstance(words, Path):
        return words
    found = words.read(document, context)
    if not isinstance(found, str):
        raise StateError("States.Runtime", f"The path '{words.text}' must find a string to fail with.")
    return found


def _in_state(context: Context, name: str) -> Context:
    about = context.get("State")
    return {**context, "State": {**(about if isinstance(about, dict) else {}), "Name": name}}


def _endless() -> StateError:
    return StateError("States.Runtime", f"{MAX_SILENT} states ran in a row without any Task among them.")


def _failed(state: str, error: StateError) -> Failed:
    return Failed(state=state, error=error.error, cause=error.cause)
