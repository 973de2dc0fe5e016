"""One agent at a real server: an MCP client with a key of its own, which notes every call and its answer.

An agent knows the list of tools and the answers, and no more of dcf. A refusal is good if it names the
next legal call: by `next`, or by a hint that names a tool of the list or an argument of the tool that was called.
"""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

Json = Any
Fill = Mapping[str, Json]
"""The values of an agent for `next`'s angle brackets, by the name of the argument."""

WORD = re.compile(r"[a-z][a-z_]+")


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """A call and what came back."""

    tool: str
    arguments: Mapping[str, Json]
    answer: Mapping[str, Json]

    @property
    def is_refused(self) -> bool:
        return str(self.answer["code"]) != "ok"

    def __str__(self) -> str:
        details = {name: self.answer.get(name) for name in ("error", "hint", "next")}
        return f"{self.tool}({dict(self.arguments)}) -> {details}"


@dataclass(frozen=True, kw_only=True)
class Seat:
    """An agent's connection. `purposes` are the descriptions of the tools, `arguments` the names of their arguments."""

    agent_id: str
    client: Client
    purposes: Mapping[str, str]
    arguments: Mapping[str, frozenset[str]]
    log: list[Exchange] = field(default_factory=list)

    def tool_for(self, purpose: str) -> str:
        """Return the one tool whose description has these words."""
        (tool,) = (name for name, details in self.purposes.items() if purpose in details)
        return tool

    async def call(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        result = await self.client.call_tool(tool, arguments)
        answer = result.structured_content
        if not isinstance(answer, dict):
            (content,) = result.content
            answer = {"code": "protocol_error", "error": getattr(content, "text", "")}
        self.log.append(Exchange(tool=tool, arguments=arguments, answer=answer))
        return answer

    async def follow(self, answer: Mapping[str, Json], fill: Fill | None = None, *, at: int = 0) -> dict[str, Json]:
        """Make one of the calls that an answer lists, by default the first."""
        step = answer["next"][at]
        return await self.call(step["tool"], **filled(step["arguments"], fill or {}))

    @property
    def refusals(self) -> list[Exchange]:
        return [item for item in self.log if item.is_refused]

    def without_a_legal_next(self) -> list[str]:
        """List the answers that propose a call that cannot be made, and refusals that name none, each with the flaw."""
        result = ((item, self._dead_end(item)) for item in self.log)
        return [f"{why}: {item}" for item, why in result if why is not None]

    def _dead_end(self, exchange: Exchange) -> str | None:
        """Return what is wrong with an answer; None if all that it proposes can be called."""
        listed = exchange.answer.get("next") or []
        if listed or not exchange.is_refused:
            return next(filter(None, map(self.flaw_of, listed)), None)
        words = set(WORD.findall(exchange.answer.get("hint") or ""))
        known = self.purposes.keys() | self.arguments.get(exchange.tool, frozenset())
        return None if words & known else "it names no call"

    def flaw_of(self, step: Mapping[str, Json]) -> str | None:
        """Return why a proposed call cannot be made by an agent that knows the list of tools and nothing else."""
        known = self.arguments.get(step["tool"])
        if known is None:
            return f"{step['tool']} is not on the list"
        unknown = sorted(step["arguments"].keys() - known)
        return f"{step['tool']} has no {', '.join(unknown)} on the list" if unknown else None


def filled(arguments: Mapping[str, Json], fill: Fill) -> dict[str, Json]:
    """Put the agent's values in the place of angle brackets; the rest is sent unchanged."""
    return {name: fill[name] if "<" in str(value) and name in fill else value for name, value in arguments.items()}


@asynccontextmanager
async def seated(url: str, agent_id: str, key: str) -> AsyncIterator[Seat]:
    """Connect as an agent and read the list of tools, as a host does."""
    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=90) as http,
        Client(streamable_http_client(url, http_client=http)) as client,
    ):
        tools = (await client.list_tools()).tools
        yield Seat(
            agent_id=agent_id,
            client=client,
            purposes={tool.name: tool.description or "" for tool in tools},
            arguments={tool.name: frozenset(tool.input_schema["properties"]) for tool in tools},
        )


Seats = Callable[..., Any]
