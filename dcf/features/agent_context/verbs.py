"""The tool that answers where an agent is and what it does next. It parses arguments, calls, and shows."""

from typing import Any

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.access.provenance import marked
from dcf.features.agent_context.rules import DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES, ContextQuery, fitted
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import AgentId, Answer, Arguments, ProjectId, WorkflowId, tool
from dcf.verbs.unlisted import UNLISTED


class GetContext(Arguments):
    """Ask where you are and what is next, after a restart or when your memory was cut: one call shows all of it."""

    agent_id: AgentId | None = Field(default=None, description="Your agent id.")
    workflow_id: WorkflowId | None = Field(default=None, description="Only this run.")
    session: str | None = Field(default=None, min_length=1, max_length=100, description="Only runs with this tag.")
    project: ProjectId | None = Field(
        default=None, description="Only runs of this project.", json_schema_extra=UNLISTED
    )
    max_bytes: int = Field(default=DEFAULT_BYTES, ge=LEAST_BYTES, le=MOST_BYTES, description="Size of the answer.")


class ContextRead(Answer):
    """The most important first; `left_out` says what did not fit and how to see it. No lease token is ever shown."""

    agent_id: str | None = None
    runs: list[dict[str, Any]] | None = None
    held: list[dict[str, Any]] | None = None
    issues: list[dict[str, Any]] | None = None
    handoffs: list[dict[str, Any]] | None = None
    decisions: list[dict[str, Any]] | None = None
    ready: list[dict[str, Any]] | None = None
    milestones: list[dict[str, Any]] | None = None
    inputs: list[dict[str, Any]] | None = None
    left_out: list[dict[str, Any]] | None = None
    provenance: dict[str, Any] | None = None

    only_when_set = (
        *("agent_id", "runs", "held", "issues", "handoffs", "decisions", "ready", "milestones", "inputs", "left_out"),
        "provenance",
    )


@tool(
    toolset="journal",
    scope=Scope.READ,
    profiles=("member",),
    arguments=GetContext,
    answer=ContextRead,
    read_only=True,
)
def get_context(app: Application, args: GetContext) -> ContextRead:
    """Return the context of an agent, a session or a run."""
    caller = current_caller()
    agent = args.agent_id
    if agent is None and args.workflow_id is None and args.session is None:
        agent = caller.agent_id
    query = ContextQuery(
        agent=agent, run=args.workflow_id, session=args.session, project=caller.project or args.project
    )
    pieces = app.contexts.get_context(query)
    found = fitted(pieces, min(args.max_bytes, app.settings.max_result_bytes))
    held, ready = len(found.sections.get("held", ())), len(found.sections.get("ready", ()))
    runs = len(found.sections.get("runs", ()))
    shown: dict[str, Any] = dict(found.sections)
    return ContextRead(
        status=f"{runs} runs; {held} states held, {ready} ready.",
        agent_id=agent,
        left_out=found.left_out or None,
        provenance=marked("the agents of these runs"),
        **shown,
    )
