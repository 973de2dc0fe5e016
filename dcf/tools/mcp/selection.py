"""Selects the tools that a server offers: by toolset (what tools are about) and by profile (who calls them)."""

import inspect
from collections.abc import Iterable
from typing import Final, get_args

from dcf.errors import InvalidArgument
from dcf.features.installed import verb_modules
from dcf.tools.verbs import (
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
    runs,
    skills,
    starting,
    validation,
)
from dcf.values.profile_names import SYSTEM_PROFILES
from dcf.verbs.listed_tools import ALL, AUTO, profiles
from dcf.verbs.merged.merged_tools import merged_of
from dcf.verbs.merged.naming import RETIRED
from dcf.verbs.registry import TOOLS, Toolset, ToolSpec, is_served

_TOOLSETS: Final[tuple[Toolset, ...]] = get_args(Toolset)

_ENGINE: Final = (
    language,
    planning,
    validation,
    completion,
    execution,
    leases,
    awaiting,
    notification,
    agents,
    assignment,
    skills,
    authoring,
    files,
    runs,
    lifecycle,
    starting,
)
"""The modules of the engine's own verbs."""

MODULES: Final = (*(module.__name__ for module in _ENGINE), *verb_modules())
TOOLS.complete(MODULES)

_ORDER: Final = (
    "tools.verbs.language",
    "tools.verbs.planning",
    "tools.verbs.validation",
    "tools.verbs.completion",
    "features.questions.correction_verbs",
    "tools.verbs.execution",
    "tools.verbs.leases",
    "features.external.callback_verbs",
    "features.people.verbs",
    "features.external.verbs",
    "features.questions.verbs",
    "features.task_log.verbs",
    "features.work.verbs",
    "tools.verbs.awaiting",
    "tools.verbs.notification",
    "tools.verbs.agents",
    "tools.verbs.assignment",
    "features.webhooks.verbs",
    "tools.verbs.skills",
    "tools.verbs.authoring",
    "features.documents.verbs",
    "tools.verbs.files",
    "tools.verbs.runs",
    "features.diagnosis.verbs",
    "features.health.verbs",
    "tools.verbs.lifecycle",
    "features.retention.verbs",
    "tools.verbs.starting",
    "features.usage.verbs",
    "features.schedules.verbs",
    "features.growing.verbs",
    "features.gates.verbs",
    "features.gates.override_verbs",
    "features.agent_context.verbs",
    "features.journal.verbs",
    "features.artifacts.verbs",
    "features.catalogue.verbs",
    "features.findings.verbs",
    "features.findings.promotion_verbs",
    "features.search.verbs",
    "features.projects.verbs",
)
"""The modules of verbs in the order in which clients see the tools of one toolset."""

_PLACES: Final = {module: at for at, module in enumerate(_ORDER)}

PROFILES: Final = profiles()
"""The names of the tools in each profile."""


def select_tools(toolsets: Iterable[str], *, read_only: bool, profile: str = ALL) -> list[ToolSpec]:
    """List tools of these toolsets (of all if none is named) in a profile; `read_only` leaves out those that write."""
    check_profile(profile)
    names = PROFILES.get(profile, PROFILES[ALL])
    return [spec for spec in callable_tools(toolsets, read_only=read_only) if spec.name in names]


def callable_tools(toolsets: Iterable[str], *, read_only: bool) -> list[ToolSpec]:
    """List what can be called by name: tools on lists, verbs that only programs call, and those that are merged."""
    chosen = set(toolsets)
    unknown = chosen.difference(_TOOLSETS)
    if unknown:
        raise InvalidArgument(
            f"There is no toolset '{min(unknown)[:40]}'.", f"Toolsets are: {', '.join(_TOOLSETS)} (DCF_TOOLSETS)."
        )
    verbs = {
        spec.name: spec for spec in TOOLS.values() if is_served(spec, chosen) and (spec.read_only or not read_only)
    }
    merged = {spec.name: spec for spec in merged_of(verbs.values())}
    return sorted({**verbs, **merged}.values(), key=_place)


def documented_tools() -> list[ToolSpec]:
    """List every tool but those that have another name now."""
    return [spec for spec in callable_tools((), read_only=False) if spec.name not in RETIRED]


def check_profile(profile: str) -> None:
    """Raise for a profile that does not exist."""
    if profile not in {AUTO, *PROFILES, *SYSTEM_PROFILES}:
        profiles = ", ".join((AUTO, *PROFILES, *SYSTEM_PROFILES))
        raise InvalidArgument(f"There is no profile '{profile[:40]}'.", f"Profiles are: {profiles} (DCF_PROFILE).")


def _place(spec: ToolSpec) -> tuple[int, int, int]:
    """Return the sort key: toolset, then position in `_ORDER`, then in the module."""
    at = _PLACES.get(spec.run.__module__.removeprefix("dcf."), len(_PLACES))  # tools of other packages come last
    return _TOOLSETS.index(spec.toolset), at, inspect.unwrap(spec.run).__code__.co_firstlineno
