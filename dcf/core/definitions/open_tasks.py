"""The warning that Tasks without an agent are open to everybody, for validation and the creation of a run. Pure.

It is no error: a pool of workers that claim ready states is a fine design, but an oversight should not lead to it.
"""

from collections.abc import Collection, Mapping
from typing import Final

from dcf.values.json_text import Json, dump
from dcf.values.names import escaped

AGENT: Final = "<agent id>"
"""Stands for the id of an agent in calls that the caller completes."""

_NAMED: Final = 10


def open_tasks_warning(tasks: Collection[str], remedy: str) -> str | None:
    """Return the warning for Tasks that have no agent; None if there are none."""
    if not tasks:
        return None
    named = ", ".join(f"'{escaped(name)}'" for name in list(tasks)[:_NAMED])
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    which = "This Task has" if len(tasks) == 1 else "These Tasks have"
    return f"{which} no agent, so any key with the scope 'work' may take it: {named}{more}. {remedy}"


def uncalled_warning(resources: Mapping[str, str]) -> str | None:
    """Return the warning for Tasks, by name, whose Resource nothing calls; None if there are none."""
    if not resources:
        return None
    named = ", ".join(f"'{escaped(name)}' ({escaped(text)})" for name, text in list(resources.items())[:_NAMED])
    more = f" and {len(resources) - _NAMED} more" if len(resources) > _NAMED else ""
    known = "dcf calls functions (dcf:task:), people (dcf:human), signals (dcf:signal), callbacks and child runs."
    return f"Nothing calls the Resource of {named}{more}. {known} Correct it, or leave it out and assign an agent."


def agents_map_for(tasks: Collection[str]) -> dict[str, Json]:
    """Return the agents_map_json that assigns these Tasks, the ids of the agents to be filled in."""
    named = list(tasks)[:_NAMED]
    assigned: dict[str, Json] = dict.fromkeys(named, AGENT)
    return assigned if len(tasks) <= _NAMED else {**assigned, "*": AGENT}


def pass_agents(tasks: Collection[str]) -> str:
    """Return the sentence that says with which argument these Tasks are assigned when a run is started."""
    return f"Say who does it when you start the run: `agents_map_json={dump(agents_map_for(tasks))}`."
