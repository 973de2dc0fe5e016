"""The steps of a client: a verb says step by step which tool to call, and gets each answer. It does no I/O.

So each verb is made once (`rows.py`, `steps/`), for the client that blocks and for the one that awaits. The
drivers here carry the steps out, and put errors into the words of the interface; nothing here knows a tool, a
transport or a run.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from dcf.client.failures import error_of, put_into_words
from dcf.errors import DcfError, ToolCallFailed
from dcf.values.json_text import Json

if TYPE_CHECKING:
    from dcf.verbs.wording.sentences import Language

S = TypeVar("S")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A step: call this tool. Its answer, which may be a refusal, is sent to the verb."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pause:
    """A step: wait for `seconds`."""

    seconds: float


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """A step of a verb with many results: hand this one out, and continue when the next is wanted."""

    value: T


Conversation: TypeAlias = Generator[ToolCall | Pause, Any, T]
"""The steps of a verb that returns a `T`."""

Stream: TypeAlias = Generator[ToolCall | Pause | Item[T], Any, None]
"""The steps of a verb that hands out any number of `T`."""


class BlockingTransport(Protocol):
    """Calls tools and waits for the answers."""

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; retry until a deadline while the server does not answer."""
        ...


class AwaitedTransport(Protocol):
    """Calls tools without blocking the event loop."""

    async def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer, which may be a refusal; retry until a deadline while the server does not answer."""
        ...


BlockingPause: TypeAlias = Callable[[float], object]
AwaitedPause: TypeAlias = Callable[[float], Awaitable[object]]


def carry_out(
    steps: Conversation[T], tools: BlockingTransport, pause: BlockingPause, language: "Language | None" = None
) -> T:
    """Take the steps of a verb, and return its result."""
    answer: Json = None
    step: ToolCall | Pause | None = None
    while True:
        try:
            step = _next(steps, answer, step, language)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = _take(step, tools, pause, language)


def hand_out(
    steps: Stream[T], tools: BlockingTransport, pause: BlockingPause, language: "Language | None" = None
) -> Generator[T, None, None]:
    """Take the steps of a verb with many results, as far as results are wanted."""
    answer: Json = None
    step: ToolCall | Pause | Item[T] | None = None
    while True:
        try:
            step = _next(steps, answer, step, language)
        except StopIteration:
            return
        if isinstance(step, Item):
            answer = None
            yield step.value
        else:
            answer = _take(step, tools, pause, language)


async def carry_out_async(
    steps: Conversation[T], tools: AwaitedTransport, pause: AwaitedPause, language: "Language | None" = None
) -> T:
    """Take the steps of a verb without blocking, and return its result."""
    answer: Json = None
    step: ToolCall | Pause | None = None
    while True:
        try:
            step = _next(steps, answer, step, language)
        except StopIteration as end:
            result: T = end.value
            return result
        answer = await _take_async(step, tools, pause, language)


async def hand_out_async(
    steps: Stream[T], tools: AwaitedTransport, pause: AwaitedPause, language: "Language | None" = None
) -> AsyncGenerator[T, None]:
    """Take the steps of a verb with many results without blocking, as far as results are wanted."""
    answer: Json = None
    step: ToolCall | Pause | Item[T] | None = None
    while True:
        try:
            step = _next(steps, answer, step, language)
        except StopIteration:
            return
        if isinstance(step, Item):
            answer = None
            yield step.value
        else:
            answer = await _take_async(step, tools, pause, language)


def _next(steps: Generator[S, Any, Any], answer: Json, before: object, language: "Language | None") -> S:
    """Return the next step of a verb, which gets the answer to the step before; word the error that it raises."""
    try:
        return steps.send(answer)
    except DcfError as error:
        _worded(error, language, before)
        raise


def _take(step: ToolCall | Pause, tools: BlockingTransport, pause: BlockingPause, language: "Language | None") -> Json:
    if isinstance(step, Pause):
        return pause(step.seconds)
    try:
        return tools.call(step.tool, **step.arguments)
    except ToolCallFailed as failure:
        raise _worded(error_of(failure), language, step) from None


async def _take_async(
    step: ToolCall | Pause, tools: AwaitedTransport, pause: AwaitedPause, language: "Language | None"
) -> Json:
    if isinstance(step, Pause):
        return await pause(step.seconds)
    try:
        return await tools.call(step.tool, **step.arguments)
    except ToolCallFailed as failure:
        raise _worded(error_of(failure), language, step) from None


def _worded(error: DcfError, language: "Language | None", step: object) -> DcfError:
    """Return an error in the words of the interface; the last step says which call it is about."""
    call = step if isinstance(step, ToolCall) else ToolCall("")
    return put_into_words(error, language, call.tool, call.arguments)
