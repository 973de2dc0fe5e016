"""The verb that shows how a workflow is written. The command `dcf workflows language` shows the page without Redis."""

from typing import TYPE_CHECKING, Final

from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import verb
from dcf.verbs.records.language import DescribedLanguage
from dcf.workflows.language import describe

if TYPE_CHECKING:
    from dcf.application.application import Application

_MOST_AGENTS: Final = 20


@verb(
    toolset="planning",
    scope="read",
    lists=("planner", "operator"),
    effect="reads",
    says=lambda _: "The workflow language.",
    method="language",
    steps="dcf.client.steps.language:language",
    of_no_run=True,
    in_refusals={"agents": (), "language": ""},
    command_by_hand="workflows language",
)
def describe_workflow_language(on: "Application") -> DescribedLanguage:
    """Show how a workflow is written, before you write one: examples that are valid, data, agents, limits."""
    caller = current_caller()
    agents = [agent for agent in on.activity.agents(_MOST_AGENTS + 1) if agent != caller.agent_id]
    if caller.project is not None:
        own = on.projects.use_of(caller.project).agents
        agents = [agent for agent in agents if agent in own]
    return DescribedLanguage(agents=tuple(agents[:_MOST_AGENTS]), language=describe())


add_tools(__name__)
