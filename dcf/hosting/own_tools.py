"""The tools of dcf that an agent of a host may be given: to leave a note and to ask. None of them needs a lease.

The host fills in run, state and lease, so that no model ever sees one.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from dcf.errors import DcfError
from dcf.hosting.protocol import AgentTool, AgentTools, Json, ToolResult
from dcf.task_context import TaskContext

_TEXT: Final = {"type": "string", "minLength": 1}

OWN_TOOLS: Final[Mapping[str, AgentTool]] = {
    "leave_note": AgentTool(
        name="leave_note",
        description="Tell the planner of this workflow what is no result, such as what you found odd. Nobody answers.",
        parameters={"type": "object", "properties": {"text": _TEXT}, "required": ["text"]},
    ),
    "ask_question": AgentTool(
        name="ask_question",
        description="Ask the planner what you cannot decide, then stop: you get the task again with the answer.",
        parameters={
            "type": "object",
            "properties": {"question": _TEXT, "choices": {"type": "array", "items": _TEXT}},
            "required": ["question"],
        },
    ),
}


class WithOwnTools:
    """The tools of a turn, and those of dcf that the agent is given."""

    def __init__(self, tools: AgentTools, names: Sequence[str], context: TaskContext) -> None:
        self._tools = tools
        self._names = names
        self._context = context

    def list(self) -> Sequence[AgentTool]:
        """Return the tools that the agent may call."""
        return [*self._tools.list(), *(OWN_TOOLS[name] for name in self._names)]

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Call a tool; what goes wrong is a result too."""
        if name not in self._names:
            return await self._tools.call(name, arguments)
        missing = [one for one in OWN_TOOLS[name].parameters["required"] if not isinstance(arguments.get(one), str)]
        if missing:
            return ToolResult(f"The argument '{missing[0]}' must be a text.", is_error=True)
        try:
            refusal, said = await asyncio.to_thread(self._made, name, arguments)
        except DcfError as error:
            return ToolResult(f"{error.message} {error.hint}", is_error=True)
        return ToolResult(said) if refusal is None else ToolResult(refusal, is_error=True)

    def _made(self, name: str, arguments: Mapping[str, Json]) -> tuple[str | None, str]:
        if name == "leave_note":
            return self._context.leave_note(arguments["text"]), "The planner is told."
        choices = arguments.get("choices")
        wanted = [one for one in choices if isinstance(one, str)] if isinstance(choices, list) else []
        return self._context.ask_question(arguments["question"], wanted), "The question is asked. Stop now."
