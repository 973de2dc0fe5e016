"""The words of the profile `midex` for runs, units and projects of dcf, and the moves that executions make. Pure."""

import hashlib
from collections.abc import Mapping
from typing import Final

from dcf.profiles.growing_runs import RunUnit
from dcf.profiles.ids import id_of
from dcf.profiles.profile import refuse
from dcf.values.json_text import Json

PENDING: Final = "pending"
"""Why a run is paused whose execution was not begun."""

STEP_FAILED: Final = "StepFailed"

WORDS: Final = (
    (r"This token does not hold state (\0): it is now leased to (\0)", r"Step \1 is now worked on by \2"),
    (r"This lease_token completed state", "This agent ended step"),
    (r"Add `create`, or correct `workflow_id`\.", ""),
    (r"\bcontent is no Base64\b", "content is not Base64"),
    (r"\bState\b", "Step"),
    (r"\bstate(?= \0|s\b)", "step"),
    (r"\bthis state\b", "this step"),
    (r"\bunits\b", "steps"),
    (r"\bunit\b", "step"),
    (r"^Run (\0) has another planner than", r"Execution \1 has another orchestrator than"),
    (r"\bA run\b", "An execution"),
    (r"\ba run\b", "an execution"),
    (r"\brun\b", "execution"),
)
"""Words of dcf, and those of the profile."""

ADVICE: Final = {
    "unknown_run": "get_execution_history lists the executions.",
    "units_open": "Complete these steps. Start failed ones again with start_step, or end the execution with error.",
}
"""The hint after a refusal, by its code."""

MOVES: Final[Mapping[str, tuple[str, ...]]] = {
    "pending": ("running", "failed"),
    "running": ("completed", "failed", "timeout", "escalated"),
    "timeout": ("running", "failed"),
    "escalated": ("running", "completed", "failed"),
    "completed": (),
    "failed": (),
}
"""From each state of an execution, those that may follow."""

INCOMPLETE: Final = ("pending", "running", "timeout", "escalated")

_ENDED: Final = {"succeeded": "completed", "partial": "completed"}
_STEPS: Final = {"pending": "pending", "running": "running", "succeeded": "completed", "skipped": "skipped"}


def execution_state(meta: Mapping[str, Json]) -> str:
    """Return the state of the execution that a run is."""
    if meta.get("status") != "running":
        return _ENDED.get(str(meta.get("status")), "failed")
    if meta.get("blocked_by"):
        return "escalated"
    if meta.get("paused_at"):
        return "pending" if meta.get("paused_because") == PENDING else "timeout"
    return "running"


def listed_state(row: Mapping[str, Json]) -> str | None:
    """Return the state of an execution as far as the list of runs tells it; None if it is paused."""
    if row.get("status") != "running":
        return _ENDED.get(str(row.get("status")), "failed")
    if row.get("blocked"):
        return "escalated"
    return None if row.get("paused") else "running"


def check_move(meta: Mapping[str, Json], target: str) -> bool:
    """Return True if the execution must be moved, False if it is there already; raise NotDone for a wrong move."""
    state = execution_state(meta)
    if state == target:
        return False
    if target not in MOVES[state]:
        text = ", ".join(MOVES[state]) or "nothing: it is over"
        raise refuse(
            "invalid_transition",
            f"Invalid transition: {state} -> {target}.",
            f"From {state} it may become {text}; nothing was changed.",
            "newState",
        )
    return True


def execution(meta: Mapping[str, Json], started_at: Json, updated_at: Json) -> dict[str, Json]:
    """Return a run as an execution: made running at one time, and changed last at another."""
    run_input = meta.get("input") or {}
    state, project = execution_state(meta), meta.get("project")
    return {
        "id": meta.get("workflow_id"),
        "workflowName": meta.get("workflow_name"),
        "projectId": None if project is None else project_number(str(project)),
        "state": state,
        "metadata": run_input.get("metadata"),
        "timeoutMs": run_input.get("timeoutMs"),
        "startedAt": started_at,
        "completedAt": meta.get("finished_at"),
        "error": meta.get("cause") or meta.get("error") if state == "failed" else None,
        "createdAt": meta.get("created_at"),
        "updatedAt": updated_at,
        **({"timeoutAt": meta["deadline"]} if meta.get("deadline") else {}),
        **({"output": meta["output"]} if meta.get("output") is not None else {}),
    }


def step(unit: RunUnit, created_at: Json) -> dict[str, Json]:
    """Return a unit as a step; `created_at` is when its run was created."""
    state = _STEPS.get(unit.status, "failed")
    error = unit.doc.get("last_error") if state == "failed" else None
    begun = unit.started_at or created_at
    return {
        "id": id_of(unit.run, unit.name),
        "executionId": unit.run,
        "stepName": unit.title,
        "phaseName": unit.input("phase"),
        "state": state,
        "dependsOn": [id_of(unit.run, name) for name in unit.depends_on] or None,
        "startedAt": unit.started_at,
        "completedAt": unit.finished_at,
        "error": None if error is None else str(error).removeprefix(f"{STEP_FAILED}: "),
        "output": unit.output if isinstance(unit.output, Mapping) else None,
        "createdAt": begun,
        "updatedAt": unit.finished_at or begun,
    }


def project_number(project: str) -> int:
    """Return the number by which clients know a project: it follows from its id, so that nothing need be kept."""
    return int(hashlib.sha256(project.encode()).hexdigest()[:13], 16)
