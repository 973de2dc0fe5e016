"""The verb that answers where an agent is and what it does next. It calls and describes."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

from dcf.core.access.provenance import marked
from dcf.features.agent_context.records import AgentContext
from dcf.features.agent_context.rules import DEFAULT_BYTES, LEAST_BYTES, MOST_BYTES, SECTIONS, ContextQuery, fitted
from dcf.values.json_text import Json
from dcf.verbs.callers import current_caller
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, verb
from dcf.verbs.description.words import AgentId, OptionalRunId, ProjectId

if TYPE_CHECKING:
    from dcf.application.application import Application


def _counted(answer: Mapping[str, Json]) -> str:
    runs, held_count, ready = (len(answer.get(name, ())) for name in ("runs", "held", "ready"))
    return f"{runs} runs; {held_count} states held, {ready} ready."


@verb(
    toolset="journal",
    scope="read",
    lists=("assistant", "member"),
    effect="reads",
    says=_counted,
    codes=("unknown_run",),
    command=Command(
        name="runs brief", example="dcf runs brief --agent pricing-1", show="dcf.cli.features.agent_context:show_brief"
    ),
    only_when_set=("agent_id", *(name for name in SECTIONS if name != "next"), "left_out", "provenance"),
)
def get_context(
    on: "Application",
    workflow_id: Annotated[OptionalRunId, Argument(means="Only this run.", example="order-42")] = None,
    *,
    agent_id: Annotated[AgentId, Argument(means="", spelling="Of this agent.", option="--agent")] = None,
    session: Annotated[str | None, Argument(means="Only runs with this tag.", min_length=1, max_length=100)] = None,
    project: Annotated[ProjectId | None, Argument(means="Only runs of this project.", listed=False)] = None,
    max_bytes: Annotated[int, Argument(means="Size of the answer.", ge=LEAST_BYTES, le=MOST_BYTES)] = DEFAULT_BYTES,
) -> Answered[AgentContext]:
    """Ask where you are and what is next, after a restart or when your memory was cut: one call shows all of it."""
    caller = current_caller()
    agent = agent_id
    if agent is None and workflow_id is None and session is None:
        agent = caller.agent_id
    query = ContextQuery(agent=agent, run=workflow_id, session=session, project=caller.project or project)
    fitted_context = fitted(on.contexts.get_context(query), min(max_bytes, on.settings.max_result_bytes))
    members = {
        "agent_id": agent,
        "left_out": fitted_context.left_out or None,
        "provenance": marked("the agents of these runs"),
    }
    return Answered(AgentContext, {**members, **fitted_context.sections})


add_tools(__name__)
