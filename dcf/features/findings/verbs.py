"""Tools on findings: what was learned in runs and outlives them. They only parse arguments, call and format."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.text.entries import MOST_SKIPPED
from dcf.core.text.query import LONGEST_QUERY
from dcf.errors import Forbidden, InvalidArgument, UnknownFinding
from dcf.features.findings.changing import FindingFilters, FindingWish, NewFinding
from dcf.features.findings.model import (
    LONGEST_CATEGORY,
    LONGEST_TEXT,
    LONGEST_TITLE,
    FindingStatus,
    LastingFinding,
    Severity,
    check_labels,
    shown,
    summary,
)
from dcf.features.findings.operations import FindingKept, FindingsQuery
from dcf.values.json_text import parse, parse_object
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import fitting
from dcf.verbs.callers import bound_to, current_caller, require
from dcf.verbs.registry import (
    ID_PATTERN,
    STATE_PATTERN,
    AgentId,
    Answer,
    Arguments,
    JsonArray,
    JsonObject,
    ProjectId,
    WorkflowId,
    refused,
    tool,
)
from dcf.verbs.run_requests import Reason
from dcf.verbs.unlisted import UNLISTED

SeverityName = Literal["info", "low", "medium", "high", "critical"]
Severities = Annotated[list[SeverityName], Field(min_length=1)]
StatusName = Literal["active", "deprecated", "superseded"]
FindingId = Annotated[str, Field(pattern=ID_PATTERN, description="Id of the finding.", examples=["f-0123456789abcdef"])]
Category = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_CATEGORY, description="What it is about.", examples=["security"]),
]
Title = Annotated[
    str, Field(min_length=1, max_length=LONGEST_TITLE, description="It in a line.", examples=["Prices lack a currency"])
]
Text = Annotated[
    str,
    Field(min_length=1, max_length=LONGEST_TEXT, description="All of it.", examples=["/price answers 7, not 7 EUR."]),
]
_TAGS = 'Short texts: ["api"].'
Query = Annotated[
    str | None,
    Field(max_length=LONGEST_QUERY, description='Words that must all be there; "a phrase" as it stands.'),
]
PageCursor = Annotated[
    str | None, Field(max_length=600, description="To go on: next_cursor of the answer before, same arguments.")
]


class AddFinding(Arguments):
    """Keep what you learned for later runs: call this for what the next agent should know. No output, no log.

    The same finding, or the same key, is kept once. Secrets of known shapes are taken out.
    """

    severity: SeverityName = Field(description="How much it matters.", examples=["medium"])
    category: Category
    title: Title
    text: Text
    tags_json: JsonArray | None = Field(default=None, description=_TAGS)
    scope: Literal["project", "global"] | None = Field(
        default=None, description="Default: the project, if there is one.", json_schema_extra=UNLISTED
    )
    project: ProjectId | None = Field(default=None, description="Default: that of the run.")
    workflow_id: WorkflowId | None = Field(default=None, description="Run that it came from.")
    state: str | None = Field(
        default=None, pattern=STATE_PATTERN, max_length=400, description="And its state.", json_schema_extra=UNLISTED
    )
    location_json: JsonObject | None = Field(default=None, description='Where: {"file": "a.py", "line": 7}.')
    metadata_json: JsonObject | None = Field(default=None, description="More.", json_schema_extra=UNLISTED)
    agent_id: AgentId | None = Field(
        default=None, description="Who found it; default: the agent of your key.", json_schema_extra=UNLISTED
    )
    key: str | None = Field(
        default=None, min_length=1, max_length=200, description="What you know it by.", json_schema_extra=UNLISTED
    )


class FindingShown(Answer):
    """The finding. `existed`: it was there before; `changed`: this call changed it; `redacted` counts secrets in it."""

    finding: dict[str, Any] | None = None
    existed: bool | None = None
    changed: bool | None = None


@tool(
    toolset="knowledge",
    scope=Scope.WORK,
    profiles=("member",),
    arguments=AddFinding,
    answer=FindingShown,
    audit=("title", "workflow_id", "agent_id"),
    of_no_run=True,
)
def add_finding(app: Application, args: AddFinding) -> FindingShown:
    """Keep the finding."""
    caller = current_caller()
    location, metadata = _object(args.location_json, "location_json"), _object(args.metadata_json, "metadata_json")
    project = args.project or (None if args.workflow_id is None else app.projects.of_run(args.workflow_id))
    if args.scope == "project" and project is None:
        raise InvalidArgument("A finding of a project needs the project.", "Pass project, or scope global.")
    if args.scope == "global":
        require_all_projects("A finding for all projects")
    wish = NewFinding(
        severity=Severity(args.severity),
        category=args.category,
        title=args.title,
        text=args.text,
        author=args.agent_id or caller.agent_id or caller.name,
        tags=() if args.tags_json is None else check_labels(parse(args.tags_json, name="tags_json"), "tags_json"),
        project=None if args.scope == "global" else project,
        run=args.workflow_id,
        state=_state(app, args),
        location=location,
        metadata=metadata,
        key=args.key,
    )
    return told(app.knowledge.add(wish), "is kept", "was kept before")


class SearchFindings(Arguments):
    """Find what was learned before: call this before you begin. The best come first, without text the newest."""

    text: Query = None
    project: ProjectId | None = Field(default=None, description="Of this project, and global ones.")
    include_global: bool = Field(default=True, description="False: only the project's own.", json_schema_extra=UNLISTED)
    scope: Literal["project", "global"] | None = Field(
        default=None, description="Only these.", json_schema_extra=UNLISTED
    )
    run: str | None = Field(
        default=None, pattern=ID_PATTERN, description="From this run, which may be gone.", json_schema_extra=UNLISTED
    )
    severity: SeverityName | Severities | None = Field(default=None, description="One, or several.")
    category: str | None = Field(
        default=None, max_length=LONGEST_CATEGORY, description="Of this category.", json_schema_extra=UNLISTED
    )
    tags_json: JsonArray | None = Field(default=None, description="With one of these tags.")
    every_tag: bool = Field(default=False, description="With all of them.", json_schema_extra=UNLISTED)
    status: Literal["active", "deprecated", "superseded", "any"] = Field(
        default="active", description="Which findings."
    )
    limit: int = Field(default=20, ge=1, le=100, description="Findings of one page.", json_schema_extra=UNLISTED)
    offset: int = Field(
        default=0, ge=0, le=MOST_SKIPPED, description="So many are skipped.", json_schema_extra=UNLISTED
    )
    cursor: PageCursor = None


class FindingsFound(Answer):
    """Findings with their scores; `text` is cut unless `is_whole`. `total` is at least so many, or `total_is_exact`."""

    findings: list[dict[str, Any]] = Field(default_factory=list)
    total: int | None = None
    total_is_exact: bool | None = None
    next_cursor: str | None = None


@tool(
    toolset="knowledge",
    scope=Scope.READ,
    profiles=("member",),
    arguments=SearchFindings,
    answer=FindingsFound,
    read_only=True,
    of_no_run=True,
)
def search_findings(app: Application, args: SearchFindings) -> FindingsFound:
    """Return a page of findings."""
    severities = args.severity if isinstance(args.severity, list) else [args.severity] if args.severity else []
    filters = FindingFilters(
        project=args.project,
        include_global=args.include_global,
        scope=args.scope,
        run=args.run,
        severities=tuple(dict.fromkeys(map(Severity, severities))),
        category=args.category,
        tags=() if args.tags_json is None else check_labels(parse(args.tags_json, name="tags_json"), "tags_json"),
        every_tag=args.every_tag,
        status=None if args.status == "any" else FindingStatus(args.status),
    )
    query = FindingsQuery(limit=args.limit, text=args.text, filters=filters, offset=args.offset, cursor=args.cursor)
    page = app.knowledge.search(query)
    listed = [summary(one, score) for one, score in page.findings]
    fit = fitting(listed, app.settings.max_result_bytes)
    if fit < len(listed):
        page, listed = app.knowledge.search(replace(query, limit=fit)), listed[:fit]
    many = f"{page.total}" if page.exact else f"at least {page.total}"
    return FindingsFound(
        status=f"{len(listed)} of {many} findings.",
        findings=listed,
        total=page.total,
        total_is_exact=page.exact,
        next_cursor=page.next_cursor,
    )


class GetFinding(Arguments):
    """Read one finding whole, with what became of it."""

    finding_id: FindingId


@tool(
    toolset="knowledge",
    scope=Scope.READ,
    profiles=(),
    arguments=GetFinding,
    answer=FindingShown,
    read_only=True,
    of_no_run=True,
)
def get_finding(app: Application, args: GetFinding) -> FindingShown:
    """Return the finding."""
    found = _visible(app, args.finding_id)
    return FindingShown(status=f"Finding '{found.finding_id}' is {found.status}.", finding=shown(found))


class UpdateFinding(Arguments):
    """Correct a finding, or say that it does not hold any more: deprecated, or superseded_by a better one."""

    finding_id: FindingId
    status: StatusName | None = Field(default=None, description="What it is now.")
    superseded_by: FindingId | None = Field(default=None, description="Id of the better one.")
    severity: SeverityName | None = Field(
        default=None, description="In place of what it had; so are the others.", json_schema_extra=UNLISTED
    )
    category: str | None = Field(
        default=None, max_length=LONGEST_CATEGORY, description="What it is about.", json_schema_extra=UNLISTED
    )
    title: str | None = Field(
        default=None, max_length=LONGEST_TITLE, description="It in a line.", json_schema_extra=UNLISTED
    )
    text: str | None = Field(default=None, max_length=LONGEST_TEXT, description="All of it, corrected.")
    tags_json: JsonArray | None = Field(default=None, description=_TAGS, json_schema_extra=UNLISTED)
    agent_id: AgentId | None = Field(
        default=None, description="Who says so; default: the agent of your key.", json_schema_extra=UNLISTED
    )
    reason: Reason = None


@tool(
    toolset="knowledge",
    scope=Scope.WORK,
    profiles=("member",),
    arguments=UpdateFinding,
    answer=FindingShown,
    audit=("finding_id", "status", "reason"),
    of_no_run=True,
)
def update_finding(app: Application, args: UpdateFinding) -> FindingShown:
    """Change the finding: a worker its own, a planner any."""
    caller = current_caller()
    wish = FindingWish(
        by=args.agent_id or caller.agent_id or caller.name,
        status=None if args.status is None else FindingStatus(args.status),
        superseded_by=args.superseded_by,
        severity=None if args.severity is None else Severity(args.severity),
        category=args.category,
        title=args.title,
        text=args.text,
        tags=None if args.tags_json is None else check_labels(parse(args.tags_json, name="tags_json"), "tags_json"),
        reason=args.reason,
    )
    _visible(app, args.finding_id)
    if args.superseded_by is not None and caller.project is not None:
        _visible(app, args.superseded_by)
    return told(app.knowledge.update(args.finding_id, wish, may=_may_change), "is changed", "was so before")


class DeleteFinding(Arguments):
    """Delete a finding for good, such as one with a secret in it. What only does not hold any more is deprecated."""

    finding_id: FindingId
    reason: Reason = None


class FindingDeleted(Answer):
    """The finding is gone; `existed` is false if it was gone before."""

    finding_id: str | None = None
    existed: bool | None = None


@tool(
    toolset="knowledge",
    scope=Scope.OPERATE,
    profiles=("operator",),
    arguments=DeleteFinding,
    answer=FindingDeleted,
    destructive=True,
    audit=("finding_id", "reason"),
    of_no_run=True,
)
def delete_finding(app: Application, args: DeleteFinding) -> FindingDeleted:
    """Delete the finding."""
    if current_caller().project is not None:
        _may_change(_visible(app, args.finding_id))
    existed = app.knowledge.delete(args.finding_id)
    return FindingDeleted(
        status="deleted" if existed else "was gone already", finding_id=args.finding_id, existed=existed
    )


def _state(app: Application, args: AddFinding) -> str | None:
    """Return the path of the state that a finding came from; raise for a run or state that is not there."""
    if args.workflow_id is None:
        if args.state is not None:
            raise InvalidArgument("A state belongs to a run.", "Pass workflow_id too, or leave out state.")
        return None
    app.runs.read(args.workflow_id)  # raises for a run that is not there
    return None if args.state is None else app.control_plane.place(args.workflow_id, args.state).path


def _visible(app: Application, finding_id: str) -> LastingFinding:
    """Return a finding; one of another project is unknown to a caller that is bound to a project."""
    found, own = app.knowledge.read(finding_id), current_caller().project
    if own is not None and found.project not in {None, own}:
        raise UnknownFinding(finding_id)
    return found


def _may_change(finding: LastingFinding) -> None:
    """Raise Forbidden unless the caller may change a finding: one of its project; an agent without plan its own."""
    caller, agent_id = current_caller(), bound_to()
    if finding.project is None:
        require_all_projects("A change of a finding for all projects")
    if agent_id is not None and Scope.PLAN not in caller.scopes and finding.author not in {agent_id, caller.name}:
        require(Scope.PLAN, f"A change of a finding of '{finding.author}'")


def require_all_projects(what: str) -> None:
    """Raise Forbidden for a caller that is bound to a project."""
    project = current_caller().project
    if project is not None:
        raise Forbidden(
            f"{what} is beyond this key, which is bound to project '{project}'.",
            "Add a finding of the project instead, or use a key that is not bound to one.",
        )


def told(kept: FindingKept | Refusal, now: str, before: str) -> FindingShown:
    """Return the answer about a finding that was kept or changed, now or before."""
    if isinstance(kept, Refusal):
        return refused(FindingShown, kept)
    finding = kept.finding
    count = sum(finding.redacted.values())
    taken = f" {count} secrets were taken out of it." if count else ""
    return FindingShown(
        status=f"Finding '{finding.finding_id}' {now if kept.changed else before}.{taken}",
        finding=shown(finding),
        existed=kept.existed,
        changed=kept.changed,
    )


def _object(value: JsonObject | None, name: str) -> dict[str, Any] | None:
    return None if value is None else parse_object(value, name=name)
