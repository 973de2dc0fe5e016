"""The common parts of answers about a new run: defaults that were used, missing agents, and the next calls."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dcf.asl.machine import Task, every_state
from dcf.asl.resources import is_never_called
from dcf.core.definitions.forms import defaults_of
from dcf.core.definitions.model import Definition
from dcf.core.definitions.open_tasks import agents_map_for, open_tasks_warning, uncalled_warning
from dcf.core.documents.codec import read_meta
from dcf.core.documents.model import RunStatus
from dcf.values.json_text import Json, dump
from dcf.values.names import escaped
from dcf.verbs.answers import planner_steps
from dcf.workforce.steps import Step

if TYPE_CHECKING:
    from dcf.application.application import Application

WORKFLOW: Final[Json] = {"StartAt": "Greet", "States": {"Greet": {"Type": "Task", "End": True}}}
"""The smallest workflow, as an example of an argument."""

WORKFLOW_FORMS: Final = (
    "The workflow, as `describe_workflow_language` has examples: a document with 'asl', a machine {StartAt, States}, "
    "or {steps}."
)
AGENTS_MAP: Final = 'Who does what: {"Task": "agent-id"}, or ids for a pool; "*" is every other Task.'


TO_ASSIGN: Final = "Assign it"
"""Begins what the warning about Tasks without an agent says that is to be done."""

_NAMED: Final = 10
"""Agents that a warning names."""

_REFERENCES: Final = frozenset({"agent_ref", "agent_template_ref"})


def open_tasks(definition: Definition, meta: Mapping[str, Json]) -> list[str]:
    """Return the Tasks without an assigned agent."""
    return [name for name in definition.skills if not meta["agents"].get(name)]


def unknown_agents(on: "Application", agents: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Return those of the assigned agents that dcf knows nothing of. Ask before the run begins: it fills inboxes."""
    unseen = on.activity.unseen(sorted({agent_id for pool in agents.values() for agent_id in pool}))
    unmet = on.platforms.without_trace(unseen)
    bound = on.keys.bound_to(unmet)
    return [agent_id for agent_id in unmet if agent_id not in bound]


def _unknown_warning(unknown: Sequence[str]) -> list[str]:
    """Return the warning about assigned agents that dcf knows nothing of, if there are any."""
    if not unknown:
        return []
    named = ", ".join(f"'{escaped(agent_id)}'" for agent_id in unknown[:_NAMED])
    more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
    unknown_agents = f"dcf does not know these agents: {named}{more}."
    why = "None of them was registered, has an inbox or a key of its own, or called dcf in the last days."
    return [f"{unknown_agents} {why} Check the spelling; an agent that comes later gets its work then."]


def warnings_of(definition: Definition, meta: Mapping[str, Json], unknown: Sequence[str]) -> list[str]:
    """Return the warnings about Tasks without an assigned agent, and about assigned agents that are `unknown`."""
    missing = open_tasks(definition, meta)
    remedy = f"{TO_ASSIGN} as `next` says; for another run pass `agents_map_json={dump(agents_map_for(missing))}`."
    uncalled = {
        name: str(state.resource)
        for name, state in every_state(definition.machine)
        if isinstance(state, Task) and is_never_called(state.resource, is_assigned=name not in missing)
    }
    warnings = (open_tasks_warning(missing, remedy), uncalled_warning(uncalled))
    return [*(warning for warning in warnings if warning is not None), *_unknown_warning(unknown)]


def defaulted(
    document: Json, definition: Definition, agents: Mapping[str, tuple[str, ...]], *, chosen_id: str | None
) -> list[str]:
    """Return what the caller left open, and what was taken instead.

    `given` is the workflow as the caller sent it, None where it was named; `chosen_id` the id that the run got.
    """
    bound = ((name, agent) for name, agent in definition.bound.items() if name not in agents)
    return [
        *([] if chosen_id is None else [f"workflow_id: {chosen_id}"]),
        *(defaults_of(document) if isinstance(document, Mapping) else ()),
        *(f"agent of '{escaped(name)}': {agent} (agent_ref)" for name, agent in bound),
    ]


def next_calls(workflow_id: str, definition: Definition, document: Mapping[str, Json]) -> list[dict[str, Any]]:
    """Return the calls that come after a creation or a start, as JSON."""
    return [step.as_json() for step in _steps(workflow_id, definition, document)]


def _steps(workflow_id: str, definition: Definition, document: Mapping[str, Json]) -> Iterator[Step]:
    meta = read_meta(dict(document))
    if meta.status is not RunStatus.RUNNING:
        yield planner_steps.output(workflow_id)
        return
    planner = document.get("planner_agent_id")
    missing = open_tasks(definition, document)
    templated = _from_templates(definition, missing)
    if templated:
        yield planner_steps.make_agents(workflow_id)
    elif missing:
        yield from planner_steps.assign(workflow_id, missing)
        yield planner_steps.make_agents(workflow_id, "Or: it makes an agent for each Task that has none.")
    if not meta.is_started:
        yield planner_steps.start(workflow_id)
    yield from planner_steps.watch(workflow_id, planner)


def _from_templates(definition: Definition, tasks: Sequence[str]) -> list[str]:
    """Return those of the Tasks whose agents are to be made from templates."""
    return [
        name
        for name, state in every_state(definition.machine)
        if name in tasks and isinstance(state, Task) and not _REFERENCES.isdisjoint(state.agent_binding or {})
    ]
