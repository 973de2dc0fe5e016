"""The two clients: one blocks, the other awaits. Their methods are the verbs of the other modules of this folder."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from dcf.client import watching
from dcf.client.derived.methods import VerbMethods
from dcf.client.exchange import (
    AwaitedTransport,
    BlockingTransport,
    Conversation,
    Stream,
    carry_out,
    carry_out_async,
    hand_out,
    hand_out_async,
)
from dcf.client.methods import MadeLater, Method
from dcf.client.serving import LentTools, Serving

if TYPE_CHECKING:
    from dcf.client.claims import claiming, claiming_async
    from dcf.client.steps import work
    from dcf.steps.vocabulary import Flow
    from dcf.verbs.wording.sentences import Language
    from dcf.worker import TaskFunction

T = TypeVar("T")


class _Clients(VerbMethods):
    """Both clients have the verbs, the methods that watch runs, and functions that they serve."""

    _lend: Callable[[], LentTools]
    _servings: list[Serving]

    get = Method(watching.get)
    wait = Method(watching.wait)
    result = Method(watching.result)

    def serve(
        self,
        functions: "Mapping[str, TaskFunction] | Flow[..., Any]",
        agent_id: str,
        *,
        concurrency: int = 1,
        lease_ttl_s: int = 30,
        unassigned: bool = False,
    ) -> Serving:
        """Serve functions, by their states or those of a flow, as an agent on threads of this process, from now on.

        `with client.serve(...)`, or `async with`, stops it at the end of the block; otherwise `close` does. Runs reach
        it when they are started with `agents=agent_id`. With `unassigned` it also does Tasks that no agent is assigned
        to. `wait` and `result` raise what ended it.
        """
        serving = Serving(
            self._lend(),
            functions,
            agent_id,
            concurrency=concurrency,
            lease_ttl_s=lease_ttl_s,
            unassigned=unassigned,
        )
        self._servings.append(serving)
        return serving


class Client(_Clients):
    """Starts, watches and operates runs; made by `dcf.connect`. Usable from any thread.

    Every method raises an error of `dcf.errors`: `Refused` for a request that is refused, with its stable `code`.
    """

    def __init__(
        self,
        tools: BlockingTransport,
        close: Callable[[], object],
        lend: Callable[[], LentTools],
        language: "Language | None" = None,
    ) -> None:
        self._tools = tools
        self._language = language
        self._close = close
        self._lend = lend
        self._servings: list[Serving] = []

    if TYPE_CHECKING:
        claim_work = claiming(work.claim_work)
    else:
        claim_work = MadeLater("dcf.client.claims:claiming", "dcf.client.steps.work:claim_work")

    def close(self) -> None:
        """Stop what this client serves, and close its connections."""
        for serving in self._servings:
            serving.stop()
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _carry_out(self, steps: Conversation[T]) -> T:
        return carry_out(steps, self._tools, self._pause, self._language)

    def _hand_out(self, steps: Stream[T]) -> Iterator[T]:
        return hand_out(steps, self._tools, self._pause, self._language)

    def _pause(self, seconds: float) -> None:
        for serving in self._servings:
            serving.check()
        time.sleep(seconds)


class AsyncClient(_Clients):
    """Starts, watches and operates runs without blocking the event loop; made by `dcf.connect_async`.

    Its methods are those of `Client`, to be awaited; `list` and `events` are for `async for`.
    """

    def __init__(
        self,
        tools: AwaitedTransport,
        *,
        pause: Callable[[float], Awaitable[object]],
        open_: Callable[[], Awaitable[object]],
        close: Callable[[], Awaitable[object]],
        lend: Callable[[], LentTools],
    ) -> None:
        self._tools = tools
        self._language: Language | None = None
        self._sleep = pause
        self._open = open_
        self._close = close
        self._lend = lend
        self._servings: list[Serving] = []

    if TYPE_CHECKING:
        claim_work = claiming_async(work.claim_work)
    else:
        claim_work = MadeLater("dcf.client.claims:claiming_async", "dcf.client.steps.work:claim_work")

    async def close(self) -> None:
        """Stop what this client serves, and close its connections."""
        for serving in self._servings:
            await serving.stopped()
        await self._close()

    async def __aenter__(self) -> Self:
        await self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _carry_out(self, steps: Conversation[T]) -> T:
        return await carry_out_async(steps, self._tools, self._pause)

    def _hand_out(self, steps: Stream[T]) -> AsyncIterator[T]:
        return hand_out_async(steps, self._tools, self._pause)

    async def _pause(self, seconds: float) -> None:
        for serving in self._servings:
            serving.check()
        await self._sleep(seconds)
