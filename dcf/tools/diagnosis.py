"""The tools that tell why a run does not move and what happened in it. They parse arguments, call, and show."""

from typing import Any

from pydantic import Field

from dcf.application import Application
from dcf.core.access import Scope
from dcf.core.provenance import marked
from dcf.tools.registry import STATE_PATTERN, Answer, Arguments, WorkflowId, printable, tool


class ExplainRun(Arguments):
    """Explain why a run does not move: call this when it takes longer than expected.

    Each finding has a cause, a sentence, the facts behind it, since when, and what helps: a command and a tool call.
    With no finding nothing holds it up. With state it explains that state, also one that waits for others.
    """

    workflow_id: WorkflowId
    state: str | None = Field(
        default=None, pattern=STATE_PATTERN, min_length=1, max_length=400, description="Only this state; default: all."
    )


class RunExplained(Answer):
    """What holds the run up, what is stuck first; `stuck` is true where somebody has to do something."""

    workflow_id: str | None = None
    run_status: str | None = None
    stuck: bool | None = None
    at: str | None = None
    findings: list[dict[str, Any]] = Field(default_factory=list)
    unread_states: int | None = None
    provenance: dict[str, Any] | None = None


@tool(
    toolset="operations",
    scope=Scope.READ,
    profiles=("planner", "operator"),
    arguments=ExplainRun,
    answer=RunExplained,
    read_only=True,
)
def explain_run(app: Application, args: ExplainRun) -> RunExplained:
    """Explain a run."""
    found = app.diagnosis.explain(args.workflow_id, args.state)
    first = found.findings[0].sentence if found.findings else "Nothing holds it up."
    return RunExplained(
        status=printable(f"Run '{args.workflow_id}' is {found.as_json()['run_status']}. {first}"),
        provenance=marked("the agents of this run"),
        **found.as_json(),
    )
