"""The tool that shows how a workflow is written."""

from typing import Final

from pydantic import Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.verbs.callers import current_caller
from dcf.verbs.registry import Answer, Arguments, tool
from dcf.workflows.language import describe

_MOST_AGENTS: Final = 20


class DescribeWorkflowLanguage(Arguments):
    """Show how a workflow is written, before you write one: examples that are valid, data, agents, limits."""


class LanguageDescribed(Answer):
    """The page, as Markdown. `agents` are the ids of others who called lately, the latest first.

    A key that is bound to a project is told those of the newest runs of its project.
    """

    agents: list[str] = Field(default_factory=list)
    language: str = ""


@tool(
    toolset="planning",
    scope=Scope.READ,
    profiles=("planner", "operator"),
    arguments=DescribeWorkflowLanguage,
    answer=LanguageDescribed,
    read_only=True,
    of_no_run=True,
)
def describe_workflow_language(app: Application, _: DescribeWorkflowLanguage) -> LanguageDescribed:
    """Return the page of the language, and who may be there to work."""
    caller = current_caller()
    agents = [one for one in app.activity.agents(_MOST_AGENTS + 1) if one != caller.agent_id]
    if caller.project is not None:
        own = app.projects.use_of(caller.project).agents
        agents = [one for one in agents if one in own]
    return LanguageDescribed(status="The workflow language.", agents=agents[:_MOST_AGENTS], language=describe())
