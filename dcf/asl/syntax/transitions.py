"""Checks the transitions of one machine on its JSON: unknown targets, unreachable states, no end."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from dcf.asl.syntax.fields import DefinitionFields, token
from dcf.values.json_text import Json
from dcf.values.text_pieces import clip


class Edge(NamedTuple):
    """A transition as written: the tail of its JSON Pointer, and the name of its target."""

    field: str
    target: Json


def edges_of(state: Mapping[str, Json]) -> Iterator[Edge]:
    """List the transitions of a state of any type."""
    for field in ("Choices", "Catch"):
        rules = state.get(field)
        for at, rule in enumerate(rules if isinstance(rules, list) else ()):
            if isinstance(rule, dict) and "Next" in rule:
                yield Edge(f"{field}/{at}/Next", rule["Next"])
    for field in ("Next", "Default"):
        if field in state:
            yield Edge(field, state[field])


def check_graph(machine: DefinitionFields, documents: Mapping[str, Json], edges: Mapping[str, list[Edge]]) -> None:
    """Report everything wrong with the transitions of one machine."""
    start = machine.document.get("StartAt")
    if isinstance(start, str) and start and start not in documents:
        message = f"StartAt names '{clip(start)}', which is no state."
        machine.note("StartAt", "unknown_state", message, "Use the exact name of a state in States.")
    for name, target in edges.items():
        _check_targets(machine, name, target, documents)
    if not isinstance(start, str) or start not in documents:
        return
    reached = _reachable(start, edges)
    _check_end(machine, reached, documents, edges)
    for name in documents:
        if name not in reached:
            message = f"State '{clip(name)}': it cannot be reached from StartAt."
            hint = "Lead to it with a Next, or remove it."
            machine.report(f"/States/{token(name)}", "unreachable_state", message, hint)


def _check_targets(machine: DefinitionFields, name: str, edges: list[Edge], documents: Mapping[str, Json]) -> None:
    for field, target in edges:
        if isinstance(target, str) and target not in documents:
            message = f"State '{clip(name)}': {field} names '{clip(target)}', which is no state."
            hint = "Use the exact name of a state in States."
            machine.report(f"/States/{token(name)}/{field}", "unknown_state", message, hint)


def _reachable(start: str, edges: Mapping[str, list[Edge]]) -> set[str]:
    reached, pending = {start}, [start]
    while pending:
        for _, target in edges[pending.pop()]:
            if isinstance(target, str) and target in edges and target not in reached:
                reached.add(target)
                pending.append(target)
    return reached


def _check_end(
    machine: DefinitionFields, reached: set[str], documents: Mapping[str, Json], edges: Mapping[str, list[Edge]]
) -> None:
    # A state without a transition counts as an end here: what it lacks is reported as a problem of its own.
    onward = (any(edge.target in documents for edge in edges[name] if isinstance(edge.target, str)) for name in reached)
    if all(onward) and not any("End" in documents[name] for name in reached):
        message = "no state that ends the run can be reached from StartAt."
        machine.note("States", "no_terminal_state", message, 'Add a Succeed or Fail state, or "End": true.')
