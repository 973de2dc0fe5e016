"""The tools that dcf adds to a turn: to leave a note, to ask, to report usage. None of it needs a lease.

The host fills in run, state and lease, so that no model ever sees one.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dcf.errors import DcfError, InvalidArgument
from dcf.hosting.protocol import AgentTool, Json, ToolResult
from dcf.telemetry import tracing
from dcf.worker.context import TaskContext

if TYPE_CHECKING:
    from dcf.hosting.tool_servers import ServedTools

log = logging.getLogger(__name__)

_TEXT: Final = {"type": "string", "minLength": 1}

OWN_TOOLS: Final[Mapping[str, AgentTool]] = {
    "leave_note": AgentTool(
        name="leave_note",
        description="Leave a note for the planner, such as an observation beyond the result. There is no answer.",
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
    """The tools of a turn: those of its servers, and those of dcf that the agent is given."""

    def __init__(self, tools: "ServedTools", names: Sequence[str], context: TaskContext) -> None:
        self._tools = tools
        self._names = names
        self._context = context

    def list(self) -> Sequence[AgentTool]:
        """Return the tools that the agent may call."""
        return [*self._tools.list(), *(OWN_TOOLS[name] for name in self._names)]

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Call a tool; what goes wrong is a result too."""
        if tracing.current is None:
            return await self._call(name, arguments)
        with tracing.current.live.tool(name):
            return await self._call(name, arguments)

    async def _call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        if name not in self._names:
            return await self._tools.call(name, arguments)
        missing = [
            argument
            for argument in OWN_TOOLS[name].parameters["required"]
            if not isinstance(arguments.get(argument), str)
        ]
        if missing:
            return ToolResult(f"The argument '{missing[0]}' must be a text.", is_error=True)
        try:
            refusal, text = await asyncio.to_thread(self._made, name, arguments)
        except DcfError as error:
            return ToolResult(f"{error.message} {error.hint}", is_error=True)
        return ToolResult(text) if refusal is None else ToolResult(refusal, is_error=True)

    def report_usage(self, **used: Json) -> None:
        """Say what the work used up. What is no usage is logged: the work is worth more than its bill."""
        try:
            self._context.report_usage(**used)
        except (InvalidArgument, TypeError, ValueError) as error:
            name = f"{self._context.workflow_id}/{self._context.state}"
            log.warning("%s: usage is not counted: %s", name, error)

    def _made(self, name: str, arguments: Mapping[str, Json]) -> tuple[str | None, str]:
        if name == "leave_note":
            return self._context.leave_note(arguments["text"]), "The planner gets the note."
        choices = arguments.get("choices")
        choice_texts = [choice for choice in choices if isinstance(choice, str)] if isinstance(choices, list) else []
        return self._context.ask_question(arguments["question"], choice_texts), "The question is asked. Stop now."
