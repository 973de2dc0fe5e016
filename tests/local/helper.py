"""The helper of `dcf agents local` in this process: an agent's client on one side, a server over HTTP on the other."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp.client import Client
from mcp.client._memory import InMemoryTransport

from dcf.local.command_templates import allowed_by
from dcf.local.proxy import LocalServer
from dcf.local.upstream import Upstream
from dcf.local.working_root import WorkingRoot

Json = Any
ONE_TASK = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}
DEADLINE_S = 60.0
"""Seconds for which a call is repeated; the server of these tests always answers."""


@dataclass(frozen=True)
class Agent:
    """An agent's client, behind which `dcf agents local` runs."""

    client: Client

    async def call(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        answer = await self.client.call_tool(tool, arguments)
        assert isinstance(answer.structured_content, dict), answer
        return answer.structured_content

    async def ok(self, tool: str, /, **arguments: Json) -> dict[str, Json]:
        content = await self.call(tool, **arguments)
        assert content["code"] == "ok", content
        return content


Connecting = Callable[..., AbstractAsyncContextManager[Agent]]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `dcf agents local`, by their names there."""

    root: Path | None = None
    allow: tuple[str, ...] = ()
    profile: str | None = None
    key: str | None = None
    helper_key: str | None = None
    deadline_s: float = DEADLINE_S


@asynccontextmanager
async def agent_of(url: str, options: Options, **client: Json) -> AsyncIterator[Agent]:
    """Connect a client to a helper of its own."""
    upstream = Upstream(url, options.key, options.deadline_s, options.profile)
    own = options.helper_key
    attesting = None if own is None else Upstream(url, own, options.deadline_s)
    helper = LocalServer(upstream, WorkingRoot(options.root), allowed_by(options.allow, None), helper=attesting)
    async with helper.opened(), Client(InMemoryTransport(helper.built()), **client) as connected:
        yield Agent(connected)
