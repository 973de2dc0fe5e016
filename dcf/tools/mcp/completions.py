"""Completions: the ids and names that the caller may mean, for the arguments of prompts and resource templates.

They are read as tools are, for the caller of the request (`reading`), and from the newest runs only.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from dcf.core.listing.runs import agents_in
from dcf.tools.mcp.prompts import PROMPTS
from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.resources import TEMPLATES
from dcf.values.json_text import Json
from dcf.values.records import record

_RUNS: Final = 100
_LOOKED_INTO: Final = 5
"""Runs whose agents are named where no run was chosen."""
_MOST: Final = 100
"""Values of one answer, as the protocol has it."""


@record(frozen=True, slots=True)
class Completions:
    """The completions as a caller may have them."""

    reading: ToolReading

    async def complete(
        self,
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,
    ) -> Completion:
        """Return values that begin with what was typed. Raise MCPError for an argument that does not exist."""
        if argument.name not in _arguments_of(ref):
            raise MCPError(INVALID_PARAMS, f"There is no argument '{argument.name[:80]}' to complete.")
        chosen = (context.arguments if context is not None else None) or {}
        values = list(dict.fromkeys(value for value in await self._values(argument.name, chosen)))
        fitting = [value for value in values if value.startswith(argument.value)]
        return Completion(values=fitting[:_MOST], total=len(fitting), has_more=len(fitting) > _MOST)

    async def _values(self, argument: str, chosen: Mapping[str, str]) -> Iterable[str]:
        match argument:
            case "workflow_id":
                page = await self.reading.tool("list_runs", limit=_RUNS)
                return [run["workflow_id"] for run in page["runs"]]
            case "agent_id":
                own = self.reading.caller.agent_id
                return [own] if own is not None else await self._agents(chosen.get("workflow_id"))
            case "state":
                return list((await self._run(chosen.get("workflow_id"), _RUNS)).get("states", {}))
            case _:
                return []

    async def _agents(self, workflow_id: str | None) -> list[str]:
        """Return the agents of a run, or of the runs in progress."""
        chosen = [workflow_id]
        if workflow_id is None:
            page = await self.reading.tool("list_runs", limit=_LOOKED_INTO, status="running")
            chosen = [run["workflow_id"] for run in page["runs"]]
        metas = [(await self._run(run, 1)).get("meta") or {} for run in chosen]
        return sorted({agent for meta in metas for agent in agents_in(meta.get("agents"))})

    async def _run(self, workflow_id: str | None, states: int) -> Mapping[str, Json]:
        """Return a run with at most `states` of its states; nothing if there is no such run."""
        if workflow_id:
            with suppress(MCPError):
                return await self.reading.tool("read_workflow_control_plane", workflow_id=workflow_id, limit=states)
        return {}


def _arguments_of(ref: PromptReference | ResourceTemplateReference) -> set[str]:
    """Return the names of the arguments of a prompt or a template; raise MCPError if it does not exist."""
    if isinstance(ref, PromptReference):
        prompt = next((prompt for prompt in PROMPTS if prompt.name == ref.name), None)
        if prompt is not None:
            return {argument.name for argument in prompt.arguments or ()}
    elif any(template.uri_template == ref.uri for template in TEMPLATES):
        return {"workflow_id"}
    raise MCPError(INVALID_PARAMS, "There is no such prompt or resource template.")
