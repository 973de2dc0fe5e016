"""Requests to the dcf server, as an MCP client of it: any number at a time, repeated where that is safe.

Every request stands for itself (revision 2026-07-28, no session), so a server that was away, restarted or replaced is
used again with the next request. The key is sent in a header and used for nothing else.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

import anyio
from anyio.abc import TaskGroup
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.dispatcher import CallOptions, DispatchContext, ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    encode_header_value,
)
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.subscriptions import SUBSCRIPTION_ID_META_KEY
from mcp_types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    CONNECTION_CLOSED,
    METHOD_NOT_FOUND,
    PROTOCOL_VERSION_META_KEY,
)

from dcf.errors import DcfError, Forbidden, ServerUnreachable, Unauthorized
from dcf.local.broken_connections import FAILED, PatientClient
from dcf.tools.calling.repeating import Tries
from dcf.tools.mcp.messages import UNLIMITED
from dcf.version import __version__

log = logging.getLogger(__name__)

_PROFILE: Final = "x-dcf-profile"
"""The header by which a client chooses among the tools of a server."""
VERSION: Final = "2026-07-28"
ABOUT: Final[Mapping[str, Any]] = {
    CLIENT_INFO_META_KEY: {"name": "dcf-local", "version": __version__},
    CLIENT_CAPABILITIES_META_KEY: {},
}
"""The client's description in a request, for clients that did not describe themselves."""

Heard = Callable[[str, Mapping[str, Any]], Awaitable[None]]
"""Takes the method and params of a notification of a stream that was opened."""


@dataclass(slots=True)
class Upstream:
    """The server at a URL. Use it in `opened`; `request` raises MCPError for what the server refuses."""

    url: str
    api_key: str | None
    deadline_s: float
    profile: str | None = None
    _dispatcher: JSONRPCDispatcher[Any] | None = None
    _heard: dict[str, Heard] = field(default_factory=dict)
    _numbers: "count[int]" = field(default_factory=lambda: count(1))
    _connecting: anyio.Lock = field(default_factory=anyio.Lock)
    _tasks: TaskGroup | None = None

    @asynccontextmanager
    async def opened(self) -> AsyncIterator["Upstream"]:
        """Keep connections for the duration of a `with` block; nothing is sent yet."""
        async with anyio.create_task_group() as tasks:
            self._tasks = tasks
            try:
                yield self
            finally:
                tasks.cancel_scope.cancel()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        *,
        repeat: bool = True,
        on_progress: ProgressFnT | None = None,
        deadline_s: float | None = None,
    ) -> dict[str, Any]:
        """Return the result; raise ServerUnreachable, Unauthorized or Forbidden where there is none.

        `repeat`: the request may be carried out twice. Otherwise it is sent again only while it never arrived.
        """
        tries = Tries(self.deadline_s if deadline_s is None else deadline_s)
        while True:
            try:
                return await self._once(method, params, on_progress)
            except MCPError as error:
                lost = _lost(error)
                if lost is None:
                    raise
                failure, was_sent = lost
                if was_sent and not repeat:
                    raise ServerUnreachable(
                        "The connection to the dcf server broke before it answered; it may have done what was asked.",
                        "Read the current state before you call again.",
                    ) from None
                pause = tries.pause_after(failure)
            await anyio.sleep(pause)

    async def listen(self, params: Mapping[str, Any], heard: Heard) -> None:
        """Serve one stream of notifications until it ends; raise as `request` does."""
        name = f"local-{next(self._numbers)}"
        self._heard[name] = heard
        try:
            await self._once("subscriptions/listen", params, None, name)
        except MCPError as error:
            lost = _lost(error)
            if lost is None:
                raise
            raise lost[0] from None
        finally:
            del self._heard[name]

    async def _once(
        self, method: str, params: Mapping[str, Any] | None, on_progress: ProgressFnT | None, name: str | None = None
    ) -> dict[str, Any]:
        dispatcher = await self._connected()
        stamped = _stamped(params)
        options: CallOptions = {"headers": _headers(method, stamped)}
        if on_progress is not None:
            options["on_progress"] = on_progress
        if name is not None:
            options["request_id"] = name
        return await dispatcher.send_raw_request(method, stamped, options)

    async def _connected(self) -> JSONRPCDispatcher[Any]:
        async with self._connecting:
            if self._tasks is None:
                raise RuntimeError("The connection is used before it is opened.")
            if self._dispatcher is None:
                self._dispatcher = await self._tasks.start(self._keep)
            return self._dispatcher

    async def _keep(self, *, task_status: anyio.abc.TaskStatus[JSONRPCDispatcher[Any]]) -> None:
        """Carry requests until the transport ends; the next request opens another."""
        try:
            await self._carry(task_status)
        except Exception:  # a defect of the transport ends its requests, not this process
            log.exception("The connection to the dcf server ended.")
        finally:
            self._dispatcher = None

    async def _carry(self, task_status: anyio.abc.TaskStatus[JSONRPCDispatcher[Any]]) -> None:
        headers = {} if self.api_key is None else {"Authorization": f"Bearer {self.api_key}"}
        if self.profile is not None:
            headers[_PROFILE] = self.profile
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(PatientClient(headers=headers, limits=UNLIMITED))
            read, write = await stack.enter_async_context(streamable_http_client(self.url, http_client=http))
            dispatcher = JSONRPCDispatcher[Any](read, write)
            async with anyio.create_task_group() as running:
                await running.start(dispatcher.run, _nothing_is_asked, self._notified)
                task_status.started(dispatcher)

    async def _notified(self, _: DispatchContext[Any], method: str, params: Mapping[str, Any] | None) -> None:
        params_sent = params or {}
        heard = self._heard.get(str((params_sent.get("_meta") or {}).get(SUBSCRIPTION_ID_META_KEY)))
        if heard is not None:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):  # the client has gone meanwhile
                await heard(method, params_sent)


