"""Makes the methods of both clients of the verbs, with types, names and docstrings kept.

A type checker sees the verb's own parameters and result; so do `help` and `inspect.signature`. A method is made when it
is first asked for, and only then the module of its verb is imported, with the records of its answers.
"""

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from functools import partial, update_wrapper
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from dcf.client.exchange import Conversation, Stream
from dcf.client.failures import put_into_words
from dcf.client.rows import named, read_rows, verb_of
from dcf.errors import DcfError

if TYPE_CHECKING:
    from dcf.verbs.wording.sentences import Language

P = ParamSpec("P")
T = TypeVar("T")
Steps = TypeVar("Steps")
F = TypeVar("F", bound=Callable[..., Any])


class BlockingDriver(Protocol):
    """Carries out the steps of verbs, and waits. Errors are worded in its language."""

    _language: "Language | None"

    def _carry_out(self, steps: Conversation[T]) -> T: ...

    def _hand_out(self, steps: Stream[T]) -> Iterator[T]: ...


class AwaitedDriver(Protocol):
    """Carries out the steps of verbs without blocking. Errors are worded in its language."""

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
    except TypeError as error:
        raise _with_similar_name(error, verb, kwargs) from None


def _with_similar_name(error: TypeError, verb: Callable[..., Any], arguments: Mapping[str, object]) -> TypeError:
    """Return the error of Python; for an argument that does not exist it says which one may be meant."""
    from dcf.steps.suggestions import near  # noqa: PLC0415 - only an error needs it

    known = inspect.signature(verb).parameters
    unknown = next((name for name in arguments if name not in known), None)
    return error if unknown is None else TypeError(f"{error}.{near(unknown, known)}")


class _AtFirstUse:
    """Makes a method of a client's class when it is first asked for, and puts it into that class."""

    def __init__(self, verb: Callable[..., Any]) -> None:
        self._get_verb: Callable[[], Callable[..., Any]] = lambda: verb

    @classmethod
    def later(cls, get_verb: Callable[[], Callable[..., Any]]) -> Self:
        """Return the method of a verb that `get_verb` returns when it is needed."""
        method = cls.__new__(cls)
        method._get_verb = get_verb  # noqa: SLF001 - it is of this class
        return method

    def __set_name__(self, _: type[Any], name: str) -> None:
        self._name = name

    def _bound(self, client: object, owner: type[Any], make: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
        method = make(self._get_verb())
        setattr(owner, self._name, method)
        return method.__get__(client, owner)


class Method(_AtFirstUse, Generic[P, T]):
    """A verb with one result, as a method of both clients: of one it returns the result, of the other it is awaited."""

    def __init__(self, verb: Callable[P, Conversation[T]]) -> None:
        super().__init__(verb)

    @overload
    def __get__(self, client: BlockingDriver, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(self, client: AwaitedDriver, owner: type[Any]) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    def __get__(self, client: object, owner: type[Any]) -> Any:
        """Return the method as the class of clients has it."""
        is_awaited = inspect.iscoroutinefunction(owner._carry_out)  # noqa: SLF001 - what both drivers have
        return self._bound(client, owner, _awaited if is_awaited else _blocking)


class Iteration(_AtFirstUse, Generic[P, T]):
    """A verb with many results, as a method of both clients: for a loop of one, for `async for` of the other."""

    def __init__(self, verb: Callable[P, Stream[T]]) -> None:
        super().__init__(verb)

    @overload
    def __get__(self, client: BlockingDriver, owner: type[Any]) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, client: AwaitedDriver, owner: type[Any]) -> Callable[P, AsyncIterator[T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    def __get__(self, client: object, owner: type[Any]) -> Any:
        """Return the method as the class of clients has it."""
        return self._bound(client, owner, _iterating)


class MadeLater(_AtFirstUse):
    """A method that a function of its own makes of a verb; both are named as rows name them."""

    def __init__(self, make: str, verb: str) -> None:
        self._make = make
        self._get_verb = partial(named, verb)

    def __get__(self, client: object, owner: type[Any]) -> Any:
        """Return the method as the class of clients has it."""
        return self._bound(client, owner, named(self._make))


def _blocking(verb: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: BlockingDriver, /, *args: Any, **kwargs: Any) -> Any:
        return self._carry_out(begun(self, verb, *args, **kwargs))

    return described(method, verb)


def _awaited(verb: Callable[..., Any]) -> Callable[..., Any]:
    async def method(self: AwaitedDriver, /, *args: Any, **kwargs: Any) -> Any:
        return await self._carry_out(begun(self, verb, *args, **kwargs))

    return described(method, verb)


def _iterating(verb: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: BlockingDriver | AwaitedDriver, /, *args: Any, **kwargs: Any) -> Any:
        return self._hand_out(begun(self, verb, *args, **kwargs))

    return described(method, verb)


def described(method: F, verb: Callable[..., Any]) -> F:
    """Give a method the name, docstring and parameters of its verb."""
    update_wrapper(method, verb)
    del method.__wrapped__  # type: ignore[attr-defined]  # it would say that there is no self
    signature = inspect.signature(verb)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = (own, *signature.parameters.values())
    method.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return method


def verb_methods() -> type[Any]:
    """Return the class with a method for each verb, none of which is made yet."""
    rows = read_rows()
    kinds = {name: Iteration if row.get("is_list") else Method for name, row in rows.items()}
    methods: dict[str, Any] = {name: kind.later(partial(verb_of, name, rows[name])) for name, kind in kinds.items()}
    return type("VerbMethods", (), {"__doc__": "A method for each verb of dcf.", **methods})
