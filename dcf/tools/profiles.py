"""Which tools are served together: toolsets, by what tools are about, and profiles, by who calls them.

A model reads every tool that it is offered, so a worker is not offered a planner's. This chooses what a server offers;
what a caller may do is decided by scopes.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from dcf.errors import InvalidArgument
from dcf.tools import (
    agents,
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
from dcf.tools.registry import TOOLS, ToolSpec

_TOOLSETS: Final = {
    "planning": (planning, validation),
    "execution": (execution, leases),
    "notification": (notification,),
    "agents": (agents,),
    "skills": (skills,),
    "authoring": (authoring,),
    "redis_json": (redis_json,),
    "files": (files,),
}
"""Importing a module registers its tools; the order of toolsets is the order in which clients see them."""

_RANKS: Final = {module.__name__: rank for rank, module in enumerate(sum(_TOOLSETS.values(), ()))}

_WORKER: Final = frozenset(
    {
        "acquire_state_lease",
        "await_workflow_event",
        "claim_ready_state",
        "get_my_assignment",
        "load_skill",
        "notify_next_worker_agent",
        "release_state_lease",
        "renew_state_lease",
        "unload_skill",
        "update_workflow_control_plane",
    }
)
_PLANNER: Final = frozenset(
    {
        "await_workflow_event",
        "create_worker_agents",
        "create_workflow_control_plane",
        "delete_agent",
        "finalize_workflow",
        "get_skillset",
        "get_skillset_from_catalog",
        "json_read",
        "json_set",
        "notify_if_ready",
        "notify_next_worker_agent",
        "read_file",
        "read_workflow_control_plane",
        "remove_tool_return_limits",
        "resolve_agent_name_to_id",
        "validate_skill_manifest",
        "validate_workflow",
        "write_file",
    }
)
_OPERATOR: Final = frozenset(
    {
        "delete_agent",
        "finalize_workflow",
        "get_my_assignment",
        "json_append",
        "json_copy",
        "json_create",
        "json_delete",
        "json_ensure",
        "json_increment",
        "json_merge",
        "json_move",
        "json_read",
        "json_set",
        "list_directory",
        "notify_if_ready",
        "notify_next_worker_agent",
        "read_file",
        "read_workflow_control_plane",
        "release_state_lease",
        "remove_tool_return_limits",
        "resolve_agent_name_to_id",
        "unload_skill",
        "update_workflow_control_plane",
        "validate_workflow",
    }
)
PROFILES: Final[Mapping[str, frozenset[str] | None]] = {
    "worker": _WORKER,
    "planner": _PLANNER,
    "operator": _OPERATOR,
    "all": None,
}
"""The tools of a profile by name; None: every one there is."""


def select_tools(toolsets: Iterable[str], *, read_only: bool, profile: str = "all") -> list[ToolSpec]:
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
    return sorted(chosen, key=lambda spec: _RANKS.get(spec.run.__module__, len(_RANKS)))
