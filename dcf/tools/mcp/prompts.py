"""MCP prompts: plan a workflow, work as an agent, find out why a run stands. Their texts are the files in this folder.

A prompt brings what it talks about: the page about the language, or what is known of the run, read for the caller.
"""

from collections.abc import Callable, Mapping
from typing import Final

from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmbeddedResource,
    GetPromptResult,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
    TextResourceContents,
)

from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.resources import JSON, LANGUAGE, MARKDOWN, RUNS, language
from dcf.tools.prompt_texts import text_of
from dcf.values.json_text import dump
from dcf.values.records import record

_LONGEST: Final = 20_000
"""Characters of one argument."""

_RUN: Final = PromptArgument(name="workflow_id", description="Id of the run.", required=True)
_STATE: Final = PromptArgument(name="state", description="Only this state of the run.", required=False)

PROMPTS: Final = (
    Prompt(
        name="plan_workflow",
        title="Plan a workflow",
        description="Write a workflow for a goal, have agents carry it out, and close it.",
        arguments=[
            PromptArgument(name="goal", description="What is to be achieved.", required=True),
            PromptArgument(name="agent_id", description="Your agent id, as the planner.", required=False),
        ],
    ),
    Prompt(
        name="work_as_agent",
        title="Work as an agent",
        description="Take pieces of work of workflows, do them, and hand in the results.",
        arguments=[
            PromptArgument(name="agent_id", description="Your agent id.", required=True),
            PromptArgument(name="workflow_id", description="Only for this run.", required=False),
        ],
    ),
    Prompt(
        name="why_run_stands",
        title="Find out why a run stands",
        description="The reason why a run does not move, since when, and who has to do what.",
        arguments=[_RUN, _STATE],
    ),
)

Given = Mapping[str, str]


@record(frozen=True, slots=True)
class Prompts:
    """The prompts as a caller may have them."""

    reading: ToolReading

    async def get(self, name: str, arguments: Given) -> GetPromptResult | None:
        """Return the messages of a prompt; None for an unknown prompt. Raise MCPError for wrong arguments."""
        prompt = next((prompt for prompt in PROMPTS if prompt.name == name), None)
        if prompt is None:
            return None
        _check(prompt, arguments)
        messages = [
            PromptMessage(role="user", content=TextContent(text=text_of(name).format(**_WORDS[name](arguments))))
        ]
        embedded_resource = await self._embedded(name, arguments)
        return GetPromptResult(
            description=prompt.description,
            messages=messages
            if embedded_resource is None
            else [*messages, PromptMessage(role="user", content=embedded_resource)],
        )

    async def _embedded(self, name: str, arguments: Given) -> EmbeddedResource | None:
        """Return what the prompt talks about."""
        if name == "plan_workflow":
            page = TextResourceContents(uri=LANGUAGE, text=language(), mime_type=MARKDOWN)
            return EmbeddedResource(resource=page)
        if name == "why_run_stands":
            call_arguments = {
                argument: arguments[argument] for argument in ("workflow_id", "state") if arguments.get(argument)
            }
            explanation = dump(dict(await self.reading.tool("explain_run", **call_arguments)))
            uri = f"{RUNS}/{arguments['workflow_id']}"
            return EmbeddedResource(resource=TextResourceContents(uri=uri, text=explanation, mime_type=JSON))
        return None


def _check(prompt: Prompt, arguments: Given) -> None:
    known = {argument.name: argument.required for argument in prompt.arguments or ()}
    missing = [name for name, is_required in known.items() if is_required and not arguments.get(name)]
    if missing:
        raise MCPError(INVALID_PARAMS, f"The argument {missing[0]} is missing.", {"missing": missing})
    unknown = sorted(arguments.keys() - known.keys())
    if unknown:
        raise MCPError(INVALID_PARAMS, f"The prompt has no such argument; it has {', '.join(known)}.")
    if any(len(value) > _LONGEST for value in arguments.values()):
        raise MCPError(INVALID_PARAMS, f"An argument is longer than {_LONGEST} characters.")


def _named(arguments: Given, argument: str, words: str) -> str:
    return words.format(arguments[argument]) if arguments.get(argument) else ""


_WORDS: Final[Mapping[str, Callable[[Given], Mapping[str, str]]]] = {
    "plan_workflow": lambda arguments: {
        "goal": arguments["goal"],
        "planner": _named(arguments, "agent_id", ", with the agent id `{}` (planner_agent_id)"),
    },
    "work_as_agent": lambda arguments: {
        "agent_id": arguments["agent_id"],
        "run": _named(arguments, "workflow_id", " in the run `{}`"),
    },
    "why_run_stands": lambda arguments: {
        "workflow_id": arguments["workflow_id"],
        "state": _named(arguments, "state", " at its state `{}`"),
    },
}
"""The words in the texts for the arguments."""
