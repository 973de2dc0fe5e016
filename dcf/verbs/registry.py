"""Defines a dcf tool: a name, a toolset, a scope, two models, a function. Nothing here depends on a transport.

A tool's arguments are a frozen pydantic model that refuses unknown names. A language model reads its docstring to
choose the tool, and its field descriptions to fill them in. A required argument has an example, which hints and the
reference show, but not the schema, which every caller reads.

Everything about a tool is declared at the tool. Lists of tools, in documents and tests too, are generated from this
registry.
"""

import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_state
from dcf.values.json_text import Json, parse
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.verbs.unlisted import UNLISTED

ID_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$"
STATE_PATTERN = r"^[^\x00-\x1f\x7f]+$"
ID_RULE = "1 to 64 letters, digits, '_', '.' or '-', beginning with a letter or digit"

Toolset = Literal[
    "planning",
    "execution",
    "notification",
    "agents",
    "skills",
    "authoring",
    "redis_json",
    "files",
    "operations",
    "schedules",
    "people",
    "growing",
    "gates",
    "journal",
    "artifacts",
    "knowledge",
    "projects",
]
"""The subjects of tools, in the order in which clients see them."""

Profile = Literal["worker", "planner", "member", "operator", "person"]
"""The callers that tools are offered to."""

WorkflowId = Annotated[str, Field(pattern=ID_PATTERN, description="Id of the run.", examples=["order-42"])]
AgentId = Annotated[str, Field(pattern=ID_PATTERN, description="Your agent id.", examples=["pricing-1"])]
ProjectId = Annotated[str, Field(pattern=ID_PATTERN, description="Id of the project.", examples=["shop"])]
OtherAgentId = Annotated[str, Field(pattern=ID_PATTERN, description="Id of the agent.", examples=["pricing-1"])]
StateName = Annotated[
    str,
    Field(
        pattern=STATE_PATTERN,
        min_length=1,
        max_length=400,
        description="Name of the state.",
        examples=["CalculatePricing"],
    ),
]
LeaseToken = Annotated[
    str,
    Field(
        min_length=1,
        max_length=200,
        description="The lease's token; keep it secret.",
        examples=["the token in the answer of acquire_state_lease"],
    ),
]
Ttl = Annotated[int, Field(ge=1, le=86_400, description="Seconds of the lease.")]
WholeInput = Annotated[
    bool, Field(description="Never leave out a long input; for programs.", json_schema_extra=UNLISTED)
]
ONLY_CONFIGURED = "Leave out: the server knows its {}; any other path is refused."
JsonObject: TypeAlias = str | dict[str, Any]
JsonArray: TypeAlias = str | list[Any]


class Arguments(BaseModel):
    """Base of every tool's arguments; they mean what their JSON type says (`"7"` and `true` are no numbers).

    `redis_url` is in the seed's contract; it takes the name of a configured connection, of which there is one.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    redis_url: Literal["default"] | None = Field(
        default=None, description="Leave out; URLs are refused.", json_schema_extra=UNLISTED
    )


class Answer(BaseModel):
    """Base of every tool's answer: the seed's pattern B, with a stable code and what to do next.

    `code` is `ok`, or says why not; then `error` begins with it and `status` is null. `next` are the calls to make
    now, in order (`workforce/steps.py`): ready to be sent, but for what stands in angle brackets. Some answers
    have `problems`: all that is wrong with what was sent.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    status: str | None = None
    error: str | None = None
    code: str = "ok"
    hint: str | None = None
    retry_after_s: float | None = None
    next: list[dict[str, Any]] | None = None

    only_when_set: ClassVar[tuple[str, ...]] = ()
    """Further fields that are left out where they are null."""

    def payload(self) -> dict[str, Json]:
        """Return the answer as JSON: the seed contract's fields always, dcf's own additions only when they are set."""
        found = self.model_dump(mode="json")
        for name in (*_ONLY_WHEN_SET, *self.only_when_set):
            if found[name] is None:
                del found[name]
        return found


_ONLY_WHEN_SET = ("hint", "retry_after_s", "next")


AnyArguments = TypeVar("AnyArguments", bound=Arguments)
AnyAnswer = TypeVar("AnyAnswer", bound=Answer)
ToolFunction: TypeAlias = Callable[[Application, AnyArguments], AnyAnswer | Awaitable[AnyAnswer]]


_building: Final = threading.Lock()

RunsNamed: TypeAlias = Callable[[Any], Iterable[str]]
"""Finds the runs that arguments name."""


def run_named(arguments: Arguments) -> Iterable[str]:
    """Return the run of the argument workflow_id, if it is given."""
    found = getattr(arguments, "workflow_id", None)
    return () if found is None else (found,)


