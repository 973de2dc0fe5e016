"""Makes a page once for all open pages that reload it together.

Such a request names the version that the event stream told (the header of `VERSION`). Requests of one visitor for the
same address and version get the same answer. Anything else passes through untouched: above all event streams and files,
which would be collected here without an end, and be kept.
"""

import asyncio
import re
from collections import OrderedDict
from http import HTTPStatus
from typing import Final, TypeAlias

from starlette.types import ASGIApp, Message, Receive, Scope, Send

VERSION: Final = b"dcf-version"
_MOST: Final = 64
_LONGEST: Final = 32
_TELLING: Final = (b"cookie", b"authorization", b"accept-encoding", VERSION)
"""Headers on which an answer depends: who asks, how it may be sent, and for which version."""

Key: TypeAlias = tuple[bytes | str, ...]


class SharedPages:
    """Passes requests on to an application; remembers the last answers to those that name a version.

    `paths` are those of the pages whose answers may be kept.
    """

    def __init__(self, app: ASGIApp, paths: re.Pattern[str]) -> None:
        self._app = app
        self._paths = paths
        self._answers: OrderedDict[Key, asyncio.Task[list[Message]]] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer the request, perhaps with what another one was answered."""
        key = _key(scope) if scope["type"] == "http" and self._paths.fullmatch(scope["path"]) else None
        if key is None:
            await self._app(scope, receive, send)
            return
        made = self._answers.get(key)
        if made is None:
            made = self._answers[key] = asyncio.create_task(self._made(scope, receive))
            while len(self._answers) > _MOST:
                self._answers.popitem(last=False)
        try:
            messages = await asyncio.shield(made)  # others may want it when this one is gone
        except Exception:
            self._answers.pop(key, None)
            raise
        if not _may_be_shared(messages[0]):
            self._answers.pop(key, None)
        for message in messages:
            await send(dict(message))

    async def _made(self, scope: Scope, receive: Receive) -> list[Message]:
        messages: list[Message] = []

        async def keep(message: Message) -> None:
            messages.append(message)

        await self._app(scope, receive, keep)
        return messages


def _key(scope: Scope) -> Key | None:
    if scope["method"] != "GET":
        return None
    headers: list[tuple[bytes, bytes]] = scope["headers"]
    version = next((value for name, value in headers if name == VERSION), b"")
    if not 0 < len(version) <= _LONGEST:
        return None
    parts = (part for name, value in headers if name in _TELLING for part in (name, value))
    return (scope["path"], scope["query_string"], *parts)


def _may_be_shared(start: Message) -> bool:
    names = {name.lower() for name, _ in start["headers"]}
    return start["status"] == HTTPStatus.OK and b"set-cookie" not in names
