"""dcf: a choreography control plane for AI agents on Redis.

This module has the names that programs use, and docs/reference/python.md lists them. `flow` and `task` make a workflow
of functions (docs/guides/flows.md), `connect` and `connect_async` open a client, `validate` and `simulate` work on a
workflow alone. Each is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dcf.version import __version__

if TYPE_CHECKING:
    from dcf.client import AsyncClient, Client, Serving, connect, connect_async
    from dcf.steps.vocabulary import (
        Answer,
        GateFailed,
        NotRunning,
        Rejected,
        Retry,
        StateTimeout,
        StepFailed,
        agent,
        child,
        each,
        flow,
        gate,
        human,
        jsonata,
        parallel,
        run_id,
        signal,
        sleep,
        sleep_until,
        token,
        use,
    )
    from dcf.worker import TaskFailed, task
    from dcf.worker.context import TaskCancelled, TaskContext
    from dcf.workflows.simulation import simulate
    from dcf.workflows.validation import validate

__all__ = [
    "Answer",
    "AsyncClient",
    "Client",
    "GateFailed",
    "NotRunning",
    "Rejected",
    "Retry",
    "Serving",
    "StateTimeout",
    "StepFailed",
    "TaskCancelled",
    "TaskContext",
    "TaskFailed",
    "__version__",
    "agent",
    "child",
    "connect",
    "connect_async",
    "each",
    "flow",
    "gate",
    "human",
    "jsonata",
    "parallel",
    "run_id",
    "signal",
    "simulate",
    "sleep",
    "sleep_until",
    "task",
    "token",
    "use",
    "validate",
]

_PLACES = {
    **dict.fromkeys(
        (
            "Answer",
            "GateFailed",
            "NotRunning",
            "Rejected",
            "Retry",
            "StateTimeout",
            "StepFailed",
            "agent",
            "child",
            "each",
            "flow",
            "gate",
            "human",
            "jsonata",
            "parallel",
            "run_id",
            "signal",
            "sleep",
            "sleep_until",
            "token",
            "use",
        ),
        "dcf.steps.vocabulary",
    ),
    "AsyncClient": "dcf.client",
    "Client": "dcf.client",
    "Serving": "dcf.client",
    "TaskCancelled": "dcf.worker.context",
    "TaskContext": "dcf.worker.context",
    "TaskFailed": "dcf.worker",
    "connect": "dcf.client",
    "connect_async": "dcf.client",
    "simulate": "dcf.workflows.simulation",
    "task": "dcf.worker",
    "validate": "dcf.workflows.validation",
}
"""The module of each name, which is imported when the name is first asked for: nobody needs all of them."""


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'dcf' has no attribute '{name}'")
    place = import_module(_PLACES[name])  # nosemgrep: nothing-of-a-caller-is-executed - only the modules named above
    return getattr(place, name)


def __dir__() -> list[str]:
    """Name what can be asked for, for editors and shells."""
    return sorted({*globals(), *_PLACES})
