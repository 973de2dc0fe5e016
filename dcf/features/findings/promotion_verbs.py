"""The verb that makes a finding of an issue of a run's journal. It calls and describes."""

from typing import TYPE_CHECKING, Annotated, Literal

from dcf.features.findings.model import LONGEST_CATEGORY, LONGEST_TEXT, LONGEST_TITLE, Severity, check_labels
from dcf.features.findings.promoting import Promotion, promoted
from dcf.features.findings.records import PromotedIssue, SeverityName
from dcf.features.findings.verbs import author, kept, require_all_projects, said_of
from dcf.values.refusal import Refusal
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import ID, AgentId, RunId, Tags

if TYPE_CHECKING:
    from dcf.application.application import Application


@verb(
    toolset="knowledge",
    scope="work",
    audit=("workflow_id", "issue"),
    says=said_of("is kept", "was kept before"),
    command=Command(name="findings promote", example="dcf findings promote order-42 j0123456789abcdef --severity high"),
    codes=("unknown_issue", "unknown_run"),
)
def promote_issue(
    on: "Application",
    workflow_id: RunId,
    issue: Annotated[
        str,
        Argument(
            means="The id of the issue.",
            example="j0123456789abcdef",
            pattern=ID,
            spelling="Its id (see `dcf journal ls RUN`).",
        ),
    ],
    *,
    severity: Annotated[SeverityName, Argument(means="How much it matters.")] = "medium",
    category: Annotated[
        str,
        Argument(means="The topic.", min_length=1, max_length=LONGEST_CATEGORY, spelling="The topic.", listed=False),
    ] = "issue",
    title: Annotated[
        str | None, Argument(means="In place of the issue's first words.", min_length=1, max_length=LONGEST_TITLE)
    ] = None,
    text: Annotated[
        str | None, Argument(means="In place of the issue's text.", min_length=1, max_length=LONGEST_TEXT)
    ] = None,
    tags: Annotated[Tags, Argument(means="Short texts.", listed=False)] = (),
    scope: Annotated[
        Literal["project", "global"], Argument(means="global: for all projects.", listed=False)
    ] = "project",
    agent_id: Annotated[AgentId, Argument(means="The author.", listed=False)] = None,
) -> Answered[PromotedIssue] | Refusal:
    """Keep an issue of a run's journal as a finding, so that later runs know of it. Each issue becomes one."""
    labels = check_labels(tags, "tags_json")
    if scope == "global":
        require_all_projects("A finding for all projects")
    entry = on.journal.issue(workflow_id, issue)
    if isinstance(entry, Refusal):
        return entry
    wish = Promotion(
        author=author(agent_id), severity=Severity(severity), category=category, title=title, text=text, tags=labels
    )
    project = None if scope == "global" else on.projects.of_run(workflow_id)
    answer = kept(on.knowledge.add(promoted(workflow_id, entry, project, wish)))
    if isinstance(answer, Refusal):
        return answer
    return Answered(PromotedIssue, {"workflow_id": workflow_id, **answer.members})


add_tools(__name__)
