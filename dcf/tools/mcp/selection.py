"""Selects the tools that a server offers: by toolset (what tools are about) and by profile (who calls them).

A model reads every tool that it is shown, so a worker is not shown a planner's tools. Scopes, not profiles, decide what
a caller may do: a tool that is not on its list can be called. Each tool declares its own toolset and profiles.
"""

from collections.abc import Iterable, Mapping
from typing import Final, get_args

from dcf.core.access.model import Caller, Scope
from dcf.errors import InvalidArgument
from dcf.features.agent_context import verbs as contexts  # noqa: F401 - importing a module registers its tools
from dcf.features.artifacts import verbs as artifacts  # noqa: F401 - importing a module registers its tools
from dcf.features.catalogue import verbs as catalogue  # noqa: F401 - importing a module registers its tools
from dcf.features.diagnosis import verbs as diagnosis  # noqa: F401 - importing a module registers its tools
from dcf.features.documents import verbs as redis_json  # noqa: F401 - importing a module registers its tools
from dcf.features.external import callback_verbs as callbacks  # noqa: F401 - importing a module registers its tools
from dcf.features.external import verbs as signals  # noqa: F401 - registers its tools
from dcf.features.findings import promotion_verbs as promoting  # noqa: F401 - registers its tools
from dcf.features.findings import verbs as knowledge  # noqa: F401 - importing a module registers its tools
from dcf.features.gates import verbs as gates  # noqa: F401 - importing a module registers its tools
from dcf.features.growing import verbs as growing  # noqa: F401 - importing a module registers its tools
from dcf.features.health import verbs as health  # noqa: F401 - importing a module registers its tools
from dcf.features.journal import verbs as journal  # noqa: F401 - importing a module registers its tools
from dcf.features.people import verbs as people  # noqa: F401 - importing a module registers its tools
from dcf.features.projects import verbs as projects  # noqa: F401 - importing a module registers its tools
from dcf.features.questions import correction_verbs as corrections  # noqa: F401 - importing a module registers its tools
from dcf.features.questions import verbs as talk  # noqa: F401 - registers its tools
from dcf.features.retention import verbs as retention  # noqa: F401 - importing a module registers its tools
from dcf.features.schedules import verbs as schedules  # noqa: F401 - importing a module registers its tools
from dcf.features.search import verbs as searching  # noqa: F401 - importing a module registers its tools
from dcf.features.task_log import verbs as task_log  # noqa: F401 - importing a module registers its tools
from dcf.features.usage import verbs as usage  # noqa: F401 - importing a module registers its tools
from dcf.features.webhooks import verbs as registering  # noqa: F401 - importing a module registers its tools
from dcf.features.work import verbs as work_finding  # noqa: F401 - importing a module registers its tools
from dcf.tools.verbs import (  # noqa: F401 - importing a module registers its tools
    agents,
    assignment,
    authoring,
    awaiting,
    completion,
    execution,
    files,
    language,
    leases,
    lifecycle,
    notification,
    planning,
    skills,
    starting,
    validation,
)
from dcf.tools.verbs import runs as catalog  # noqa: F401 - as above
from dcf.values.profile_names import SYSTEM_PROFILES
from dcf.verbs.registry import TOOLS, Profile, Toolset, ToolSpec, is_served

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

AUTO: Final = "auto"
"""The setting that leaves the profile to the request and to the caller's scopes."""

HEADER: Final = "x-dcf-profile"
"""The HTTP header by which a client chooses a profile: for a server whose tools several kinds of agents share."""

_SUGGESTED: Final[Mapping[Scope, str]] = {
    Scope.ADMIN: _ALL,
    Scope.OPERATE: "operator",
    Scope.PLAN: "planner",
    Scope.WORK: "worker",
    Scope.ANSWER: "person",
}
"""Which profile a scope suggests; of several the first."""


def listed_for(caller: Caller, profile: str, wanted: str | None = None) -> frozenset[str] | None:
    """Return the names of the tools that this caller is shown, None for all that it may call.

    Without a profile of the server the one counts that the request wants, if it exists, then the caller's scopes: who
    may answer too is shown a person's tools beside. A key that may only read is shown what an operator reads, the local
    user everything.
    """
    if profile != AUTO:
        return PROFILES[profile]
    if wanted is not None and wanted in PROFILES:
        return PROFILES[wanted]
    if caller.local:
        return None
    shown = PROFILES[next((name for scope, name in _SUGGESTED.items() if scope in caller.scopes), "operator")]
    asked_too = PROFILES["person"] if Scope.ANSWER in caller.scopes else None
    return shown if shown is None or asked_too is None else shown | asked_too


def select_tools(toolsets: Iterable[str], *, read_only: bool, profile: str = _ALL) -> list[ToolSpec]:
    """List tools of these toolsets (of all if none is named) in a profile; `read_only` leaves out those that write."""
    wanted = set(toolsets)
    unknown = wanted.difference(_TOOLSETS)
    if unknown:
        raise InvalidArgument(
            f"There is no toolset '{min(unknown)[:40]}'.", f"Toolsets are: {', '.join(_TOOLSETS)} (DCF_TOOLSETS)."
        )
    check_profile(profile)
    names = PROFILES.get(profile)
    chosen = [
        spec
        for spec in TOOLS.values()
        if is_served(spec, wanted) and (spec.read_only or not read_only) and (names is None or spec.name in names)
    ]
    return sorted(chosen, key=_place)


def check_profile(profile: str) -> None:
    """Raise for a profile that does not exist."""
    if profile not in {AUTO, *PROFILES, *SYSTEM_PROFILES}:
        told = ", ".join((AUTO, *PROFILES, *SYSTEM_PROFILES))
        raise InvalidArgument(f"There is no profile '{profile[:40]}'.", f"Profiles are: {told} (DCF_PROFILE).")


def _place(spec: ToolSpec) -> tuple[int, str, int]:
    """Return the sort key: toolset, then position in the module, independent of the order of imports."""
    return _TOOLSETS.index(spec.toolset), spec.run.__module__, spec.run.__code__.co_firstlineno
