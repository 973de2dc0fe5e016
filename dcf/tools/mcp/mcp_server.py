"""The SDK's server with dcf's resources, prompts and completions, which depend on who asks.

The SDK's own registries are asked for names that dcf does not have, for programs that add something (tests do).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from mcp.server import MCPServer
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver.context import Context
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, GetPromptResult, InputRequiredResult, Prompt, Resource, ResourceTemplate, Tool
from pydantic.networks import AnyUrl

from dcf.tools.mcp.completions import Completions
from dcf.tools.mcp.prompts import PROMPTS, Prompts
from dcf.tools.mcp.reading import ToolReading
from dcf.tools.mcp.resource_reads import skill_reads
from dcf.tools.mcp.resources import Resources
from dcf.tools.mcp.skill_files import SkillFilesExtension
from dcf.verbs.registry import ToolSpec
from dcf.verbs.schemas import listed_of
from dcf.verbs.wording.tools import in_tools


class ControlPlaneServer(MCPServer[None]):
    """An MCP server whose resources, prompts and completions are read as its tools are."""

    def __init__(
        self, reading: ToolReading, specs: Iterable[ToolSpec], *, lists_all: bool = False, **options: Any
    ) -> None:
        self._specs: Mapping[str, ToolSpec] = {spec.name: spec for spec in specs}
        self._lists_all = lists_all
        self._resources = Resources(reading, skill_reads(reading.application.library))
        self._prompts = Prompts(reading)
        super().__init__(extensions=[SkillFilesExtension(self._resources)], **options)
        self.completion()(Completions(reading).complete)  # type: ignore[no-untyped-call]

    async def list_tools(self) -> list[Tool]:
        """Return the tools. The first call makes the schemas of dcf's: to make them at the start takes 0.1 s."""
        tools = await super().list_tools()
        for tool in tools:
            if (spec := self._specs.get(tool.name)) is not None:
                tool.input_schema = listed_of(spec, whole=self._lists_all)
                tool.description = in_tools(spec.description)
        return tools

    async def list_resources(self) -> list[Resource]:
        """Return the resources that have an address of their own."""
        return [*await self._resources.listed(), *await super().list_resources()]

    async def list_resource_templates(self) -> list[ResourceTemplate]:
        """Return the templates of addresses."""
        return [*self._resources.templates(), *await super().list_resource_templates()]

    async def read_resource(
        self, uri: AnyUrl | str, context: Context[None, Any] | None = None
    ) -> Iterable[ReadResourceContents] | InputRequiredResult:
        """Return the content at an address."""
        content = await self._resources.read(str(uri))
        return [content] if content is not None else await super().read_resource(uri, context)

    async def list_prompts(self) -> list[Prompt]:
        """Return the prompts."""
        return [*PROMPTS, *await super().list_prompts()]

    async def get_prompt(
        self, name: str, arguments: dict[str, Any] | None = None, context: Context[None, Any] | None = None
    ) -> GetPromptResult | InputRequiredResult:
        """Return the messages of a prompt."""
        result = await self._prompts.get(name, arguments or {})
        if result is not None:
            return result
        if name not in {prompt.name for prompt in await super().list_prompts()}:
            raise MCPError(INVALID_PARAMS, f"There is no prompt '{name[:80]}'.")
        return await super().get_prompt(name, arguments, context)
