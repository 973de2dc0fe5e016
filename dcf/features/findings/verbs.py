"""The verbs on findings: what was learned in runs and outlives them. They call and describe."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from dcf.core.access.model import Scope
from dcf.core.text.entries import MOST_SKIPPED
from dcf.errors import Forbidden, InvalidArgument, UnknownFinding
from dcf.features.findings.changing import FindingFilters, FindingsQuery, FindingWish, NewFinding
from dcf.features.findings.model import (
    LONGEST_CATEGORY,
    LONGEST_TEXT,
    LONGEST_TITLE,
    SHOWN,
    FindingStatus,
    LastingFinding,
    Severity,
    check_labels,
    summary,
)
from dcf.features.findings.records import DeletedFinding, FindingStatusName, FoundFindings, SeverityName, ShownFinding
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.paging import fitting
from dcf.verbs.callers import bound_to, current_caller, require
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import ID, STATE, AgentId, Cursor, ProjectId, Reason, RunId, SearchedWords, Tags

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.features.findings.operations import FindingKept

FindingId = Annotated[str, Argument(means="Id of the finding.", example="f-0123456789abcdef", pattern=ID)]


def said_of(now: str, before: str) -> Callable[[Mapping[str, Any]], str]:
    """Return what says that a finding was kept or changed: `now`, or `before` this call."""

    def says(answer: Mapping[str, Any]) -> str:
        finding = answer["finding"]
        count = sum(finding["redacted"].values())
        taken = f" {count} secrets were taken out of it." if count else ""
        return f"Finding '{finding['finding_id']}' {now if answer['changed'] else before}.{taken}"

    return says


@verb(
    toolset="knowledge",
    scope="work",
    lists=("member",),
    audit=("title", "workflow_id", "agent_id"),
    of_no_run=True,
    says=said_of("is kept", "was kept before"),
    command=Command(
        name="findings add",
        example='dcf findings add "Prices lack a currency" "/price answers 7, not 7 EUR." --severity high --tag api',
        assumes={"severity": "medium", "category": "general"},
    ),
    codes=("finding_exists", "unknown_run", "unknown_state"),
)
def add_finding(
    on: "Application",
    severity: Annotated[SeverityName, Argument(means="How much it matters.", example="medium")],
    category: Annotated[
        str,
        Argument(
            means="Its topic.",
            example="security",
            min_length=1,
            max_length=LONGEST_CATEGORY,
            spelling="Its topic, as security or speed.",
        ),
    ],
    title: Annotated[
        str, Argument(means="It in a line.", example="Prices lack a currency", min_length=1, max_length=LONGEST_TITLE)
    ],
    text: Annotated[
        str, Argument(means="All of it.", example="/price answers 7, not 7 EUR.", min_length=1, max_length=LONGEST_TEXT)
    ],
    *,
    tags: Tags = (),
    scope: Annotated[
        Literal["project", "global"] | None, Argument(means="Default: the project, if there is one.", listed=False)
    ] = None,
    project: Annotated[ProjectId | None, Argument(means="Default: that of the run.")] = None,
    workflow_id: Annotated[RunId | None, Argument(means="Run that it came from.", option="--run")] = None,
    state: Annotated[str | None, Argument(means="And its state.", pattern=STATE, max_length=400, listed=False)] = None,
    location: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means='Where: {"file": "a.py", "line": 7}.',
            form="object",
            tool="location_json",
            spelling='Where: \'{"file": "a.py"}\', a JSON file, or -.',
        ),
    ] = None,
    metadata: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="More.",
            form="object",
            tool="metadata_json",
            spelling="More: a JSON object, a JSON file, or -.",
            listed=False,
        ),
    ] = None,
    agent_id: Annotated[AgentId, Argument(means="The author; default: the agent of your key.", listed=False)] = None,
    key: Annotated[
        str | None, Argument(means="What you know it by.", min_length=1, max_length=200, listed=False)
    ] = None,
) -> Answered[ShownFinding] | Refusal:
    """Keep what you learned for later runs: call this for what the next agent should know. No output, no log.

    The same finding, or the same key, is kept once. Secrets of known shapes are taken out.
    """
    project = project or (None if workflow_id is None else on.projects.of_run(workflow_id))
    if scope == "project" and project is None:
        raise InvalidArgument("A finding of a project needs the project.", "Pass project, or scope global.")
    if scope == "global":
        require_all_projects("A finding for all projects")
    wish = NewFinding(
        severity=Severity(severity),
        category=category,
        title=title,
        text=text,
        author=author(agent_id),
        tags=check_labels(tags, "tags_json"),
        project=None if scope == "global" else project,
        run=workflow_id,
        state=_state(on, workflow_id, state),
        location=location,
        metadata=metadata,
        key=key,
    )
    return kept(on.knowledge.add(wish))


@verb(
    toolset="knowledge",
    scope="read",
    lists=("member",),
    effect="reads",
    of_no_run=True,
    says=lambda answer: (
        f"{len(answer['findings'])} of {'' if answer['total_is_exact'] else 'at least '}{answer['total']} findings."
    ),
    pages="findings",
    command=Command(
        name="findings ls",
        example="dcf findings ls c++ '\"slow build\"' --project shop --severity high",
        show="dcf.cli.features.findings:show_found",
    ),
    in_refusals={"findings": ()},
)
def search_findings(
    on: "Application",
    text: SearchedWords = None,
    *,
    project: Annotated[ProjectId | None, Argument(means="Of this project, and global ones.")] = None,
    include_global: Annotated[
        bool,
        Argument(
            means="False: only the project's own.",
            option="--include-global/--only-own",
            spelling="With the findings for all projects, or without them.",
            listed=False,
        ),
    ] = True,
    scope: Annotated[Literal["project", "global"] | None, Argument(means="Only these.", listed=False)] = None,
    run: Annotated[str | None, Argument(means="From this run, which may be gone.", pattern=ID, listed=False)] = None,
    severity: Annotated[
        SeverityName | Sequence[SeverityName] | None,
        Argument(means="One, or several.", form="several", spelling="One of these; may be repeated."),
    ] = None,
    category: Annotated[
        str | None, Argument(means="Of this category.", max_length=LONGEST_CATEGORY, listed=False)
    ] = None,
    tags: Annotated[
        Tags, Argument(means="With one of these tags.", spelling="With one of these; may be repeated.")
    ] = (),
    every_tag: Annotated[
        bool, Argument(means="With all of them.", spelling="With all tags, not with any.", listed=False)
    ] = False,
    status: Annotated[
        Literal["active", "deprecated", "superseded", "any"], Argument(means="Which findings.")
    ] = "active",
    limit: Annotated[int, Argument(means="Findings of one page.", ge=1, le=100, listed=False)] = 20,
    offset: Annotated[int, Argument(means="So many are skipped.", ge=0, le=MOST_SKIPPED, listed=False)] = 0,
    cursor: Cursor = None,
) -> Answered[FoundFindings]:
    """Find what was learned before: call this before you begin. The best come first, without text the newest."""
    filters = FindingFilters(
        project=project,
        include_global=include_global,
        scope=scope,
        run=run,
        severities=tuple(map(Severity, severity or ())),
        category=category,
        tags=check_labels(tags, "tags_json"),
        every_tag=every_tag,
        status=None if status == "any" else FindingStatus(status),
    )
    query = FindingsQuery(limit=limit, text=text, filters=filters, offset=offset, cursor=cursor)
    page = on.knowledge.search(query)
    listed = [summary(finding, score) for finding, score in page.hits]
    fit = fitting(listed, on.settings.max_result_bytes)
    if fit < len(listed):
        page, listed = on.knowledge.search(replace(query, limit=fit)), listed[:fit]
    return Answered(FoundFindings, {"findings": listed, **page.totals})


@verb(
    toolset="knowledge",
    scope="read",
    effect="reads",
    of_no_run=True,
    says=lambda answer: f"Finding '{answer['finding']['finding_id']}' is {answer['finding']['status']}.",
    command=Command(name="findings show", show="dcf.cli.features.findings:show_finding"),
    codes=("unknown_finding",),
)
def get_finding(on: "Application", finding_id: FindingId) -> Answered[ShownFinding]:
    """Read one finding whole, with its later results."""
    return Answered(ShownFinding, {"finding": SHOWN.write(_visible(on, finding_id))})


@verb(
    toolset="knowledge",
    scope="work",
    lists=("member",),
    audit=("finding_id", "status", "reason"),
    of_no_run=True,
    says=said_of("is changed", "was so before"),
    command=Command(
        name="findings update",
        example='dcf findings update f-0123456789abcdef --status deprecated --reason "fixed in 2.0"',
    ),
    codes=("not_superseded", "unknown_finding"),
)
def update_finding(
    on: "Application",
    finding_id: FindingId,
    *,
    status: Annotated[FindingStatusName | None, Argument(means="Its status.")] = None,
    superseded_by: Annotated[FindingId | None, Argument(means="Id of the better one.")] = None,
    severity: Annotated[
        SeverityName | None, Argument(means="In place of what it had; so are the others.", listed=False)
    ] = None,
    category: Annotated[str | None, Argument(means="Its topic.", max_length=LONGEST_CATEGORY, listed=False)] = None,
    title: Annotated[str | None, Argument(means="It in a line.", max_length=LONGEST_TITLE, listed=False)] = None,
    text: Annotated[str | None, Argument(means="All of it, corrected.", max_length=LONGEST_TEXT)] = None,
    tags: Annotated[Tags | None, Argument(means='Short texts: ["api"].', listed=False)] = None,
    agent_id: Annotated[AgentId, Argument(means="The author; default: the agent of your key.", listed=False)] = None,
    reason: Reason = None,
) -> Answered[ShownFinding] | Refusal:
    """Correct a finding, or say that it is no longer true: deprecated, or `superseded_by` a better one."""
    wish = FindingWish(
        by=author(agent_id),
        status=None if status is None else FindingStatus(status),
        superseded_by=superseded_by,
        severity=None if severity is None else Severity(severity),
        category=category,
        title=title,
        text=text,
        tags=None if tags is None else check_labels(tags, "tags_json"),
        reason=reason,
    )
    _visible(on, finding_id)
    if superseded_by is not None and current_caller().project is not None:
        _visible(on, superseded_by)
    return kept(on.knowledge.update(finding_id, wish, may=_may_change))


@verb(
    toolset="knowledge",
    scope="operate",
    lists=("operator",),
    effect="destroys",
    audit=("finding_id", "reason"),
    of_no_run=True,
    says=lambda answer: "deleted" if answer["existed"] else "was gone already",
    command=Command(
        name="findings delete",
        question=lambda call: f"Delete finding {call['finding_id']}?",
        show="dcf.cli.features.findings:show_deleted",
    ),
    codes=("unknown_finding",),
)
def delete_finding(
    on: "Application",
    finding_id: FindingId,
    *,
    reason: Reason = None,  # noqa: ARG001 - the audit trail notes it
) -> DeletedFinding:
    """Delete a finding permanently, such as one with a secret in it. Deprecate a finding that is no longer true."""
    if current_caller().project is not None:
        _may_change(_visible(on, finding_id))
    return DeletedFinding(finding_id=finding_id, existed=on.knowledge.delete(finding_id))


def kept(outcome: "FindingKept | Refusal") -> Answered[ShownFinding] | Refusal:
    """Return the answer about a finding that was kept or changed, now or before."""
    if isinstance(outcome, Refusal):
        return outcome
    members = {"finding": SHOWN.write(outcome.finding), "existed": outcome.existed, "changed": outcome.changed}
    return Answered(ShownFinding, members)


def author(agent_id: str | None) -> str:
    """Return who says what a finding says."""
    caller = current_caller()
    return agent_id or caller.agent_id or caller.name


def require_all_projects(subject: str) -> None:
    """Raise Forbidden for a caller that is bound to a project."""
    project = current_caller().project
    if project is not None:
        raise Forbidden(
            f"{subject} is beyond this key, which is bound to project '{project}'.",
            "Add a finding of the project instead, or use a key that is not bound to one.",
        )


def _state(on: "Application", workflow_id: str | None, state: str | None) -> str | None:
    """Return the path of the state that a finding came from; raise for a run or state that is not there."""
    if workflow_id is None:
        if state is not None:
            raise InvalidArgument("A state belongs to a run.", "Pass `workflow_id` too, or leave out state.")
        return None
    on.runs.read(workflow_id)  # raises for a run that is not there
    return None if state is None else on.control_plane.place(workflow_id, state).path


def _visible(on: "Application", finding_id: str) -> LastingFinding:
    """Return a finding; one of another project is unknown to a caller that is bound to a project."""
    finding, own = on.knowledge.read(finding_id), current_caller().project
    if own is not None and finding.project not in {None, own}:
        raise UnknownFinding(finding_id)
    return finding


def _may_change(finding: LastingFinding) -> None:
    """Raise Forbidden unless the caller may change a finding: one of its project; an agent without plan its own."""
    caller, agent_id = current_caller(), bound_to()
    if finding.project is None:
        require_all_projects("A change of a finding for all projects")
    if agent_id is not None and Scope.PLAN not in caller.scopes and finding.author not in {agent_id, caller.name}:
        require(Scope.PLAN, f"A change of a finding of '{finding.author}'")


add_tools(__name__)
