"""The profiles: which tools a caller is shown. Scopes, not profiles, decide what a caller may do.

A model reads every tool that it is shown, so a worker is not shown a planner's tools: a tool that is not on its list
can be called. Each verb and each merged tool declares its own profiles; what a merged tool stands for is on no list.
"""

from collections.abc import Mapping
from functools import cache
from typing import Final, get_args

from dcf.core.access.model import Caller, Scope
from dcf.verbs.description.table import TABLE
from dcf.verbs.merged.merges import MERGES
from dcf.verbs.merged.naming import RETIRED
from dcf.verbs.registry import Profile

ALL: Final = "all"
"""The profile with every tool that is on a list."""

_ASSISTANT: Final = "assistant"
"""The profile of the local user, whose one model plans and works: what workers and planners see, and some more."""

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


def listed_for(caller: Caller, profile: str, header: str | None = None) -> frozenset[str]:
    """Return the names of the tools that this caller is shown, of those that it may call.

    Without a profile of the server the profile of the request counts, if it exists, then the caller's scopes. A caller
    that may answer too sees a person's tools as well. A key that may only read sees what an operator reads.
    """
    if profile != AUTO:
        return profiles()[profile]
    if header is not None and header in profiles():
        return profiles()[header]
    if caller.local:
        return profiles()[_ASSISTANT]
    shown = profiles()[next((name for scope, name in _SUGGESTED.items() if scope in caller.scopes), "operator")]
    return shown | profiles()["person"] if Scope.ANSWER in caller.scopes else shown


@cache
def profiles() -> Mapping[str, frozenset[str]]:
    """Return the names of the tools in each profile."""
    lists = {name: row.lists for name, row in TABLE.items() if name not in RETIRED and not row.for_programs}
    lists |= {merge.name: merge.lists for merge in MERGES}
    named = {
        profile: frozenset(name for name, shown in lists.items() if profile in shown) for profile in get_args(Profile)
    }
    named[_ASSISTANT] |= named["worker"] | named["planner"]
    return {**named, ALL: frozenset(lists)}
