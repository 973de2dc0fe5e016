"""Makes the methods of the two clients of the verbs, which stand once, with types, names and docstrings kept.

A type checker sees the verb's own parameters and result; so do `help` and `inspect.signature`. A method is made when it
is first asked for, and only then the module of its verb is imported, with the records of its answers.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass
from functools import partial, update_wrapper, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar, cast

from dcf.client.exchange import Conversation, Stream
from dcf.client.failures import put_into_words
from dcf.errors import DcfError

if TYPE_CHECKING:
    from dcf.verbs.wording.sentences import Language

P = ParamSpec("P")
T = TypeVar("T")
Steps = TypeVar("Steps")
Method = TypeVar("Method", bound=Callable[..., Any])


class BlockingDriver(Protocol):
    """What carries the steps of verbs out, and waits. What is refused is worded in its language."""

    _language: "Language | None"

    def _carry_out(self, steps: Conversation[T]) -> T: ...

    def _hand_out(self, steps: Stream[T]) -> Iterator[T]: ...


class AwaitedDriver(Protocol):
    """What carries the steps of verbs out without blocking. What is refused is worded in its language."""

    _language: "Language | None"

    async def _carry_out(self, steps: Conversation[T]) -> T: ...

    def _hand_out(self, steps: Stream[T]) -> AsyncIterator[T]: ...


def begun(
    driver: BlockingDriver | AwaitedDriver, verb: Callable[P, Steps], /, *args: P.args, **kwargs: P.kwargs
) -> Steps:
    """Return the steps of a verb; what is wrong with its arguments is raised in the words of the driver."""
    try:
        return verb(*args, **kwargs)
    except DcfError as error:
        language = driver._language  # noqa: SLF001 - of the drivers of this module's protocols
        raise put_into_words(error, language, "", {}) from error.__cause__


@dataclass(frozen=True, slots=True)
class LaterVerb:
    """A verb by its name, whose module need not be imported yet."""

    module: str
    name: str

    def found(self) -> Callable[..., Any]:
        """Return the verb; its module is imported."""
        # nosemgrep: nothing-of-a-caller-is-executed - only modules that are named in the source of the methods
        verb: Callable[..., Any] = getattr(import_module(self.module), self.name)
        return verb


@dataclass(frozen=True, slots=True)
class Later:
    """Stands for a module of verbs that is not imported yet. Type checkers see the module itself in its place."""

    module: str

    def __getattr__(self, name: str) -> LaterVerb:
        """Return a verb of the module."""
        return LaterVerb(self.module, name)


class _AtFirstUse:
    """Makes a method when it is first asked for, and puts it in its own place."""

    def __init__(self, make: Callable[[Callable[..., Any]], Callable[..., Any]], verb: LaterVerb) -> None:
        self._make, self._verb = make, verb

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._owner, self._name = owner, name

    def __get__(self, instance: object, owner: type[Any]) -> Callable[..., Any]:
        method = self._make(self._verb.found())
        setattr(self._owner, self._name, method)
        bound: Callable[..., Any] = method.__get__(instance, owner)
        return bound


def _at_first_use(make: Method) -> Method:
    """Return what makes a method of a verb: at once, or of one whose module is not imported, when it is needed."""

    @wraps(make)
    def made(verb: Any) -> Any:
        return _AtFirstUse(make, verb) if isinstance(verb, LaterVerb) else make(verb)

    return cast("Method", made)


@_at_first_use
def blocking(verb: Callable[P, Conversation[T]]) -> Callable[Concatenate[BlockingDriver, P], T]:
    """Return the method that carries out a verb and returns its result."""

    def method(self: BlockingDriver, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._carry_out(begun(self, verb, *args, **kwargs))

    return described(method, verb)


@_at_first_use
def iterating(verb: Callable[P, Stream[T]]) -> Callable[Concatenate[BlockingDriver, P], Iterator[T]]:
    """Return the method that yields what a verb hands out."""

    def method(self: BlockingDriver, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._hand_out(begun(self, verb, *args, **kwargs))

    return described(method, verb)


@_at_first_use
def awaited(verb: Callable[P, Conversation[T]]) -> Callable[Concatenate[AwaitedDriver, P], Coroutine[Any, Any, T]]:
    """Return the method that carries out a verb without blocking, and returns its result."""

    async def method(self: AwaitedDriver, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._carry_out(begun(self, verb, *args, **kwargs))

    return described(method, verb)


@_at_first_use
def iterating_async(verb: Callable[P, Stream[T]]) -> Callable[Concatenate[AwaitedDriver, P], AsyncIterator[T]]:
    """Return the method that yields, without blocking, what a verb hands out."""

    def method(self: AwaitedDriver, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._hand_out(begun(self, verb, *args, **kwargs))

    return described(method, verb)


def making_later(module: str, name: str) -> Callable[[LaterVerb], object]:
    """Return what makes methods by a function of a module that is imported when the first of them is asked for."""

    def make(verb: Callable[..., Any]) -> Callable[..., Any]:
        method: Callable[..., Any] = LaterVerb(module, name).found()(verb)
        return method

    return partial(_AtFirstUse, make)


def described(method: Method, verb: Callable[..., Any]) -> Method:
    """Give a method the name, docstring and parameters of its verb."""
    update_wrapper(method, verb)
    del method.__wrapped__  # type: ignore[attr-defined]  # it would say that there is no self
    signature = inspect.signature(verb)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = (own, *signature.parameters.values())
    method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return method
