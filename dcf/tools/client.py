"""Calls dcf's tools as an MCP client over a real transport: for workers, planners and the command line.

The MCP client is asynchronous, a worker is not. So `ToolClient` runs one event loop in a thread and offers
synchronous calls. A call whose connection broke is retried until its deadline: every tool is idempotent with the
same token.
"""

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from functools import partial
from typing import Any

import httpx2
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.errors import DcfError, Forbidden, ServerUnreachable, ToolCallFailed, Unauthorized
from dcf.tools.repeating import failure_of, repeated
from dcf.values.json_text import Json

_LONGEST_ANSWER_S = 60.0
"""Timeout of a silent connection in seconds; the long poll await_workflow_event takes up to 50 s."""

_CONNECT_S = 30.0
_STREAM_S = 300.0  # each call sets its own timeout


class ToolClient:
    """Synchronous tool calls on one MCP server, from any thread; `wait` sleeps between two tries.

    `api_key` is sent in the header of each request and used for nothing else.
    """

    def __init__(
        self,
        portal: BlockingPortal,
        server_url: str,
        deadline_s: float,
        wait: Callable[[float], object] = time.sleep,
        *,
        api_key: str | None = None,
    ) -> None:
        self._portal = portal
        self._server_url = server_url
        self._deadline_s = deadline_s
        self._wait = wait
        self._headers = {} if api_key is None else {"Authorization": f"Bearer {api_key}"}
        self._status: int = httpx2.codes.OK
        self._lock = threading.Lock()
        self._session: AbstractContextManager[Client] | None = None
        self._client: Client | None = None

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; raise when the call was invalid or the deadline passed."""
        return repeated(
            lambda left_s: self._once(tool, arguments, max(_LONGEST_ANSWER_S, left_s)), self._deadline_s, self._wait
        )

    def close(self) -> None:
        """Close the session, if there is one."""
        with self._lock:
            session, self._session, self._client = self._session, None, None
        if session is not None:
            session.__exit__(None, None, None)

    def _once(self, tool: str, arguments: dict[str, Json], timeout_s: float) -> dict[str, Json]:
        client, self._status = None, httpx2.codes.OK
        try:
            client = self._opened()
            result: Any = self._portal.call(partial(client.call_tool, read_timeout_seconds=timeout_s), tool, arguments)
        except Exception as error:  # transports raise unrelated types; all mean that the server is unreachable
            self._drop(client)
            raise _no_answer(self._status) from error
        payload: dict[str, Json] = result.structured_content or {}
        if result.is_error:
            raise _failure(payload, result.content)
        return payload

    def _opened(self) -> Client:
        with self._lock:
            if self._client is None:
                session = self._portal.wrap_async_context_manager(self._session_with_key())
                self._client, self._session = session.__enter__(), session
            return self._client

    @asynccontextmanager
    async def _session_with_key(self) -> AsyncIterator[Client]:
        timeout = httpx2.Timeout(_CONNECT_S, read=_STREAM_S)
        hooks = {"response": [self._note]}
        async with (
            httpx2.AsyncClient(headers=self._headers, timeout=timeout, event_hooks=hooks) as http,
            Client(streamable_http_client(self._server_url, http_client=http)) as client,
        ):
            yield client

    async def _note(self, response: httpx2.Response) -> None:
        """Remember the HTTP status: the SDK reports a refused request and a broken server with the same error."""
        self._status = response.status_code

    def _drop(self, client: Client | None) -> None:
        """Close a session that failed, unless another thread has done so; errors while closing are ignored."""
        if client is not None and client is self._client:
            with suppress(Exception):  # closing a broken session fails in the ways the session itself did
                self.close()


def _no_answer(status: int) -> DcfError:
    if status == httpx2.codes.UNAUTHORIZED:
        return Unauthorized("The dcf server wants an API key: none was sent, or one that is wrong, expired or revoked.")
    if status == httpx2.codes.FORBIDDEN:
        return Forbidden(
            "The dcf server refuses this caller.", "Use a key with the scope read, from an address that is allowed."
        )
    return ServerUnreachable("The dcf server did not answer.")


def _failure(payload: Mapping[str, Json], content: Sequence[Any]) -> ToolCallFailed:
    if "code" not in payload:  # an answer of the SDK, not of dcf: for example for an unknown tool
        text = " ".join(part.text for part in content if part.type == "text")
        return ToolCallFailed("error", text or "The server refused the call.", "Check that it serves this tool.")
    return failure_of(payload)


@contextmanager
def connect(server_url: str, *, deadline_s: float = 60.0, api_key: str | None = None) -> Iterator[ToolClient]:
    """Yield a client for the server at this URL, and close it when the context ends."""
    with start_blocking_portal() as portal:
        client = ToolClient(portal, server_url, deadline_s, api_key=api_key)
        try:
            yield client
        finally:
            client.close()