@record(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool. Its hints are MCP's: whether it is read-only, destructive, or idempotent.

    It is offered with its `toolset` and to callers of its `profiles`; a caller needs its `scope` to call it.
    `acts_as` is the argument with the id of the calling agent. For a tool that changes something outside runs,
    `audit` lists the fields of its arguments and answer that name what it changed. `runs_named` finds the runs that
    must be there for a call, and `of_no_run` means that none need be named: `project_bounds` asks for both.
    """

    name: str
    toolset: Toolset
    scope: Scope
    profiles: frozenset[Profile]
    acts_as: str | None
    arguments: type[Arguments]
    answer: type[Answer]
    run: Callable[[Application, Any], Answer | Awaitable[Answer]]
    read_only: bool
    destructive: bool
    idempotent: bool
    audit: tuple[str, ...]
    runs_named: RunsNamed = run_named
    of_no_run: bool = False

    def build(self) -> None:
        """Build the models, where they are not: all at the start would take 0.1 s. Call it before either is used.

        Before version 2.14, pydantic does not lock a model that it builds at first use.
        """
        if not (self.arguments.__pydantic_complete__ and self.answer.__pydantic_complete__):
            with _building:
                self.arguments.model_rebuild()
                self.answer.model_rebuild()

    @property
    def description(self) -> str:
        """The tool's purpose; the first sentence says when to use it."""
        return " ".join((self.arguments.__doc__ or "").split())


class Tools(Mapping[str, ToolSpec]):
    """Every tool by name. It is complete once all modules that define tools are imported; a request before raises.

    So no process serves some of the tools because a module was not imported.
    """

    def __init__(self) -> None:
        """Begin without a tool."""
        self._specs: dict[str, ToolSpec] = {}
        self._is_complete = False

    def add(self, spec: ToolSpec) -> None:
        """Take in a tool that a module defines."""
        self._specs[spec.name] = spec

    def complete(self, modules: Iterable[str]) -> None:
        """Answer requests from now on, if each of the modules has defined tools and no other module has."""
        wanted, defining = set(modules), {spec.run.__module__ for spec in self._specs.values()}
        if wanted != defining:
            raise RuntimeError(f"These modules define no tools, or are not listed: {sorted(wanted ^ defining)}.")
        self._is_complete = True

    def __getitem__(self, name: str) -> ToolSpec:
        """Return a tool."""
        return self._known()[name]

    def __iter__(self) -> Iterator[str]:
        """List the names of the tools."""
        return iter(self._known())

    def __len__(self) -> int:
        """Count the tools."""
        return len(self._known())

    def _known(self) -> Mapping[str, ToolSpec]:
        if not self._is_complete:
            raise RuntimeError("The tools are not complete yet: dcf.tools.mcp.selection imports all.")
        return self._specs


TOOLS: Final = Tools()
"""Every tool by name."""


def is_served(spec: ToolSpec, toolsets: Collection[str]) -> bool:
    """Return True if a server of these toolsets (of all if none is named) serves what the tool is about."""
    return not toolsets or spec.toolset in toolsets


_AGENT_ARGUMENTS = ("owner_agent_id", "planner_agent_id", "agent_id")
"""Arguments that name the calling agent, unless a tool is about other agents."""


def tool(
    *,
    toolset: Toolset,
    scope: Scope,
    profiles: tuple[Profile, ...] = (),
    arguments: type[AnyArguments],
    answer: type[AnyAnswer],
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = True,
    about_others: bool = False,
    audit: tuple[str, ...] = (),
    runs_named: RunsNamed = run_named,
    of_no_run: bool = False,
) -> Callable[[ToolFunction[AnyArguments, AnyAnswer]], ToolFunction[AnyArguments, AnyAnswer]]:
    """Register the function as the tool of its own name.

    A tool with an agent's id among its arguments takes it for the caller: it must be the agent that the caller's
    key is bound to. A tool `about_others` checks by itself which agents it may be called about. The run that a tool
    names is its `workflow_id`, unless `runs_named` finds others; a tool `of_no_run` may be called without one by a key
    that is bound to a project.
    """

    def register(function: ToolFunction[AnyArguments, AnyAnswer]) -> ToolFunction[AnyArguments, AnyAnswer]:
        name = function.__name__
        spec = ToolSpec(
            name=name,
            toolset=toolset,
            scope=Scope(scope),
            profiles=frozenset(profiles),
            acts_as=None if about_others else _speaker(arguments),
            arguments=arguments,
            answer=answer,
            run=function,
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            audit=audit,
            runs_named=runs_named,
            of_no_run=of_no_run,
        )
        TOOLS.add(spec)
        return function

    return register


def _speaker(arguments: type[Arguments]) -> str | None:
    return next((name for name in _AGENT_ARGUMENTS if name in arguments.model_fields), None)


def no_run(_: Arguments) -> Iterable[str]:
    """Name no run: for tools that create the one they name."""
    return ()


def refused(answer: type[AnyAnswer], refusal: Refusal, **echo: Json) -> AnyAnswer:
    """Return the answer to a well-formed request that is refused; `next` may be among what it echoes."""
    return answer(
        error=printable(f"{refusal.code}: {refusal.message}"),
        code=refusal.code,
        hint=printable(refusal.hint),
        retry_after_s=refusal.retry_after_s,
        **problems_shown(refusal),
        **echo,
    )


def problems_shown(refusal: Refusal) -> dict[str, Json]:
    """Return all that is wrong with what was sent, as a member, where the refusal lists it."""
    shown = [{name: printable(str(value)) for name, value in one.items()} for one in refusal.problems]
    return {"problems": shown} if shown else {}


def printable(text: str) -> str:
    """Return a sentence, which may contain names chosen by callers, on one line and without invisible characters."""
    return "".join(character if character.isprintable() else "?" for character in text)


def refuse_other(name: str, given: str | None, configured: Path) -> None:
    """Raise unless the path is the configured one; nothing is read at another path."""
    if given is not None and Path(given).absolute() != configured.absolute():
        raise InvalidArgument(f"{name} may not be chosen by the caller.", f"Leave {name} out of the call.")


def read_names(value: str | list[Any], *, name: str) -> tuple[str, ...]:
    """Read a JSON array of names, given as text or as a native array; duplicates are removed."""
    names = parse(value, name=name)
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise InvalidArgument(f"{name} is not an array of names.", f'Send {name} as ["A", "B"].')
    return tuple(dict.fromkeys(check_state(one, name) for one in names))
