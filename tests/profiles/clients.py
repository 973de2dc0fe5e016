"""Clients of profiles' servers: calls over MCP, and their answers."""

import json
from dataclasses import dataclass
from typing import Any

from mcp.client import Client


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer of a call: the text, as JSON if it is JSON, and whether the call failed."""

    text: str
    failed: bool

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileClient:
    """One connection."""

    client: Client

    async def answer(self, tool: str, /, **arguments: Any) -> Answered:
        result = await self.client.call_tool(tool, arguments)
        (content,) = result.content
        assert content.type == "text"
        if isinstance(result.structured_content, dict):
            assert json.loads(content.text) == result.structured_content
        return Answered(text=content.text, failed=bool(result.is_error))

    async def ok(self, tool: str, /, **arguments: Any) -> Any:
        answer = await self.answer(tool, **arguments)
        assert not answer.failed, answer.text
        return answer.json

    async def failed(self, tool: str, /, **arguments: Any) -> Answered:
        answer = await self.answer(tool, **arguments)
        assert answer.failed, answer.text
        return answer

    async def twice(self, tool: str, /, **arguments: Any) -> Any:
        """Make a call whose answer is lost, and make it again: both are answered alike."""
        first = await self.ok(tool, **arguments)
        assert await self.ok(tool, **arguments) == first
        return first
