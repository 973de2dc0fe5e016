"""Selects the tools that a server offers: by toolset (what tools are about) and by profile (who calls them).

A model reads every tool that it is offered, so a worker is not offered a planner's tools. Scopes, not profiles,
decide what a caller may do. Each tool declares its own toolset and profiles.
"""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from dcf.errors import InvalidArgument
from dcf.tools import (  # noqa: F401 - importing a module registers its tools
    agents,
    assignment,
    authoring,
    awaiting,
    callbacks,
    catalog,
    completion,
    diagnosis,
    execution,
    files,
    health,
    leases,
    lifecycle,
    notification,
    people,
    planning,
    redis_json,
    registering,
    retention,
    schedules,
    signals,
    skills,
    starting,
    task_log,
    validation,
)
from dcf.tools.registry import TOOLS, Profile, Toolset, ToolSpec

_TOOLSETS: Final[tuple[Toolset, ...]] = get_args(Toolset)
_ALL: Final = "all"

PROFILES: Final[Mapping[str, frozenset[str] | None]] = {
    **{
        profile: frozenset(name for name, spec in TOOLS.items() if profile in spec.profiles)
        for profile in get_args(Profile)
    },
    _ALL: None,
}
"""The names of the tools in each profile; None means all tools."""


def select_tools(toolsets: Iterable[str], *, read_only: bool, profile: str = _ALL) -> list[ToolSpec]:
    """List tools of these toolsets (of all if none is named) in a profile; `read_only` leaves out those that write."""
    wanted = set(toolsets)
    unknown = wanted.difference(_TOOLSETS)
    if unknown:
        raise InvalidArgument(
            f"There is no toolset '{min(unknown)[:40]}'.", f"Toolsets are: {', '.join(_TOOLSETS)} (DCF_TOOLSETS)."
        )
    if profile not in PROFILES:
        raise InvalidArgument(
            f"There is no profile '{profile[:40]}'.", f"Profiles are: {', '.join(PROFILES)} (DCF_PROFILE)."
        )
    names = PROFILES[profile]
    chosen = [
        spec
        for spec in TOOLS.values()
        if (not wanted or spec.toolset in wanted)
        and (spec.read_only or not read_only)
        and (names is None or spec.name in names)
    ]
    return sorted(chosen, key=_place)


def _place(spec: ToolSpec) -> tuple[int, str, int]:
    """Return the sort key: toolset, then position in the module, independent of the order of imports."""
    return _TOOLSETS.index(spec.toolset), spec.run.__module__, spec.run.__code__.co_firstlineno
