"""The asynchronous client as if it blocked, so that one test covers both clients."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from functools import partial
from inspect import iscoroutinefunction
from typing import Any, cast

from anyio.from_thread import BlockingPortal

from dcf.client import AsyncClaim, AsyncClient, Client


class Awaited:
    """Each method is awaited on the event loop of a portal; so are those of a claim that one returns."""

    def __init__(self, client: AsyncClient | AsyncClaim, portal: BlockingPortal) -> None:
        self._client = client
        self._portal = portal

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if not callable(method):
            return method
        if iscoroutinefunction(method):
            return lambda *args, **kwargs: self._result(partial(method, *args, **kwargs))
        return lambda *args, **kwargs: self._items(method(*args, **kwargs))

    def _result(self, method: Callable[[], Awaitable[Any]]) -> Any:
        result = self._portal.call(method)
        return Awaited(result, self._portal) if isinstance(result, AsyncClaim) else result

    def _items(self, result: AsyncIterator[Any]) -> Iterator[Any]:
        while True:
            try:
                yield self._portal.call(result.__anext__)
            except StopAsyncIteration:
                return


def as_blocking(client: AsyncClient, portal: BlockingPortal) -> Client:
    return cast("Client", Awaited(client, portal))
