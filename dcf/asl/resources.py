"""Reads a Task's Resource: who ends the Task, an agent with a lease or something outside of dcf.

Every other module asks here and never looks at the text of a Resource itself. Pure.
"""

import re
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from dcf.values.records import record, replace

Kind: TypeAlias = Literal["work", "callback", "human", "signal", "child"]

FOR_CALLBACK: Final = ".waitForTaskToken"
CALLBACK: Final = f"dcf:callback{FOR_CALLBACK}"
FUNCTION: Final = "dcf:task:"
"""Begins the Resource of a Task for a Python function: its module and name follow. An agent takes the lease."""

_OWN: Final = "dcf:"
"""Begins all Resources of dcf."""

HUMAN: Final = "dcf:human"
SIGNAL: Final = "dcf:signal"
CHILD: Final = "arn:aws:states:::states:startExecution"

_INVOKE: Final = re.compile(r"arn:aws[a-z-]*:states:::lambda:invoke")

WAITING: Final = frozenset({"Callback", "Human", "Signal", "Child", "Gate"})
"""The types in documents of states that wait for something outside, such as the verdicts of gates."""

_WAITS_AS: Final[dict[Kind, str]] = {"callback": "Callback", "human": "Human", "signal": "Signal", "child": "Child"}
_SUFFIXES: Final = ("", ".sync", ".sync:2", FOR_CALLBACK)


@record(frozen=True, slots=True, kw_only=True)
class Resource:
    """The meaning of a Resource. `kind` says who ends the Task: the lease holder ("work"), or an outside actor.

    `is_worked`: an agent takes a lease first. `waits_as` is the type that the state's document has while it waits; None
    if it never does. `gets_token`: the context object has a task token. `suffix` is that of a child run: "", ".sync",
    ".sync:2" or ".waitForTaskToken". `function` is the module and name of the function that is meant, if it says so.
    `is_invocation`: its input is FunctionName and Payload; a function gets the Payload and returns that of the result.
    """

    kind: Kind
    is_worked: bool
    waits_as: str | None
    gets_token: bool
    suffix: str = ""
    function: str | None = None
    is_invocation: bool = False


WORK: Final = Resource(kind="work", is_worked=True, waits_as=None, gets_token=False)
"""An agent takes the lease, and ends the Task with its output."""


@lru_cache(maxsize=1024)
def read_resource(text: str | None) -> Resource:
    """Read a Resource. A Task with an unknown Resource, or without one, is work for an agent."""
    if text is None:
        return WORK
    if text == HUMAN:
        return _outside("human")
    if text == SIGNAL:
        return _outside("signal")
    suffix = text.removeprefix(CHILD)
    if text.startswith(CHILD) and suffix in _SUFFIXES:
        return _outside("child", suffix=suffix)
    function = text.removeprefix(FUNCTION).removesuffix(FOR_CALLBACK) if text.startswith(FUNCTION) else None
    invokes = _INVOKE.fullmatch(text.removesuffix(FOR_CALLBACK)) is not None
    if text.endswith(FOR_CALLBACK):
        outside = _outside("callback", is_worked=text != CALLBACK, suffix=FOR_CALLBACK, function=function)
        return replace(outside, is_invocation=True) if invokes else outside
    return replace(WORK, function=function, is_invocation=invokes) if function or invokes else WORK


def is_never_called(text: str | None, *, is_assigned: bool) -> bool:
    """Return True for a Resource that nothing calls: one of dcf's that there is not, or a foreign one without an agent.

    An agent that is assigned does the Task, whatever its Resource says; a Resource of dcf's own is misspelt even then.
    """
    resource = read_resource(text)
    if text is None or resource.kind != "work" or resource.function is not None:
        return False
    return text.startswith(_OWN) or not is_assigned


def _outside(kind: Kind, *, is_worked: bool = False, suffix: str = "", function: str | None = None) -> Resource:
    return Resource(
        kind=kind,
        is_worked=is_worked,
        waits_as=_WAITS_AS[kind],
        gets_token=suffix == FOR_CALLBACK,
        suffix=suffix,
        function=function,
    )


def is_same_function(own: str, meant: str) -> bool:
    """Return True for one function under two names: a file is imported by its own name, or as part of a package."""
    return own == meant or own.endswith(f".{meant}") or meant.endswith(f".{own}")
