"""Decides whether a phase of the profile `mission-control` is complete as its plan demands. Pure.

`completion: all agents success` means: each planned agent has a task that ended well, and each task that failed was
done again with success, by the same agent or another of its type. Two planned agents of one type need two such tasks.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from dcf.profiles.growing_runs import RunUnit, instant
from dcf.profiles.mission_control.words import task_status

ALL_SUCCEED: Final = "all agents success"
"""The completion of which dcf judges whether it is met; another one is for the orchestrator to judge."""

_ENDED_WELL: Final = frozenset({"SUCCESS", "PARTIAL_SUCCESS"})
_SEPARATORS: Final = "-_ .:#("


def unmet_agents(planned: Sequence[str], tasks: Sequence[RunUnit]) -> list[str]:
    """Return the agents that did not succeed: planned agents, and others who failed in the phase."""
    slots = Counter(planned)
    by_type: dict[str, list[RunUnit]] = {name: [] for name in slots}
    for task in tasks:
        by_type.setdefault(type_of(_name_of(task), slots), []).append(task)
    return [name for name, done in by_type.items() if not _have_succeeded(slots[name], done)]


def type_of(name: str, planned: Iterable[str]) -> str:
    """Return the planned type of an agent: its name, or the longest type before a separator, as in `auditor-2`."""
    types = (each for each in planned if name == each or (name.startswith(each) and name[len(each)] in _SEPARATORS))
    return max(types, key=len, default=name)


def _have_succeeded(agents: int, tasks: Sequence[RunUnit]) -> bool:
    """Return True if as many tasks ended well as there are agents, and every failure was made good later."""
    good = sorted(_starts(task for task in tasks if task_status(task) in _ENDED_WELL))
    failures = sorted(_starts(task for task in tasks if task_status(task) == "FAILED"))
    if len(good) < agents:
        return False
    for failure in failures:
        later = next((start for start in good if start > failure), None)
        if later is None:
            return False
        good.remove(later)
    return True


def _starts(tasks: Iterable[RunUnit]) -> list[float]:
    """Return when the tasks were begun."""
    return [instant(task.started_at).timestamp() if task.started_at else 0.0 for task in tasks]


def _name_of(task: RunUnit) -> str:
    return str(task.input("agent_name") or task.holder or task.title)
