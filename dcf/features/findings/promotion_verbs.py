"""The tool that makes a finding of an issue of a run's journal. It only parses arguments, calls and formats."""

from typing import Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.features.findings.model import LONGEST_CATEGORY, LONGEST_TEXT, LONGEST_TITLE, Severity, check_labels
from dcf.features.findings.promoting import Promotion, promoted
from dcf.features.findings.verbs import FindingShown, SeverityName, require_all_projects, told
from dcf.values.json_text import parse
from dcf.values.refusal import Refusal
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import ID_PATTERN, AgentId, Arguments, JsonArray, WorkflowId, refused, tool
from dcf.verbs.unlisted import UNLISTED


class PromoteIssue(Arguments):
    """Keep an issue of a run's journal as a finding, so that later runs know of it. Each issue becomes one."""

    workflow_id: WorkflowId
    issue: str = Field(pattern=ID_PATTERN, description="The id of the issue.", examples=["j0123456789abcdef"])
    severity: SeverityName = Field(default="medium", description="How much it matters.")
    category: str = Field(
        default="issue",
        min_length=1,
        max_length=LONGEST_CATEGORY,
        description="About what.",
        json_schema_extra=UNLISTED,
    )
    title: str | None = Field(
        default=None, min_length=1, max_length=LONGEST_TITLE, description="In place of the issue's first words."
    )
    text: str | None = Field(
        default=None, min_length=1, max_length=LONGEST_TEXT, description="In place of the issue's text."
    )
    tags_json: JsonArray | None = Field(default=None, description="Short texts.", json_schema_extra=UNLISTED)
    scope: Literal["project", "global"] = Field(
        default="project", description="global: for all projects.", json_schema_extra=UNLISTED
    )
    agent_id: AgentId | None = Field(default=None, description="Who says so.", json_schema_extra=UNLISTED)


@tool(
    toolset="knowledge",
    scope=Scope.WORK,
    profiles=(),
    arguments=PromoteIssue,
    answer=FindingShown,
    audit=("workflow_id", "issue"),
)
def promote_issue(app: Application, args: PromoteIssue) -> FindingShown:
    """Keep the issue as a finding, of the run's project or of all."""
    caller = current_caller()
    tags = () if args.tags_json is None else check_labels(parse(args.tags_json, name="tags_json"), "tags_json")
    if args.scope == "global":
        require_all_projects("A finding for all projects")
    issue = app.journal.issue(args.workflow_id, args.issue)
    if isinstance(issue, Refusal):
        return refused(FindingShown, issue)
    wish = Promotion(
        author=args.agent_id or caller.agent_id or caller.name,
        severity=Severity(args.severity),
        category=args.category,
        title=args.title,
        text=args.text,
        tags=tags,
    )
    project = None if args.scope == "global" else app.projects.of_run(args.workflow_id)
    kept = app.knowledge.add(promoted(args.workflow_id, issue, project, wish))
    return told(kept, "is kept", "was kept before")
