"""The profiles: which tools a caller is shown. Scopes, not profiles, decide what a caller may do.

A model reads every tool that it is shown, so a worker is not shown a planner's tools: a tool that is not on its list
can be called. Each tool declares its own profiles.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, get_args

from dcf.core.access.model import Caller, Scope
from dcf.verbs.registry import TOOLS, Profile

ALL: Final = "all"
"""The profile with every tool."""

AUTO: Final = "auto"
"""The setting that leaves the profile to the request and to the caller's scopes."""

HEADER: Final = "x-dcf-profile"
"""The HTTP header by which a client chooses a profile: for a server whose tools several kinds of agents share."""

_SUGGESTED: Final[Mapping[Scope, str]] = {
    Scope.ADMIN: ALL,
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
        return profiles()[profile]
    if wanted is not None and wanted in profiles():
        return profiles()[wanted]
    if caller.local:
        return None
    shown = profiles()[next((name for scope, name in _SUGGESTED.items() if scope in caller.scopes), "operator")]
    asked_too = profiles()["person"] if Scope.ANSWER in caller.scopes else None
    return shown if shown is None or asked_too is None else shown | asked_too


@cache
def profiles() -> Mapping[str, frozenset[str] | None]:
    """Return the names of the tools in each profile; None means all tools."""
    named = {
        profile: frozenset(name for name, spec in TOOLS.items() if profile in spec.profiles)
        for profile in get_args(Profile)
    }
    return {**named, ALL: None}
