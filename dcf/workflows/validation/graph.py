"""Stage 3: the rules of the language, and the summary of the graph of states that the seed contract asks for. Pure."""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.asl.machine import warnings_of
from dcf.asl.syntax.parsing import parse_machine
from dcf.errors import Problem
from dcf.features import installed_language  # noqa: F401 - a workflow is read
from dcf.values.json_text import Json
from dcf.workflows.validation.foreign import foreign_warnings
from dcf.workflows.validation.pointers import state_in, value_at
from dcf.workflows.validation.promises import broken_promises
from dcf.workflows.validation.verdict import Finding, findings_of

_NO_GOOD_END: Final = frozenset({"no_terminal_state", "conflicting_fields"})


def check_graph(machine: Json, path: str = "") -> tuple[list[Finding], list[str], dict[str, Json]]:
    """Parse the machine at `path`; return its problems, its warnings and the summary of its graph."""
    parsed, problems = parse_machine(machine, path)
    doubts = [] if parsed is None else [f"{problem.path}: {problem.message}" for problem in warnings_of(parsed)]
    if parsed is not None:
        doubts += broken_promises(parsed, machine, path)
        doubts += foreign_warnings(machine, path)
    return findings_of("graph", problems), doubts, _summary(machine, path, problems)


def _summary(machine: Json, path: str, problems: Sequence[Problem]) -> dict[str, Json]:
    tails = [(problem, problem.path.removeprefix(path)) for problem in problems]
    unknown = [tail for finding, tail in tails if finding.code == "unknown_state"]
    missing = [value_at(machine, tail) for tail in unknown if tail == "/StartAt"]
    return {
        "start_exists": _start_exists(machine),
        "missing_states": missing,
        "invalid_transitions": [
            {"state": state_in(tail), "to": value_at(machine, tail)} for tail in unknown if tail != "/StartAt"
        ],
        "terminal_states_ok": not any(problem.code in _NO_GOOD_END for problem in problems),
        "unreachable_states": [state_in(tail) for finding, tail in tails if finding.code == "unreachable_state"],
    }


def _start_exists(machine: Json) -> bool:
    if not isinstance(machine, Mapping) or not isinstance(machine.get("States"), Mapping):
        return False
    start = machine.get("StartAt")
    return isinstance(start, str) and start in machine["States"]
