"""Who makes the call that is being answered, as a value that tool functions read. Nothing else is passed by context.

Set around each call by `envelope`, and read by tools through `current_caller`; where nobody set it, nothing is allowed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dcf.application import Application
from dcf.core.access import NOBODY, Caller, Scope
from dcf.errors import Forbidden

_CALLER: ContextVar[Caller] = ContextVar("dcf_caller", default=NOBODY)


def current_caller() -> Caller:
    """Return who makes this call."""
    return _CALLER.get()


@contextmanager
def calling(caller: Caller) -> Iterator[None]:
    """Answer a call of this caller while the context lasts."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def require(scope: Scope, what: str) -> None:
    """Refuse a part of a call that needs another scope than its tool."""
    caller = current_caller()
    if scope in caller.scopes:
        return
    if caller.local:
        raise Forbidden(f"{what} is an operator's right, which this server does not grant.")
    raise Forbidden(f"{what} needs the scope '{scope}', which this key does not have.", scope_hint(scope))


def scope_hint(scope: Scope) -> str:
    """Say how to get what a scope grants."""
    return f"Use a key with the scope '{scope}'; an operator makes one with `dcf keys create --scope {scope}`."


def require_planner(app: Application, workflow_id: str) -> None:
    """Refuse unless the run is the caller's: a key bound to an agent plans the runs of that planner only."""
    agent_id = _bound_to()
    if agent_id is not None and app.runs.read(workflow_id).planner_agent_id != agent_id:
        raise Forbidden(
            f"Run '{workflow_id}' has another planner than '{agent_id}', which this key is bound to.",
            "Use the key of the run's planner (planner_agent_id in meta), or one with the scope 'operate'.",
        )


def require_part(app: Application, workflow_id: str, state: str) -> None:
    """Refuse unless the caller has a part in the state: a key bound to an agent wakes nobody in runs of others."""
    agent_id = _bound_to()
    if agent_id is None:
        return
    found = app.runs.read(workflow_id, (state,))
    if not found.meta.may_take(state, agent_id) and found.planner_agent_id != agent_id:
        raise Forbidden(
            f"Agent '{agent_id}', which this key is bound to, has no part in that state of run '{workflow_id}'.",
            "Leave it to those who have: what is owed is delivered by itself.",
        )


def _bound_to() -> str | None:
    """Return the agent whose own affairs the caller is confined to; an operator is not."""
    caller = current_caller()
    return None if Scope.OPERATE in caller.scopes else caller.agent_id
