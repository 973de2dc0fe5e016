"""The caller of the current tool call, in a context variable. Nothing else is passed that way.

`envelope` sets it around each call; tools read it with `current_caller`. Without one, nothing is allowed.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from dcf.core.access.model import NOBODY, Caller, Scope
from dcf.errors import Forbidden

if TYPE_CHECKING:
    from dcf.application.application import Application

_CALLER: ContextVar[Caller] = ContextVar("dcf_caller", default=NOBODY)


def current_caller() -> Caller:
    """Return the caller of the current call."""
    return _CALLER.get()


def calling_key() -> str | None:
    """Return what names a key that is bound to an agent; None for other callers, who may be several processes."""
    caller = current_caller()
    return None if caller.agent_id is None else caller.name


@contextmanager
def calling(caller: Caller) -> Iterator[None]:
    """Make this the current caller within the context."""
    token = _CALLER.set(caller)
    try:
        yield
    finally:
        _CALLER.reset(token)


def require(scope: Scope, action: str) -> None:
    """Raise Forbidden unless the caller has a scope that this part of a call needs beyond the tool's own."""
    caller = current_caller()
    if scope in caller.scopes:
        return
    if caller.local:
        raise Forbidden(f"{action} is an operator's right, which this server does not grant.")
    raise Forbidden(f"{action} needs the scope '{scope}', which this key does not have.", scope_hint(scope))


def scope_hint(scope: Scope) -> str:
    """Return how to get a key with a scope."""
    return f"Use a key with the scope '{scope}'; an operator makes it: `dcf keys add --scope {scope} --agent-id ID`."


def groups_of_answerer(group: str | None) -> frozenset[str]:
    """Return the groups that the caller answers for: those of its key, or the named group if the key is not bound.

    Raise Forbidden if its key is bound to a person who does not answer for the named group.
    """
    caller = current_caller()
    if caller.agent_id is None:
        return frozenset({group} if group else ())
    if group is not None and group not in caller.groups:
        raise Forbidden(
            f"The key of '{caller.agent_id}' does not answer for the group '{group}'.",
            "An operator makes a key that does: `dcf keys add --scope answer --agent-id ID --group NAME`.",
        )
    return caller.groups


def require_planner(app: "Application", workflow_id: str) -> None:
    """Raise Forbidden unless the caller may plan the run: a key bound to an agent needs to be its planner's."""
    agent_id = bound_to()
    if agent_id is not None and app.runs.read(workflow_id).planner_agent_id != agent_id:
        raise Forbidden(
            f"Run '{workflow_id}' has another planner than '{agent_id}', which this key is bound to.",
            "Use the key of the run's planner (`planner_agent_id` in meta), or one with the scope 'operate'.",
        )


def require_part(app: "Application", workflow_id: str, state: str) -> None:
    """Raise Forbidden for a key bound to an agent that may not take the state and is not the run's planner."""
    agent_id = bound_to()
    if agent_id is None:
        return
    run = app.runs.read(workflow_id, (state,))
    if not run.meta.may_take(state, agent_id) and run.planner_agent_id != agent_id:
        raise Forbidden(
            f"Agent '{agent_id}', which this key is bound to, has no part in that state of run '{workflow_id}'.",
            "Leave it to the agents of that state: pending notifications are delivered automatically.",
        )


def bound_to() -> str | None:
    """Return the agent that the caller is restricted to; None for an operator."""
    caller = current_caller()
    return None if Scope.OPERATE in caller.scopes else caller.agent_id


def whose_requests() -> str:
    """Return whose request ids these are: an agent's in a project, whatever key it has, or a key's."""
    caller = current_caller()
    name = caller.agent_id or caller.name
    return name if caller.project is None else f"{name} in {caller.project}"
