"""The forms in which a workflow may be given: a document with a machine (`asl`), a bare machine, `steps`. Pure.

All of them become a document, whose machine `asl_of` returns. A field that a form lacks gets a default, and
`defaults_of` lists the defaults for the caller.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from dcf.errors import InvalidDefinition, Problem
from dcf.values.json_text import Json
from dcf.values.names import escaped

DEFAULT_NAME: Final = "unnamed-workflow"

_FACTS: Final = frozenset(
    {
        *(
            "workflow_id",
            "workflow_name",
            "workflowName",
            "version",
            "workflow_schema_version",
            "description",
            "author",
        ),
        *("tags", "created_at", "updated_at", "workflow_input_schema", "af_imports", "skill_imports", "agents"),
        "source",
    }
)
"""Fields of a document that a bare machine may also have."""

_OF_THE_CHAIN: Final = frozenset({"Type", "Next", "End"})
_HINT: Final = "`describe_workflow_language` shows the forms of a workflow, with examples."


def as_workflow(document: Json, name: str = DEFAULT_NAME) -> Json:
    """Wrap a bare machine into a document of this name, unless it has its own; return any other document unchanged."""
    if not is_bare(document):
        return document
    facts = {field: value for field, value in document.items() if field in _FACTS}
    machine = {field: value for field, value in document.items() if field not in _FACTS}
    return {"workflow_name": name, **facts, "asl": machine}


def is_bare(document: Json) -> bool:
    """Return True for a machine without a document around it; it may also have facts of a document, such as a name."""
    return isinstance(document, Mapping) and "asl" not in document and not {"States", "StartAt"}.isdisjoint(document)


def is_linear(document: Json) -> bool:
    """Return True for a document that lists `steps` instead of having a machine."""
    return isinstance(document, dict) and "steps" in document and document.keys().isdisjoint({"asl", "States"})


def asl_of(document: dict[str, Any]) -> Json:
    """Return the machine of a document, or the chain of Tasks that its `steps` are."""
    if "asl" in document:
        return document["asl"]
    steps = document.get("steps")
    if not isinstance(steps, list) or not steps:
        message = "The workflow has neither 'asl' (preferred), nor StartAt and States, nor a non-empty array 'steps'."
        raise InvalidDefinition([_problem("/asl", "missing_asl", message)])
    return _chain({_step_name(step, number): step for number, step in enumerate(steps, 1)}, steps)


def defaults_of(document: Mapping[str, Json], name: str = DEFAULT_NAME) -> Iterator[str]:
    """Yield each field that a workflow leaves out with its default, as `field: value`; `name` is the default name."""
    if not _has_text(document, "workflow_name") and not _has_text(document, "workflowName"):
        yield f"workflow_name: {name}"
    if not _has_text(document, "version"):
        yield "version: none; the workflow is known by its hash"
    steps = document.get("steps") if is_linear(document) else None
    for number, step in enumerate(steps if isinstance(steps, list) else (), 1):
        if _step_name(step, number) != (step.get("step_id") if isinstance(step, dict) else None):
            yield f"steps/{number - 1}/step_id: {_step_name(step, number)}"


def _step_name(step: Json, number: int) -> str:
    name = step.get("step_id") if isinstance(step, dict) else None
    return name if isinstance(name, str) and name else f"Step_{number}"


def _chain(tasks: Mapping[str, Json], steps: list[Json]) -> dict[str, Json]:
    """Return the machine of these steps; fields of a Task that a step has, such as AgentBinding, are kept."""
    names = [_step_name(step, number) for number, step in enumerate(steps, 1)]
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise InvalidDefinition(
            [_problem("/steps", "duplicate_step", f"The step id '{escaped(repeated)}' is used twice.")]
        )
    following = [*names[1:], None]
    states = {
        name: {"Type": "Task", **_fields_of_task(tasks[name])} | ({"Next": after} if after else {"End": True})
        for name, after in zip(names, following, strict=True)
    }
    return {"StartAt": names[0], "States": states}


def _fields_of_task(step: Json) -> dict[str, Json]:
    """Return what a step says of its Task: names of the language begin with a capital."""
    own = step if isinstance(step, dict) else {}
    return {field: value for field, value in own.items() if field[:1].isupper() and field not in _OF_THE_CHAIN}


def _has_text(document: Mapping[str, Json], name: str) -> bool:
    return isinstance(document.get(name), str) and bool(document[name])


def _problem(path: str, code: str, message: str) -> Problem:
    return Problem(path=path, code=code, message=message, hint=_HINT)
