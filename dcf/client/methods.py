"""Makes the methods of the two clients of the verbs, which stand once, with types, names and docstrings kept.

A type checker sees the verb's own parameters and result; so do `help` and `inspect.signature`.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from dcf.client.exchange import Conversation, Stream

P = ParamSpec("P")
T = TypeVar("T")


class BlockingDriver(Protocol):
    """What carries the steps of verbs out, and waits."""

    def _carry_out(self, steps: Conversation[T]) -> T: ...

    def _hand_out(self, steps: Stream[T]) -> Iterator[T]: ...


class AwaitedDriver(Protocol):
    """What carries the steps of verbs out without blocking."""

    async def _carry_out(self, steps: Conversation[T]) -> T: ...

    def _hand_out(self, steps: Stream[T]) -> AsyncIterator[T]: ...


def blocking(verb: Callable[P, Conversation[T]]) -> Callable[Concatenate[BlockingDriver, P], T]:
    """Return the method that carries out a verb and returns its result."""

    def method(self: BlockingDriver, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._carry_out(verb(*args, **kwargs))

    return _described(method, verb)


def iterating(verb: Callable[P, Stream[T]]) -> Callable[Concatenate[BlockingDriver, P], Iterator[T]]:
    """Return the method that yields what a verb hands out."""

    def method(self: BlockingDriver, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._hand_out(verb(*args, **kwargs))

    return _described(method, verb)


def awaited(verb: Callable[P, Conversation[T]]) -> Callable[Concatenate[AwaitedDriver, P], Coroutine[Any, Any, T]]:
    """Return the method that carries out a verb without blocking, and returns its result."""

    async def method(self: AwaitedDriver, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._carry_out(verb(*args, **kwargs))

    return _described(method, verb)


def iterating_async(verb: Callable[P, Stream[T]]) -> Callable[Concatenate[AwaitedDriver, P], AsyncIterator[T]]:
    """Return the method that yields, without blocking, what a verb hands out."""

    def method(self: AwaitedDriver, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._hand_out(verb(*args, **kwargs))

    return _described(method, verb)


Method = TypeVar("Method", bound=Callable[..., Any])


def _described(method: Method, verb: Callable[..., Any]) -> Method:
    """Give a method the name, docstring and parameters of its verb."""
    update_wrapper(method, verb)
    del method.__wrapped__  # type: ignore[attr-defined]  # it would say that there is no self
    signature = inspect.signature(verb)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = (own, *signature.parameters.values())
    method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return method
