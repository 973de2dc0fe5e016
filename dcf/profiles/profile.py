"""The parts of a profile: tools with their arguments, resources, and the shape of failures."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from dcf.core.access.model import Scope
from dcf.values.json_text import Json, dump
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a call was not carried out. `code` is dcf's, `paths` are those of arguments that are wrong.

    `is_native`: one of dcf's tools says so, in its own words.
    """

    code: str
    message: str
    hint: str = ""
    retry_after_s: float | None = None
    paths: tuple[str, ...] = ()
    details: Mapping[str, Json] = field(default_factory=dict)
    is_native: bool = False

    @property
    def sentence(self) -> str:
        """What is wrong and what to do."""
        return " ".join(filter(None, (self.message, self.hint)))


class NotDone(Exception):
    """A call was refused, or could not be carried out; nothing more of it is done."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.code)
        self.failure = failure


def refuse(code: str, message: str, hint: str, *paths: str) -> NotDone:
    """Return the refusal of a call, to be raised."""
    return NotDone(Failure(code=code, message=message, hint=hint, paths=paths))


class Native(Protocol):
    """dcf's tools for the caller, and the identity of the caller."""

    async def call(self, tool: str, /, **arguments: Json) -> Mapping[str, Json]:
        """Return a tool's answer; arguments that are None are left out. Raise NotDone where it is not ok."""

    def agent(self, named: str | None = None) -> str:
        """Return the agent id of the caller: that of its key, or else of the name it gives."""

    @property
    def key_agent(self) -> str | None:
        """The agent id that the caller's key is bound to."""

    def for_agent(self, agent_id: str) -> "Native":
        """Return the tools for this caller as another agent. The profile answers for it that the caller may do that."""

    def token(self, run: str, unit: str, attempt: int) -> str:
        """Return the lease token of the caller for one attempt of a unit: the same whenever it is asked for."""

    def base(self, run: str, unit: str, attempt: int) -> str:
        """Return the token for a call that leases several units: that of each follows from it and the unit's name."""

    @property
    def directory(self) -> Path | None:
        """The directory of the project whose files the server reads; None if it does not read files."""

    @property
    def ttl_s(self) -> int:
        """Seconds of a lease: these clients send no heartbeats."""

    @property
    def project(self) -> str | None:
        """The project that the caller's key is bound to."""

    @property
    def is_local(self) -> bool:
        """True for the user of this machine, who needs no key and whose directories are on this disk."""


@record(frozen=True, slots=True, kw_only=True)
class ProfileTool:
    """One tool of a profile. A caller needs all of its `scopes`, before anything is done.

    A tool `for_planners` is not a tool of the original: it is listed only to callers that may plan.
    """

    name: str
    scopes: frozenset[Scope]
    arguments: type[BaseModel]
    run: Callable[[Native, Any], Awaitable[Json]]
    read_only: bool = False
    for_planners: bool = False

    @property
    def description(self) -> str:
        """The purpose of the tool."""
        return " ".join((self.arguments.__doc__ or "").split())


@record(frozen=True, slots=True, kw_only=True)
class ProfileResource:
    """One resource of a profile, at a fixed address."""

    uri: str
    name: str
    description: str
    scopes: frozenset[Scope]
    read: Callable[[Native], Awaitable[Json]]


@record(frozen=True, slots=True, kw_only=True)
class Profile:
    """A system's tools and resources. `failed` gives a failure the shape that its clients know: text, or an object.

    `advice` is what to do after a failure of which dcf says only what its own clients can do.
    """

    name: str
    server: str
    version: str
    instructions: str
    tools: Mapping[str, ProfileTool]
    failed: Callable[[Failure], str | dict[str, Json]]
    advice: str = ""
    resources: tuple[ProfileResource, ...] = ()
    shown: Callable[[Json], str] = dump

    def listed(self, scopes: Collection[Scope]) -> tuple[ProfileTool, ...]:
        """Return the tools that a caller with these scopes is shown."""
        return tuple(tool for tool in self.tools.values() if not tool.for_planners or tool.scopes <= frozenset(scopes))


AnyArguments = TypeVar("AnyArguments", bound=BaseModel)
Carried: TypeAlias = Callable[[Native, AnyArguments], Awaitable[Json]]


@record(frozen=True, slots=True)
class Toolbox:
    """Collects the tools of one profile, in the order in which they are written."""

    tools: dict[str, ProfileTool] = field(default_factory=dict)

    def tool(
        self,
        arguments: type[AnyArguments],
        *scopes: Scope,
        read_only: bool = False,
        for_planners: bool = False,
    ) -> Callable[[Carried[AnyArguments]], Carried[AnyArguments]]:
        """Register the function as the tool of its own name."""

        def register(function: Carried[AnyArguments]) -> Carried[AnyArguments]:
            name: str = getattr(function, "__name__", "")
            needed = frozenset({Scope.READ, *scopes})
            self.tools[name] = ProfileTool(
                name=name,
                scopes=needed,
                arguments=arguments,
                run=function,
                read_only=read_only,
                for_planners=for_planners,
            )
            return function

        return register
