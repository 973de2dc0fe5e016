"""Opens clients: at a server over MCP's HTTP, or with a control plane in this process, directly on Redis.

Imports that only one kind needs happen when it is opened: a client of a server loads no Redis client and no tools.
"""

import os
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Final, TypeGuard

from dcf.client.clients import AsyncClient, Client
from dcf.client.serving import LentTools
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from collections.abc import Callable

    from dcf.settings.process import Settings
    from dcf.tools.calling.direct import DirectTools

_HTTP: Final = ("http://", "https://")
_REDIS: Final = ("redis://", "rediss://", "unix://", "redis+sentinel://", "rediss+sentinel://")
_DEADLINE_S: Final = 60.0
_MOST_THREADS: Final = 64
"""Calls of one asynchronous client on Redis that are carried out at the same time."""


def connect(address: str | None = None, *, api_key: str | None = None, deadline_s: float = _DEADLINE_S) -> Client:
    """Return a client: of a server (`http://HOST:PORT/mcp`), or directly on Redis (`redis://HOST`).

    Without an address it uses the Redis of the settings (`REDIS_URL`), or else the embedded one, as commands do. At a
    server it calls with `api_key`, by default the one in `DCF_API_KEY`; on Redis it may do everything. A call whose
    connection breaks is repeated for `deadline_s` seconds. Close the client, or use it in a `with` block.
    """
    if _is_server(address):
        lend = partial(_at_server, address, _key(api_key), deadline_s)
        served = lend()
        return Client(served.tools, served.close, lend)
    stack = ExitStack()
    here = LentTools(_open_here(_settings(address), deadline_s, stack), _nothing_to_close)
    return Client(here.tools, stack.close, lambda: here)


def connect_async(
    address: str | None = None, *, api_key: str | None = None, deadline_s: float = _DEADLINE_S
) -> AsyncClient:
    """Return an asynchronous client, for an `async with` block; the arguments are those of `connect`."""
    import anyio

    if _is_server(address):
        from dcf.tools.calling.async_client import AsyncToolClient

        served = AsyncToolClient(address, deadline_s, api_key=_key(api_key))
        lend = partial(_at_server, address, _key(api_key), deadline_s)
        return AsyncClient(served, pause=anyio.sleep, open_=_nothing, close=served.close, lend=lend)
    here = _ToolsOnThreads(partial(_open_here, _settings(address), deadline_s))
    return AsyncClient(here, pause=anyio.sleep, open_=here.open, close=here.close, lend=here.lend)


class _ToolsOnThreads:
    """The tools of this process, called on threads so that they do not block the event loop."""

    def __init__(self, open_: "Callable[[ExitStack], DirectTools]") -> None:
        import anyio

        self._open = open_
        self._stack = ExitStack()
        self._tools: DirectTools | None = None
        self._opening = anyio.Lock()
        self._threads: anyio.CapacityLimiter | None = None

    async def open(self) -> "DirectTools":
        """Connect to Redis, or start it, unless that is done."""
        import anyio.to_thread

        async with self._opening:
            if self._tools is None:
                self._tools = await anyio.to_thread.run_sync(self._open, self._stack)
                self._threads = anyio.CapacityLimiter(_MOST_THREADS)
            return self._tools

    def lend(self) -> LentTools:
        """Return the tools for other threads; raise InvalidArgument if they are not open."""
        if self._tools is None:
            raise InvalidArgument("The client is not open.", "Use it in an async with block.")
        return LentTools(self._tools, _nothing_to_close)

    async def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal."""
        import anyio.to_thread

        tools = self._tools or await self.open()
        return await anyio.to_thread.run_sync(partial(tools.call, tool, **arguments), limiter=self._threads)

    async def close(self) -> None:
        """Close the connections; what was not opened stays closed."""
        import anyio.to_thread

        await anyio.to_thread.run_sync(self._stack.close)
        self._tools = None


def _at_server(address: str, api_key: str | None, deadline_s: float) -> LentTools:
    from dcf.tools.calling.client import ToolClient

    tools = ToolClient(address, deadline_s, api_key=api_key)
    return LentTools(tools, tools.close)


def _open_here(settings: "Settings", deadline_s: float, stack: ExitStack) -> "DirectTools":
    from dcf.application.application import open_application
    from dcf.tools.calling.direct import DirectTools, control_plane_here

    here = stack.enter_context(control_plane_here(stack.enter_context(open_application(settings))))
    return DirectTools(here, deadline_s)


def _settings(address: str | None) -> "Settings":
    """Return the settings of this process with this Redis: who can reach it is trusted with everything."""
    from pydantic import SecretStr

    from dcf.settings.process import read_settings

    if address is not None and not address.startswith(_REDIS):
        raise InvalidArgument(
            "The address is neither that of a server nor of a Redis.",
            "Write http://HOST:PORT/mcp or redis://HOST:PORT, or leave it out for the Redis of the settings.",
        )
    chosen = {} if address is None else {"redis_url": SecretStr(address)}
    return read_settings().model_copy(update={"allow_operator": True, **chosen})


def _is_server(address: str | None) -> TypeGuard[str]:
    return address is not None and address.startswith(_HTTP)


def _key(api_key: str | None) -> str | None:
    return api_key or os.environ.get("DCF_API_KEY") or None


async def _nothing() -> None:
    """Open nothing: the first call connects."""


def _nothing_to_close() -> None:
    """Close nothing: the tools are the client's own, and it closes them."""
