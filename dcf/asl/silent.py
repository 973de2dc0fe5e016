"""Executes states that need no worker: Pass, Choice, Succeed, a Wait that has ended, and a Catcher.

Data in, data out: the interpreter decides which state is next.
"""

from collections.abc import Mapping

from dcf.asl.flow import Flow, assigned, place, render, select
from dcf.asl.limits import bounded
from dcf.asl.machine import Choice, Pass, Place, Succeed, Wait
from dcf.asl.states import Catcher
from dcf.asl.surroundings import Surroundings
from dcf.errors import StateError
from dcf.values.json_text import Json


def silent(here: Place, raw: Json, around: Surroundings) -> tuple[Json, str | None, Mapping[str, Json]]:
    """Execute a state without a worker; return its output, the next state (None at the end), and its variables."""
    state = here.state
    match state:
        case Pass():
            return _reshape(state, raw, around)
        case Choice():
            return _choose(state, raw, around)
        case Wait():
            sets = assigned(state.flow.assign, state.flow.document(raw, around), around)
            return state.flow.plain_output(raw, around), state.next, sets
        case Succeed():
            return state.flow.plain_output(raw, around), None, {}
    raise TypeError(f"{type(state).__name__} is no silent state")


def caught_output(
    flow: Flow, catcher: Catcher, raw: Json, error_output: Json, around: Surroundings
) -> tuple[Json, Mapping[str, Json]]:
    """Return the output of a Catcher and the variables that it sets."""
    if not flow.jsonata:
        return place(catcher.result_path, raw, error_output), assigned(catcher.assign, error_output, around)
    document = {"input": raw, "errorOutput": error_output}
    output = error_output if catcher.output is None else render(catcher.output, document, around)
    return output, assigned(catcher.assign, document, around)


def _reshape(state: Pass, raw: Json, around: Surroundings) -> tuple[Json, str | None, Mapping[str, Json]]:
    flow = state.flow
    if flow.jsonata:
        return flow.plain_output(raw, around), state.next, assigned(flow.assign, {"input": raw}, around)
    result = bounded(state.result) if state.has_result else flow.effective(raw, around)
    output = select(flow.output_path, place(flow.result_path, raw, result), around)
    return output, state.next, assigned(flow.assign, result, around)


def _choose(state: Choice, raw: Json, around: Surroundings) -> tuple[Json, str | None, Mapping[str, Json]]:
    flow = state.flow
    document = flow.document(raw, around)
    chosen = next((branch for branch in state.branches if branch.rule.matches(document, around)), None)
    if chosen is None and state.default is None:
        raise StateError("States.NoChoiceMatched", "No rule matched, and the Choice state has no Default.")
    sets = assigned(flow.assign if chosen is None else chosen.assign, document, around)
    following = state.default if chosen is None else chosen.next
    if chosen is None or not flow.jsonata:
        return flow.plain_output(raw, around), following, sets
    # The state's own Output applies only to Default: a rule that matches has its own, or passes the input through.
    return raw if chosen.output is None else render(chosen.output, document, around), following, sets
