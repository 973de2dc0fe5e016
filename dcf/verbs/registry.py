"""Defines a dcf tool: a name, a toolset, a scope, two models, a function. Nothing here depends on a transport.

A tool's arguments are a frozen pydantic model that refuses unknown names. A language model reads its docstring to
choose the tool, and its field descriptions to fill them in. A required argument has an example, which hints and the
reference show, but not the schema, which every caller reads.

The tools of verbs are made by `derived_tools`. Lists of tools, in documents and tests too, are generated from this
registry.
"""

import threading
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_state
from dcf.values.json_text import Json, parse
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.verbs.answers.as_record import AsRecord
from dcf.verbs.description.table import TABLE
from dcf.verbs.records.next_step import NextStep
from dcf.verbs.unlisted import UNLISTED

if TYPE_CHECKING:
    from dcf.application.application import Application

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

Profile = Literal["worker", "planner", "member", "operator", "person", "assistant"]
"""The callers that tools are offered to."""

ONLY_CONFIGURED = "Leave out: the server knows its {}; any other path is refused."


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
    now, in order (`workforce/steps.py`): ready to be sent, except for words in angle brackets. `problems` are all
    faults of the call, where there can be several.
    """

    model_config = ConfigDict(frozen=True, defer_build=True)

    status: str | None = None
    error: str | None = None
    code: str = "ok"
    hint: str | None = None
    retry_after_s: float | None = None
    next: list[Annotated[dict[str, Any], AsRecord(NextStep)]] | None = None
    problems: list[dict[str, str | int | None]] | None = None

    only_when_set: ClassVar[tuple[str, ...]] = ()
    """Further fields that are left out where they are null."""
    of_some: ClassVar[frozenset[str]] = frozenset()
    """Fields that only some answers have: a merged tool answers as the verb that a call means."""

    def payload(self) -> dict[str, Json]:
        """Return the answer as JSON: the seed contract's fields always, dcf's own additions only when they are set."""
        members = self.model_dump(mode="json")
        for name in self.may_be_left_out():
            if members[name] is None:
                del members[name]
        return members

    @classmethod
    def may_be_left_out(cls) -> tuple[str, ...]:
        """Return the fields that an answer does not have where they are null."""
        return (*_ONLY_WHEN_SET, *cls.only_when_set)


_ONLY_WHEN_SET = ("hint", "retry_after_s", "next", "problems")


AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


_building: Final = threading.Lock()

Models: TypeAlias = tuple[type[Arguments], type[Answer]]
"""The models of a tool's arguments and of its answer."""

RunsNamed: TypeAlias = Callable[[Any], Iterable[str]]
"""Finds the runs that arguments name."""


def run_named(arguments: Arguments) -> Iterable[str]:
    """Return the run of the argument workflow_id, if it is given."""
    run = getattr(arguments, "workflow_id", None)
    return () if run is None else (run,)


@record(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """One tool. Its hints are MCP's: whether it is read-only, destructive, or idempotent.

    `description` is its purpose; the first sentence says when to use it. `models` returns always the same two models.
    It is offered with its `toolset` and to callers of its `profiles`; a caller needs its `scope` to call it.
    `acts_as` is the argument with the id of the calling agent. For a tool that changes something outside runs,
    `audit` lists the fields of its arguments and answer that name what it changed. `runs_named` finds the runs that
    must be there for a call, and `of_no_run` means that none need be named: `project_bounds` asks for both.
    `codes` are those of its refusals, besides the codes that any tool may answer.
    A tool that stands for several verbs has `resolve`: it returns the verb that a call means, and its arguments, or
    raises InvalidArgument. One `for_programs` is on no list. `renamed` has arguments by the names that they had, with
    those that they have.
    """

    name: str
    description: str
    toolset: Toolset
    scope: Scope
    profiles: frozenset[Profile]
    acts_as: str | None
    models: Callable[[], Models]
    run: Callable[["Application", Any], Answer | Awaitable[Answer]]
    read_only: bool
    destructive: bool
    idempotent: bool
    audit: tuple[str, ...]
    runs_named: RunsNamed = run_named
    of_no_run: bool = False
    codes: tuple[str, ...] = ()
    for_programs: bool = False
    resolve: "Resolve | None" = None
    renamed: tuple[tuple[str, str], ...] = ()

    def build(self) -> None:
        """Build the models, where they are not: all at the start would take 0.1 s. Call it before either is used.

        Before version 2.14, pydantic does not lock a model that it builds at first use.
        """
        if not (self.arguments.__pydantic_complete__ and self.answer.__pydantic_complete__):
            with _building:
                self.arguments.model_rebuild()
                self.answer.model_rebuild()

    def in_present_names(self, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        """Return the arguments of a call under the names that they have now; what is sent under both counts as now."""
        now = dict(self.renamed)
        if now.keys().isdisjoint(arguments):
            return arguments
        former = {now[name]: value for name, value in arguments.items() if name in now}
        return former | {name: value for name, value in arguments.items() if name not in now}

    @property
    def arguments(self) -> type[Arguments]:
        """The model of its arguments."""
        return self.models()[0]

    @property
    def answer(self) -> type[Answer]:
        """The model of its answer."""
        return self.models()[1]


Resolve: TypeAlias = Callable[[Mapping[str, Json]], tuple[ToolSpec, dict[str, Json]]]


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

    def alone(self, name: str) -> ToolSpec:
        """Return a tool, importing no module but its own: for a process that calls one or two."""
        import_module(TABLE[name].module)  # nosemgrep: nothing-of-a-caller-is-executed - only modules of the table
        return self._specs[name]

    def complete(self, modules: Iterable[str]) -> None:
        """Answer requests from now on, if each of the modules has defined tools and no other module has."""
        module_names, defining = set(modules), {spec.run.__module__ for spec in self._specs.values()}
        if module_names != defining:
            raise RuntimeError(f"These modules define no tools, or are not listed: {sorted(module_names ^ defining)}.")
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


def described_by(arguments: type[Arguments]) -> str:
    """Return the purpose of a tool, which its arguments have as their docstring, in one paragraph."""
    return " ".join((arguments.__doc__ or "").split())


def agent_argument(arguments: Collection[str]) -> str | None:
    """Return the name of the argument with the id of the calling agent, if there is one."""
    return next((name for name in _AGENT_ARGUMENTS if name in arguments), None)


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
    shown = [{name: printable(str(value)) for name, value in problem.items()} for problem in refusal.problems]
    return {"problems": shown} if shown else {}


def printable(text: str) -> str:
    """Return a sentence, which may contain names chosen by callers, on one line and without invisible characters."""
    return "".join(character if character.isprintable() else "?" for character in text)


def refuse_other(name: str, sent: str | None, configured: Path) -> None:
    """Raise unless the path is the configured one; nothing is read at another path."""
    if sent is not None and Path(sent).absolute() != configured.absolute():
        raise InvalidArgument(f"{name} may not be chosen by the caller.", f"Leave {name} out of the call.")


def read_names(value: str | list[Any], *, name: str) -> tuple[str, ...]:
    """Read a JSON array of names, given as text or as a native array; duplicates are removed."""
    names = parse(value, name=name)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(f"{name} is not an array of names.", f'Send {name} as ["A", "B"].')
    return tuple(dict.fromkeys(check_state(item, name) for item in names))
