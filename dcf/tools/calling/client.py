"""Calls dcf's tools at a server over MCP's Streamable HTTP: for workers, planners and the command line.

The protocol of 2026-07-28 has no sessions: a call is one request that says everything, and its answer. So this client
needs no more than HTTP, and does not import the MCP SDK, which takes longer to import than a short run takes. A call
whose connection broke is repeated until its deadline: every tool is idempotent with the same token.
"""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2

from dcf.tools.calling.repeating import repeated
from dcf.tools.mcp.messages import UNLIMITED, ToolRequest, headers_for, patience, trust_for, unreachable
from dcf.values.json_text import Json


class ToolClient:
    """Synchronous tool calls on one MCP server, from any thread; `wait` sleeps between two tries.

    `api_key` is sent in the header of each request and used for nothing else. With `longest_s`, a request ends after
    that many seconds of silence.
    """

    def __init__(
        self,
        server_url: str,
        deadline_s: float,
        wait: Callable[[float], object] = time.sleep,
        *,
        api_key: str | None = None,
        longest_s: float | None = None,
    ) -> None:
        self._longest_s = longest_s
        self._server_url = server_url
        self._deadline_s = deadline_s
        self._wait = wait
        self._http = httpx2.Client(headers=headers_for(api_key), limits=UNLIMITED, verify=trust_for(server_url))
        self._numbers = itertools.count(1)

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise when the call was invalid or the deadline passed."""
        return repeated(lambda left_s: self._once(tool, arguments, left_s), self._deadline_s, self._wait)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _once(self, tool: str, arguments: dict[str, Json], left_s: float) -> dict[str, Json]:
        request = ToolRequest(tool, arguments, next(self._numbers))
        try:
            response = self._http.post(
                self._server_url,
                content=request.body,
                headers=request.headers,
                timeout=patience(left_s, self._longest_s),
            )
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unreachable() from error
        return request.read(response)


@contextmanager
def connect(server_url: str, *, deadline_s: float = 60.0, api_key: str | None = None) -> Iterator[ToolClient]:
    """Yield a client for the server at this URL, and close it when the context ends."""
    client = ToolClient(server_url, deadline_s, api_key=api_key)
    try:
        yield client
    finally:
        client.close()
