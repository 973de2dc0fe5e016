"""Which tools are served together: toolsets, by what tools are about, and profiles, by who calls them.

A model reads every tool that it is offered, so a worker is not offered a planner's. This chooses what a server offers;
what a caller may do is decided by scopes. Which toolset and which profiles a tool is in stands at the tool.
"""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from dcf.errors import InvalidArgument
from dcf.tools import (  # noqa: F401 - importing a module registers its tools
    agents,
    assignments,
    authoring,
    execution,
    files,
    leases,
    notification,
    planning,
    redis_json,
    skills,
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
"""The tools of a profile by name; None: every one there is."""


def select_tools(toolsets: Iterable[str], *, read_only: bool, profile: str = _ALL) -> list[ToolSpec]:
    """List the tools of these toolsets (all, when none is named) in a profile; read-only wins over everything."""
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
    """Order tools by toolset, then as they stand in their modules, whichever was imported first."""
    return _TOOLSETS.index(spec.toolset), spec.run.__module__, spec.run.__code__.co_firstlineno
