"""Validates a workflow in any form that callers give it: a document, a bare machine, a list of steps.

What can be defaulted is defaulted before the schema is asked, and the verdict says so. Problems have the paths of what
was given. `document.py` judges documents alone, with all that their schema asks for.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from dcf.asl.resources import is_never_called
from dcf.core.definitions.bindings import bound_agents, reference_ids
from dcf.core.definitions.forms import DEFAULT_NAME, as_workflow, asl_of, defaults_of, is_bare, is_linear
from dcf.core.definitions.open_tasks import open_tasks_warning, pass_agents, uncalled_warning
from dcf.core.definitions.sources import SOURCE
from dcf.errors import InvalidDefinition
from dcf.values.identifiers import check_agents, is_id
from dcf.values.json_text import Json
from dcf.values.names import escaped
from dcf.workflows.validation.document import has_binding, is_named_machine, judge, read_text
from dcf.workflows.validation.references import is_worked, tasks_of
from dcf.workflows.validation.schema import schema_text
from dcf.workflows.validation.verdict import Validation, findings_of

_INSIDE: Final = "/asl"
_HEAD: Final = {"workflow_id": "any", "workflow_name": "any", "version": "1.0.0"}
_BINDING: Final = "AgentBinding"
_REFERENCES: Final = frozenset({"agent_ref", "agent_template_ref"})
_TO_COME: Final = "to-come"
"""Placeholder in AgentBinding for the agent that is named when a run is started."""
_NO_MACHINE: Final = {"StartAt": "A", "States": {"A": {"Type": "Succeed"}}}
"""Placeholder for a machine without bindings: all rules about it are those of the language."""


def validate_given(
    workflow: Json,
    *,
    name: str = DEFAULT_NAME,
    assigned: Json = None,
    remedy: str | None = None,
    imports_base_dir: Path,
    skills_base_dir: Path,
    agents_dir: Path | None = None,
    schema: Mapping[str, Json] | None = None,
) -> Validation:
    """Validate a workflow in any form, given as JSON text or as a native value.

    `name` is that of a workflow without one. `assigned` says who does what, as when a run is started; raise
    InvalidArgument if it cannot. `remedy` tells how to say so, in place of the argument of start_run. Agent files are
    searched in `imports_base_dir`, then in `agents_dir`.
    """
    sent, refusal = read_text(workflow)
    if refusal is not None:
        return Validation(problems=(refusal,))
    places = (imports_base_dir, skills_base_dir, agents_dir)
    if not isinstance(sent, dict):
        return judge(sent, sent, places, schema)
    document = {name: value for name, value in as_workflow(sent).items() if name != SOURCE}
    if is_linear(document):
        try:
            document["asl"] = asl_of(document)
        except InvalidDefinition as error:
            return Validation(problems=tuple(findings_of("static", error.problems)))
        del document["steps"]
    tasks = {name: task for _, name, task in tasks_of(document.get("asl"), "") if is_worked(task)}
    agents = {} if assigned is None else check_agents(assigned, set(tasks))
    verdict = _judged(document, places, schema)
    open_tasks = tuple(name for name, task in tasks.items() if name not in agents and _lacks_agent(task))
    to_come = () if assigned is None else open_tasks  # without agents, they are named when a run is started
    warnings = (
        open_tasks_warning(open_tasks, remedy or pass_agents(open_tasks)),
        uncalled_warning(
            {name: str(task["Resource"]) for name, task in tasks.items() if _is_uncalled(task, is_open=name in to_come)}
        ),
    )
    verdict = replace(
        verdict,
        warnings=(*verdict.warnings, *(warning for warning in warnings if warning is not None)),
        defaulted=(*_head_defaults(sent, name), *_agents_used(document, tasks, agents)),
        open_tasks=open_tasks,
        has_templates=any(_asks_for_template(document, task) for name, task in tasks.items() if name not in agents),
    )
    return _as_given(verdict) if is_bare(sent) else verdict


def _judged(
    document: dict[str, Json], places: tuple[Path, Path, Path | None], schema: Mapping[str, Json] | None
) -> Validation:
    """Judge a document with its defaults: its head, an agent for every Task, an entry in `agents` for each id."""
    asl = document.get("asl")
    if has_binding(asl):
        document = _with_agents(document | {"asl": _all_bound(asl)})
        return judge(document, _HEAD | document, places, schema)
    own = {} if is_named_machine(document) else document
    in_form = _HEAD | own | {"asl": _NO_MACHINE} if isinstance(asl, dict) else _HEAD | document
    return judge(document, in_form, places, schema)


def _all_bound(part: Json) -> Json:
    """Return a machine, or a part of it, in which every Task names an agent."""
    if isinstance(part, list):
        return [_all_bound(part) for part in part]
    if not isinstance(part, dict):
        return part
    inner = {name: value if name == _BINDING else _all_bound(value) for name, value in part.items()}
    if part.get("Type") == "Task" and _lacks_agent(part):
        inner[_BINDING] = {**part.get(_BINDING, {}), "agent_ref": {"id": _TO_COME}}
    return inner


def _is_uncalled(task: Mapping[str, Json], *, is_open: bool) -> bool:
    resource = task.get("Resource")
    return isinstance(resource, str) and is_never_called(resource, is_assigned=not is_open)


def _lacks_agent(task: Mapping[str, Json]) -> bool:
    """Return True for a Task whose binding names no agent; a binding of the wrong form is left to the schema."""
    binding = task.get(_BINDING, {})
    return isinstance(binding, dict) and _REFERENCES.isdisjoint(binding)


def _asks_for_template(document: Mapping[str, Json], task: Mapping[str, Json]) -> bool:
    """Return True for a Task whose agent is to be made: its binding names one, but none that exists."""
    binding = task.get(_BINDING)
    if not isinstance(binding, dict) or _REFERENCES.isdisjoint(binding):
        return False
    return not bound_agents(document, [("", binding)])


def _with_agents(document: dict[str, Json]) -> dict[str, Json]:
    """List the agents that bindings name by id and the document does not: an id needs no entry in `agents`."""
    listed = document.get("agents", [])
    if not isinstance(listed, list):
        return document
    bindings = [task[_BINDING] for _, _, task in tasks_of(document["asl"], "") if isinstance(task.get(_BINDING), dict)]
    ids = [reference_ids(binding)[0] for binding in bindings if bound_agents(document, [("", binding)])]
    entries = [agent for agent in listed if isinstance(agent, dict)]
    known = {*(reference_ids(entry)[0] for entry in entries), *(str(entry.get("agent_name")) for entry in entries)}
    fresh = [
        reference
        for reference in dict.fromkeys([_TO_COME, *ids])
        if reference is not None and is_id(reference) and reference not in known
    ]
    return {**document, "agents": [*listed, *({"agent_name": name, "agent_ref": {"id": name}} for name in fresh)]}


def _as_given(verdict: Validation) -> Validation:
    """Return the verdict about a bare machine, with the paths that its parts have in it.

    It cannot import the templates and skills that it names, so a missing one is a warning.
    """
    found_here = tuple(replace(problem, path=_own(problem.path)) for problem in verdict.problems)
    problems = tuple(problem for problem in found_here if problem.stage != "references")
    lost = tuple(f"{problem.path}: {problem.message}" for problem in found_here if problem.stage == "references")
    return replace(
        verdict,
        problems=problems,
        schema_errors=tuple(schema_text(problem) for problem in problems if problem.stage == "schema"),
        warnings=(*(warning.removeprefix(_INSIDE) for warning in verdict.warnings), *lost),
    )


def _own(path: str) -> str:
    is_inside = path == _INSIDE or path.startswith(f"{_INSIDE}/")
    return path.removeprefix(_INSIDE) if is_inside else path


def _head_defaults(document: Mapping[str, Json], name: str) -> Iterator[str]:
    if "workflow_id" not in document:
        yield "workflow_id: a new one for each run"
    yield from defaults_of(document, name)


def _agents_used(
    document: Mapping[str, Json], tasks: Mapping[str, Mapping[str, Json]], agents: Mapping[str, tuple[str, ...]]
) -> Iterator[str]:
    """Yield who does what, where the document alone does not say so in full."""
    for name, pool in agents.items():
        yield f"agent of '{escaped(name)}': {', '.join(pool)} (agents_map_json)"
    bindings = ((name, task[_BINDING]) for name, task in tasks.items() if isinstance(task.get(_BINDING), dict))
    for name, agent in bound_agents(document, bindings).items():
        if name not in agents:
            yield f"agent of '{escaped(name)}': {agent} (agent_ref)"
