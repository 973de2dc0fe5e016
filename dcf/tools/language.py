"""The tool that shows how a workflow is written."""

from dcf.application import Application
from dcf.core.access import Scope
from dcf.language import describe
from dcf.tools.registry import Answer, Arguments, tool


class DescribeWorkflowLanguage(Arguments):
    """Show how a workflow is written, before you write one: examples that are valid, data, agents, limits."""


class LanguageDescribed(Answer):
    """The page, as Markdown."""

    language: str = ""


@tool(
    toolset="planning",
    scope=Scope.READ,
    profiles=("planner", "operator"),
    arguments=DescribeWorkflowLanguage,
    answer=LanguageDescribed,
    read_only=True,
)
def describe_workflow_language(_: Application, __: DescribeWorkflowLanguage) -> LanguageDescribed:
    """Return the page of the language."""
    return LanguageDescribed(status="The workflow language.", language=describe())
