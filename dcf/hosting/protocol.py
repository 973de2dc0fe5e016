"""The messages between a host and an agent: `async def handle(work, tools)` returns the output of a state.

It raises TaskFailed(error, cause) to fail the state, and AgentLimited(until) where its provider rejects calls.

Imports only the standard library, so that it can be imported in the environment of any SDK.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from dcf.values.records import record
from dcf.worker.failure import AccountLimited, TaskFailed

__all__ = [
    "AgentLimited",
    "AgentProfile",
    "AgentTool",
    "AgentTools",
    "AgentWork",
    "Handler",
    "Json",
    "ModelAnswer",
    "TaskFailed",
    "ToolResult",
    "as_json",
]

AgentLimited = AccountLimited
"""A handler raises it at the usage limit of its provider. Such errors of the known SDKs are recognized without it."""

Json: TypeAlias = Any
"""Any JSON value."""


@record(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """The settings of an agent that its turns need. `options` are those of its recipe."""

    name: str
    model: str = ""
    base_url: str = ""
    instructions: str = ""
    max_turns: int = 20
    options: Mapping[str, Json] = field(default_factory=dict)


@record(frozen=True, slots=True, kw_only=True)
class AgentWork:
    """A state to work on. It has no lease: the host keeps that.

    `state` is the path of the state, `instructions` is the text of the Task, and `skills` are the directives to follow.
    The output must satisfy the JSON Schema `output_schema`. `errors` are the names it may fail with.
    `attempt`, `epoch` and `idempotency_key` are those of `TaskContext`. `last_error` is the error of an earlier
    attempt. `questions` are earlier questions about this work, with the answers. If the output of an earlier turn was
    not accepted, `problems` says why, and `session` is what that turn returned to be resumed by. `traceparent` is the
    W3C header of the attempt's span, where there are traces; a child process has it in TRACEPARENT too.
    """

    workflow_id: str
    state: str
    input: Json
    agent: AgentProfile
    instructions: str = ""
    output_schema: Mapping[str, Json] | bool | None = None
    errors: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()
    attempt: int = 1
    epoch: int = 0
    idempotency_key: str = ""
    deadline: str | None = None
    last_error: Json = None
    questions: tuple[Mapping[str, Json], ...] = ()
    problems: tuple[str, ...] = ()
    session: str | None = None
    traceparent: str = ""


@record(frozen=True, slots=True, kw_only=True)
class AgentTool:
    """A tool that the agent may call. `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Json]


@record(frozen=True, slots=True)
class ToolResult:
    """The answer of a tool, as text for a model; `is_error` is True if the call failed."""

    text: str
    is_error: bool = False


class AgentTools(Protocol):
    """The tools of one piece of work. The host makes the calls, and only of these tools."""

    def list(self) -> Sequence[AgentTool]:
        """Return the tools that the agent may call."""
        ...

    async def call(self, name: str, arguments: Mapping[str, Json]) -> ToolResult:
        """Call a tool; what goes wrong is a result too, so that a model can read it."""
        ...

    def report_usage(self, **used: Json) -> None:
        """Say what the work used up, also in a turn that fails: `tokens_in`, `tokens_out`, `cost`, `currency`, `model`.

        The other arguments of `TaskContext.report_usage`, too. Several calls are added up. The usage of delegates, as
        subagents are, is part of it.
        """
        ...


@record(frozen=True, slots=True)
class ModelAnswer:
    """The answer of a model at the end of a turn, and the id with which its conversation can be resumed.

    The host reads the output from the text: JSON, also within a fence; of a Task without OutputSchema any other text is
    the output itself.
    """

    text: str
    session: str | None = None


def as_json(value: Json) -> str:
    """Return a value as JSON text; raise ValueError or TypeError if it is none. A child may lack what the rest uses."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


Handler: TypeAlias = Callable[[AgentWork, AgentTools], Awaitable[Json | ModelAnswer]]
"""Works on a state; returns its output, or what a model said."""
