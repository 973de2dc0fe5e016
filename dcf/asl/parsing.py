"""A workflow's machine from JSON: the machine, or everything that is wrong with it.

Never raises, whatever the JSON is. Whether states exist and can be reached is judged on the JSON itself, so
that a state dcf cannot run does not make its neighbours look unreachable.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dcf.asl.fields import Fields, token
from dcf.asl.limits import exceeds_depth
from dcf.asl.machine import Machine, State
from dcf.asl.path_syntax import clip
from dcf.asl.state_syntax import check_query_language, parse_state
from dcf.core.json_text import MAX_DEPTH, Json
from dcf.errors import Problem

MAX_STATES: Final = 10_000
MAX_NAME: Final = 80

_KNOWN: Final = frozenset({"Comment", "StartAt", "States", "Version", "QueryLanguage"})
_LATER: Final = frozenset({"TimeoutSeconds"})


class _Edge(NamedTuple):
    field: str
    target: Json


def parse_machine(document: Json, path: str = "") -> tuple[Machine | None, tuple[Problem, ...]]:
    """Compile a machine; `path` is the JSON Pointer where the document stands, for the problems."""
    problems: list[Problem] = []
    refusal = _refusal(document)
    if refusal is not None:
        code, message, hint = refusal
        return None, (Problem(path=path, code=code, message=message, hint=hint),)
    fields = Fields(document=document, pointer=path, owner="The machine", problems=problems)
    _check_head(fields)
    start_at = fields.required_text("StartAt", "Name the state that runs first.")
    states = _read_states(fields)
    if problems:
        return None, tuple(problems)
    return Machine(start_at=start_at, states=states), ()


def _refusal(document: Json) -> tuple[str, str, str] | None:
    if not isinstance(document, dict):
        return "wrong_type", "The machine must be an object.", "Write an object with StartAt and States."
    if exceeds_depth(document):
        return "too_deep", f"The machine is nested deeper than {MAX_DEPTH} levels.", "Flatten the definition."
    return None


def _check_head(fields: Fields) -> None:
    fields.allow(_KNOWN, _LATER)
    fields.text("Comment")
    fields.choice("Version", ("1.0",))
    check_query_language(fields)


def _read_states(machine: Fields) -> dict[str, State]:
    documents: dict[str, Json] = machine.value("States", dict, "an object of states") or {}
    if machine.document.get("States", {}) == {}:
        machine.note(None, "missing_field", "States needs at least one state.", "Add a state and name it in StartAt.")
    if len(documents) > MAX_STATES:
        message = f"a machine has at most {MAX_STATES} states, not {len(documents)}."
        machine.note("States", "too_many_states", message, "Split the workflow.")
        return {}
    states: dict[str, State] = {}
    edges: dict[str, list[_Edge]] = {}
    for name, document in documents.items():
        state = _read_state(machine, name, document)
        if state is not None:
            states[name] = state
        edges[name] = list(_edges(document)) if isinstance(document, dict) else []
    _check_graph(machine, documents, edges)
    return states


def _read_state(machine: Fields, name: str, document: Json) -> State | None:
    owner, tail = f"State '{clip(name)}'", f"/States/{token(name)}"
    if not 0 < len(name) <= MAX_NAME or not _is_unicode(name):
        message = f"{owner}: a state's name has 1 to {MAX_NAME} Unicode characters."
        machine.report(tail, "invalid_name", message, "Rename the state.")
    fields = machine.members(tail, document, owner)
    return None if fields is None else parse_state(fields)


def _is_unicode(name: str) -> bool:
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def _edges(state: Mapping[str, Json]) -> Iterator[_Edge]:
    """Where a state leads, each with the tail of its pointer, of whatever type the state is."""
    for field in ("Choices", "Catch"):
        rules = state.get(field)
        for at, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict) and "Next" in rule:
                yield _Edge(f"{field}/{at}/Next", rule["Next"])
    for field in ("Next", "Default"):
        if field in state:
            yield _Edge(field, state[field])


def _check_graph(machine: Fields, documents: Mapping[str, Json], edges: Mapping[str, list[_Edge]]) -> None:
    start = machine.document.get("StartAt")
    if isinstance(start, str) and start and start not in documents:
        message = f"StartAt names '{clip(start)}', which is no state."
        machine.note("StartAt", "unknown_state", message, "Use the exact name of a state in States.")
    for name, found in edges.items():
        _check_targets(machine, name, found, documents)
    if not isinstance(start, str) or start not in documents:
        return
    reached = _reachable(start, edges)
    _check_end(machine, reached, documents, edges)
    for name in documents:
        if name not in reached:
            message = f"State '{clip(name)}': it cannot be reached from StartAt."
            hint = "Lead to it with a Next, or remove it."
            machine.report(f"/States/{token(name)}", "unreachable_state", message, hint)


def _check_targets(machine: Fields, name: str, edges: list[_Edge], documents: Mapping[str, Json]) -> None:
    for field, target in edges:
        if isinstance(target, str) and target not in documents:
            message = f"State '{clip(name)}': {field} names '{clip(target)}', which is no state."
            hint = "Use the exact name of a state in States."
            machine.report(f"/States/{token(name)}/{field}", "unknown_state", message, hint)


def _reachable(start: str, edges: Mapping[str, list[_Edge]]) -> set[str]:
    reached, pending = {start}, [start]
    while pending:
        for _, target in edges[pending.pop()]:
            if isinstance(target, str) and target in edges and target not in reached:
                reached.add(target)
                pending.append(target)
    return reached


def _check_end(
    machine: Fields, reached: set[str], documents: Mapping[str, Json], edges: Mapping[str, list[_Edge]]
) -> None:
    # A state that leads to no state counts as an end: whatever it lacks is a problem of its own.
    onward = (any(edge.target in documents for edge in edges[name] if isinstance(edge.target, str)) for name in reached)
    if all(onward) and not any("End" in documents[name] for name in reached):
        message = "no state that ends the run can be reached from StartAt."
        machine.note("States", "no_terminal_state", message, 'Add a Succeed or Fail state, or "End": true.')
