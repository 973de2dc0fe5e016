"""Calling dcf's tools as a client over a real transport: what workers, planners and the command line use.

The MCP client is asynchronous; a worker is not. `ToolClient` keeps one event loop in a thread and offers plain calls.
A call whose connection broke is repeated until its deadline, since every tool may be repeated with the same token.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client

from dcf.core.json_text import Json
from dcf.errors import DcfError, ServerUnreachable, ToolCallFailed

_FIRST_PAUSE_S = 0.05
_LONGEST_PAUSE_S = 1.0
_PASSING = frozenset({"store_unavailable", "unknown_outcome", "conflict", "internal_error"})
"""Codes of failures that may be gone when the call is repeated."""


class ToolClient:
    """Plain calls of tools on one MCP server, from any thread. `wait` is how it pauses between two tries."""

    def __init__(
        self, portal: BlockingPortal, server_url: str, deadline_s: float, wait: Callable[[float], object] = time.sleep
    ) -> None:
        self._portal = portal
        self._server_url = server_url
        self._deadline_s = deadline_s
        self._wait = wait
        self._lock = threading.Lock()
        self._session: AbstractContextManager[Client] | None = None
        self._client: Client | None = None

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """The tool's answer, refusals included; raise when the call was wrong or nobody answered in time."""
        deadline = time.monotonic() + self._deadline_s
        pause = _FIRST_PAUSE_S
        while True:
            try:
                return self._once(tool, arguments)
            except DcfError as error:
                if error.code not in _PASSING | {ServerUnreachable.code} or time.monotonic() >= deadline:
                    raise
            self._wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)

    def close(self) -> None:
        """End the session, if there is one."""
        with self._lock:
            session, self._session, self._client = self._session, None, None
        if session is not None:
            session.__exit__(None, None, None)

    def _once(self, tool: str, arguments: dict[str, Json]) -> dict[str, Json]:
        try:
            result: Any = self._portal.call(self._opened().call_tool, tool, arguments)
        except Exception as error:  # whatever the transport raises (it is not one family): the server is not there
            self._drop()
            raise ServerUnreachable("The dcf server did not answer.") from error
        payload: dict[str, Json] = result.structured_content or {}
        if result.is_error:
            code, text = str(payload.get("code", "error")), str(payload.get("error"))
            raise ToolCallFailed(code, text.removeprefix(f"{code}: "), payload.get("hint"))
        return payload

    def _opened(self) -> Client:
        with self._lock:
            if self._client is None:
                self._session = self._portal.wrap_async_context_manager(Client(self._server_url))
                self._client = self._session.__enter__()
            return self._client

    def _drop(self) -> None:
        """Leave a session that failed; how it ends does not matter any more."""
        try:
            self.close()
        except Exception:  # closing a broken session fails in the ways the session itself did
            self._client = None


@contextmanager
def connect(server_url: str, *, deadline_s: float = 60.0) -> Iterator[ToolClient]:
    """A client for the server at this URL while the context lasts."""
    with start_blocking_portal() as portal:
        client = ToolClient(portal, server_url, deadline_s)
        try:
            yield client
        finally:
            client.close()
