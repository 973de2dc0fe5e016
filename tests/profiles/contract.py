"""The contracts of the profiles as data: what their tools take, and what their answers have.

Each is written as the JSON Schema that clients are shown, without descriptions, and the members of an answer: those
that it always has, and those that it may have.
"""

from dataclasses import dataclass, field
from typing import Any, Final

Schema = dict[str, Any]

TEXT: Final[Schema] = {"type": "string"}
OBJECT: Final[Schema] = {"type": "object"}
BOOLEAN: Final[Schema] = {"type": "boolean"}
INTEGER: Final[Schema] = {"type": "integer"}
NUMBER: Final[Schema] = {"type": "number"}
TEXTS: Final[Schema] = {"type": "array", "items": TEXT}


def words(*words: str, **more: Any) -> Schema:
    return {"type": "string", "enum": list(words), **more}


def text(least: int, most: int) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most}


def made_of(*required: str, **properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """One tool. `answer` are the members that its answer always has, `may` those that it may have.

    `each`: the answer is a list whose entries have these members.
    """

    takes: dict[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    answer: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    each: bool = False


def names(details: str) -> frozenset[str]:
    return frozenset(details.split())


_DETAIL: Final = words("name", "summary", "full", default="summary")
_CONTENT: Final[dict[str, Schema]] = {
    "detailLevel": _DETAIL,
    "fields": TEXTS,
    "contentMode": words("normalized", "raw", "synthesized", "mixed"),
    "includeHash": {**BOOLEAN, "default": True},
    "ifNoneMatch": TEXT,
    "redactPolicy": words("none", "pii", "secrets", "pii+secrets"),
}
_PAGE: Final[dict[str, Schema]] = {
    "page": {**INTEGER, "minimum": 1, "default": 1},
    "limit": {**INTEGER, "minimum": 1, "default": 50},
}
_SEVERITY: Final = words("info", "low", "medium", "high", "critical")
_LAYERS: Final = words("orchestrator", "workflow", "step", "agent_task")
_MEMBERS: Final = {"type": "array", "items": text(1, 64), "maxItems": 50}  # in addition to the original's
_EXECUTION_STATES: Final = words("pending", "running", "completed", "failed", "timeout", "escalated")
_EXECUTION: Final = names(
    "id workflowName projectId state metadata timeoutMs startedAt completedAt error createdAt updatedAt"
)
_STEP: Final = names(
    "id executionId stepName phaseName state dependsOn startedAt completedAt error output createdAt updatedAt"
)

DEEPWORK: Final = {
    "get_workflows": Contract(answer=names("jobs")),
    "start_workflow": Contract(
        takes={"goal": TEXT, "job_name": TEXT, "workflow_name": TEXT, "instance_id": TEXT},
        required=("goal", "job_name", "workflow_name"),
        answer=names("begin_step"),
        may=names("stack"),
    ),
    "finished_step": Contract(
        takes={"outputs": TEXTS, "notes": TEXT, "quality_review_override_reason": TEXT},
        required=("outputs",),
        answer=names("status"),
        may=names("feedback failed_criteria begin_step summary all_outputs stack waits_for_review"),
    ),
}
"""Of the seed; tools and parameters of later versions are described by their own tests."""

MIDEX: Final = {
    "search_workflows": Contract(
        takes={
            "tags": TEXTS,
            "keywords": TEXTS,
            "complexity": words("simple", "moderate", "high"),
            "detailLevel": _DETAIL,
            **_PAGE,
        },
        answer=names("item metadata"),
        each=True,
    ),
    "list_projects": Contract(
        takes=_PAGE, answer=names("id name path isGitRepo metadata discoveredAt lastUsedAt"), each=True
    ),
    "get_workflow": Contract(
        takes={"workflowName": TEXT, **_CONTENT}, required=("workflowName",), answer=names("item metadata")
    ),
    "get_agent_persona": Contract(
        takes={"agentName": TEXT, **_CONTENT}, required=("agentName",), answer=names("item metadata")
    ),
    "get_relevant_rules": Contract(
        takes={"tags": TEXTS, "fileTypes": TEXTS, "alwaysApply": BOOLEAN, **_CONTENT, **_PAGE},
        answer=names("item metadata"),
        each=True,
    ),
    "get_project_context": Contract(takes={"projectPath": TEXT}, answer=names("id name path isGitRepo metadata")),
    "start_execution": Contract(
        takes={
            "workflowName": TEXT,
            "projectPath": TEXT,
            "projectId": INTEGER,
            "metadata": OBJECT,
            "timeoutMs": {**INTEGER, "minimum": 1},
            "members": _MEMBERS,
        },
        required=("workflowName",),
        answer=_EXECUTION,
        may=names("phases timeoutAt"),
    ),
    "transition_workflow_state": Contract(
        takes={"executionId": TEXT, "newState": _EXECUTION_STATES, "error": TEXT, "members": _MEMBERS},
        required=("executionId", "newState"),
        answer=names("success"),
    ),
    "start_step": Contract(
        takes={"executionId": TEXT, "stepName": TEXT, "phaseName": TEXT, "dependsOn": TEXTS},
        required=("executionId", "stepName"),
        answer=_STEP,
    ),
    "complete_step": Contract(
        takes={"stepId": TEXT, "output": OBJECT, "error": TEXT}, required=("stepId",), answer=_STEP
    ),
    "check_execution_timeout": Contract(answer=_EXECUTION, may=names("timeoutAt"), each=True),
    "resume_execution": Contract(takes={"executionId": TEXT}, required=("executionId",), answer=names("success")),
    "complete_execution": Contract(
        takes={"executionId": TEXT, "output": OBJECT, "error": TEXT},
        required=("executionId",),
        answer=names("success"),
    ),
    "get_incomplete_executions": Contract(
        takes={"workflowName": TEXT}, answer=_EXECUTION, may=names("timeoutAt"), each=True
    ),
    "log_execution": Contract(
        takes={
            "executionId": TEXT,
            "layer": _LAYERS,
            "layerId": TEXT,
            "logLevel": words("debug", "info", "warn", "error"),
            "message": TEXT,
            "context": OBJECT,
            "contractInput": OBJECT,
            "contractOutput": OBJECT,
        },
        required=("executionId", "layer", "layerId", "logLevel", "message"),
        answer=names("id executionId layer layerId logLevel message createdAt"),
        may=names("context contractInput contractOutput"),
    ),
    "store_artifact": Contract(
        takes={
            "executionId": TEXT,
            "stepId": TEXT,
            "name": TEXT,
            "contentType": words("text", "markdown", "json", "binary"),
            "content": TEXT,
            "metadata": OBJECT,
        },
        required=("executionId", "name", "contentType", "content"),
        answer=names("id executionId stepId name contentType sizeBytes metadata createdAt"),
        may=names("content"),
    ),
    "store_finding": Contract(
        takes={
            "executionId": TEXT,
            "stepId": TEXT,
            "severity": _SEVERITY,
            "category": TEXT,
            "title": TEXT,
            "description": TEXT,
            "tags": TEXTS,
            "isGlobal": {**BOOLEAN, "default": False},
            "projectId": INTEGER,
            "location": OBJECT,
            "metadata": OBJECT,
        },
        required=("executionId", "severity", "category", "title", "description"),
        answer=names(
            "id executionId stepId severity category title description tags isGlobal projectId location metadata "
            "createdAt"
        ),
    ),
    "query_findings": Contract(
        takes={
            "executionId": TEXT,
            "projectId": INTEGER,
            "severity": {"anyOf": [_SEVERITY, {"type": "array", "items": _SEVERITY}]},
            "category": TEXT,
            "tags": TEXTS,
            "isGlobal": BOOLEAN,
            "searchText": TEXT,
            "limit": {**INTEGER, "minimum": 1},
            "offset": {**INTEGER, "minimum": 0},
        },
        answer=names("id severity category title description tags isGlobal projectId createdAt"),
        may=names("executionId stepId location metadata score"),
        each=True,
    ),
    "get_execution_history": Contract(
        takes={
            "workflowName": TEXT,
            "projectId": INTEGER,
            "state": TEXT,
            "limit": {**INTEGER, "minimum": 1},
            "offset": {**INTEGER, "minimum": 0},
        },
        answer=_EXECUTION,
        may=names("timeoutAt"),
        each=True,
    ),
    "get_execution_details": Contract(
        takes={
            "executionId": TEXT,
            "includeSteps": {**BOOLEAN, "default": True},
            "includeLogs": {**BOOLEAN, "default": False},
            "includeArtifacts": {**BOOLEAN, "default": False},
            "includeFindings": {**BOOLEAN, "default": False},
        },
        required=("executionId",),
        answer=names("execution"),
        may=names("steps logs artifacts findings"),
    ),
}

OPENFACTORY: Final = {
    "list_work_orders": Contract(
        takes={
            "status": words("ready", "in_progress", "in_review", default="ready"),
            "limit": {**INTEGER, "minimum": 1, "maximum": 50, "default": 10},
        },
        answer=names("workOrders"),
    ),
    "get_work_order": Contract(
        takes={"workOrderId": TEXT},
        required=("workOrderId",),
        answer=names(
            "id title status phase feature description acceptanceCriteria outOfScope implementationPlan "
            "graphConnections"
        ),
    ),
    "update_work_order_status": Contract(
        takes={"workOrderId": TEXT, "status": words("in_progress", "in_review", "done")},
        required=("workOrderId", "status"),
        answer=names("success workOrderId previousStatus newStatus"),
        may=names("note"),
    ),
    "search_context": Contract(
        takes={
            "query": {"type": "string", "minLength": 1},
            "types": {"type": "array", "items": words("documents", "blueprints", "artifacts", "code")},
            "limit": {**INTEGER, "minimum": 1, "maximum": 20, "default": 5},
        },
        required=("query",),
        answer=names("results"),
    ),
}

MISSION_CONTROL: Final = {
    "start_workflow": Contract(
        takes={
            "name": text(1, 200),
            "description": TEXT,
            "plan": TEXT,
            "objective": TEXT,
            "profile": words("simple", "standard", "complex", default="standard"),
            "total_phases": {**INTEGER, "minimum": 1, "maximum": 20},
            "scope": TEXT,
            "constraints": TEXT,
        },
        required=(),
        answer=names("workflow_id created_at"),
        may=names("objective profile total_phases phases warnings"),
    ),
    "start_phase": Contract(
        takes={
            "workflow_id": TEXT,
            "number": {**INTEGER, "exclusiveMinimum": 0},
            "name": text(1, 200),
            "description": TEXT,
            "is_parallel": {**BOOLEAN, "default": False},
            "members": _MEMBERS,
        },
        required=("workflow_id", "number"),
        answer=names("phase_id workflow_id number name is_parallel status"),
        may=names("started_at already_exists"),
    ),
    "start_task": Contract(
        takes={
            "workflow_id": TEXT,
            "phase_id": TEXT,
            "parent_task_id": TEXT,
            "caller_type": words("orchestrator", "subagent", default="subagent"),
            "agent_name": TEXT,
            "name": text(1, 200),
            "goal": TEXT,
            "areas": TEXTS,
        },
        required=("phase_id",),
        answer=names(
            "task_id workflow_id phase_id phase_number phase_name caller_type snapshot_id snapshot_type started_at"
        ),
        may=names("agent_name warnings"),
    ),
    "log_milestone": Contract(
        takes={
            "task_id": TEXT,
            "message": text(1, 500),
            "progress": {**NUMBER, "minimum": 0, "maximum": 100},
            "metadata": OBJECT,
        },
        required=("task_id", "message"),
        answer=names("milestone_id created_at"),
    ),
    "log_decision": Contract(
        takes={
            "task_id": TEXT,
            "category": words("architecture", "library_choice", "trade_off", "workaround", "other"),
            "question": TEXT,
            "options_considered": TEXTS,
            "chosen": TEXT,
            "reasoning": TEXT,
            "trade_offs": TEXT,
        },
        required=("task_id", "category", "question", "chosen", "reasoning"),
        answer=names("decision_id created_at"),
    ),
    "log_issue": Contract(
        takes={
            "task_id": TEXT,
            "type": words(
                "documentation_gap", "bug_encountered", "dependency_conflict", "unclear_requirement", "other"
            ),
            "description": TEXT,
            "resolution": TEXT,
            "requires_human_review": {**BOOLEAN, "default": False},
        },
        required=("task_id", "type", "description", "resolution"),
        answer=names("issue_id created_at"),
    ),
    "complete_task": Contract(
        takes={
            "task_id": TEXT,
            "status": words("success", "partial_success", "failed"),
            "outcome": made_of(
                "summary",
                summary=TEXT,
                achievements=TEXTS,
                limitations=TEXTS,
                manual_review_needed=BOOLEAN,
                manual_review_reason=TEXT,
                next_steps=TEXTS,
            ),
            "metadata": made_of(
                packages_added=TEXTS,
                packages_removed=TEXTS,
                commands_executed=TEXTS,
                tests_status=words("passed", "failed", "not_run"),
                tokens_input={**INTEGER, "minimum": 0},
                tokens_output={**INTEGER, "minimum": 0},
            ),
        },
        required=("task_id", "status", "outcome"),
        answer=names("task_id workflow_id duration_seconds files_changed verification"),
    ),
    "complete_phase": Contract(
        takes={"phase_id": TEXT, "status": words("completed", "failed"), "summary": TEXT},
        required=("phase_id", "status"),
        answer=names("phase_id workflow_id number name status completed_at duration_ms tasks"),
        may=names("warnings"),
    ),
    "complete_workflow": Contract(
        takes={
            "workflow_id": TEXT,
            "status": words("completed", "failed", "partial", default="completed"),
            "summary": TEXT,
            "achievements": TEXTS,
            "limitations": TEXTS,
        },
        required=(),
        answer=names("workflow_id status summary achievements limitations metrics completed_at"),
    ),
    "get_context": Contract(
        takes={
            "workflow_id": TEXT,
            "include": {
                "type": "array",
                "items": words("decisions", "milestones", "blockers", "tasks", "phase_summary"),
                "default": ["phase_summary", "tasks", "blockers"],
            },
            "filter": made_of(agent=TEXT, phase={**INTEGER, "exclusiveMinimum": 0}, since=TEXT),
        },
        required=(),
        answer=names("workflow_id workflow_name workflow_status current_phase total_phases"),
        may=names(
            "phase_summary tasks tasks_count decisions decisions_count milestones milestones_count blockers "
            "blockers_count has_blockers filters_applied warning"
        ),
    ),
}

CONTRACTS: Final[dict[str, dict[str, Contract]]] = {
    "deepwork": DEEPWORK,
    "midex": MIDEX,
    "openfactory": OPENFACTORY,
    "mission-control": MISSION_CONTROL,
}
