"""A tool of a test's own, with models that no verb's description makes: costly, broken, or strange ones."""

from collections.abc import Callable
from typing import Any, TypeVar

from dcf.core.access.model import Scope
from dcf.verbs.registry import TOOLS, Answer, Arguments, ToolSpec, agent_argument, described_by

Function = TypeVar("Function", bound=Callable[..., Any])


def tool(scope: Scope, arguments: type[Arguments], *, read_only: bool = False) -> Callable[[Function], Function]:
    """Register the function as the tool of its own name."""

    def register(function: Function) -> Function:
        spec = ToolSpec(
            name=function.__name__,
            description=described_by(arguments),
            toolset="planning",
            scope=scope,
            profiles=frozenset(),
            acts_as=agent_argument(arguments.model_fields),
            models=lambda: (arguments, Answer),
            run=function,
            read_only=read_only,
            destructive=False,
            idempotent=True,
            audit=(),
        )
        TOOLS.add(spec)
        return function

    return register