def _lost(error: MCPError) -> tuple[DcfError, bool] | None:
    """Return the failure of the connection and whether the request may have arrived; None for an answer."""
    if error.code == CONNECTION_CLOSED:
        return _failure("server_unreachable"), True
    data = error.error.data
    if error.code != FAILED or not isinstance(data, dict) or "sent" not in data:
        return None
    return _failure(data["code"]), data["sent"]


def _failure(code: str) -> DcfError:
    if code == Unauthorized.code:
        return Unauthorized(
            "The dcf server wants an API key: none was sent, or the key is wrong, expired or revoked.",
            "Start dcf agents local with a good key in DCF_API_KEY; `dcf keys add` makes one.",
        )
    if code == Forbidden.code:
        return Forbidden(
            "The dcf server refuses this caller.", "Use a key with the scope read, from an address that is allowed."
        )
    return ServerUnreachable(
        "The dcf server did not answer.", "Check that it runs and that --server names it, then call again."
    )


def _stamped(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the params with what the revision wants each request to say of its client."""
    stamped = dict(params or {})
    meta = {**ABOUT, **(stamped.get("_meta") or {}), PROTOCOL_VERSION_META_KEY: VERSION}
    meta.pop("progressToken", None)
    return {**stamped, "_meta": meta}


def _headers(method: str, params: Mapping[str, Any]) -> dict[str, str]:
    headers = {MCP_PROTOCOL_VERSION_HEADER: VERSION, MCP_METHOD_HEADER: method}
    name = params.get(NAME_BEARING_METHODS.get(method, ""))
    return headers | ({MCP_NAME_HEADER: encode_header_value(name)} if isinstance(name, str) else {})


async def _nothing_is_asked(_: DispatchContext[Any], method: str, __: Mapping[str, Any] | None) -> dict[str, Any]:
    """Refuse a request of the server: since 2026-07-28 it asks by its answers."""
    raise MCPError(METHOD_NOT_FOUND, "Method not found", method)
