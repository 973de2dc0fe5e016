"""Calls dcf's tools at a server as `client.py` does, without blocking the event loop that the caller runs on."""

import itertools
from collections.abc import Awaitable, Callable

import anyio
import httpx2

from dcf.tools.calling.repeating import repeated_async
from dcf.tools.mcp.messages import UNLIMITED, ToolRequest, headers_for, patience, trust_for, unreachable
from dcf.values.json_text import Json


class AsyncToolClient:
    """Asynchronous tool calls on one MCP server, any number at a time; `wait` sleeps between two tries.

    `api_key` is sent in the header of each request and used for nothing else.
    """

    def __init__(
        self,
        server_url: str,
        deadline_s: float,
        wait: Callable[[float], Awaitable[object]] = anyio.sleep,
        *,
        api_key: str | None = None,
    ) -> None:
        self._server_url = server_url
        self._deadline_s = deadline_s
        self._wait = wait
        self._http = httpx2.AsyncClient(headers=headers_for(api_key), limits=UNLIMITED, verify=trust_for(server_url))
        self._numbers = itertools.count(1)

    async def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise when the call was invalid or the deadline passed."""
        return await repeated_async(lambda left_s: self._once(tool, arguments, left_s), self._deadline_s, self._wait)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def _once(self, tool: str, arguments: dict[str, Json], left_s: float) -> dict[str, Json]:
        request = ToolRequest(tool, arguments, next(self._numbers))
        try:
            response = await self._http.post(
                self._server_url, content=request.body, headers=request.headers, timeout=patience(left_s)
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable() from error
        return request.read(response)
