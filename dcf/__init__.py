"""dcf: a choreography control plane for AI agents on Redis.

This module has the names that programs use; docs/reference/client.md lists them. `flow` and `task` make a workflow of
functions (docs/guides/flows.md), `connect` and `connect_async` open a client, `validate` and `simulate` work on a
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

_NAMES = {
    "dcf.client": "AsyncClient Client Serving connect connect_async",
    "dcf.steps.vocabulary": (
        "Answer GateFailed NotRunning Rejected Retry StateTimeout StepFailed agent child each flow gate human jsonata"
        " parallel run_id signal sleep sleep_until token use"
    ),
    "dcf.worker": "TaskFailed task",
    "dcf.worker.context": "TaskCancelled TaskContext",
    "dcf.workflows.simulation": "simulate",
    "dcf.workflows.validation": "validate",
}
_PLACES = {name: place for place, names in _NAMES.items() for name in names.split()}
"""The module of each name, which is imported at the first use of the name: no program needs all of them."""


def __getattr__(name: str) -> Any:
    """Import the module of this name, and return the object."""
    if name not in _PLACES:
        raise AttributeError(f"module 'dcf' has no attribute '{name}'")
    place = import_module(_PLACES[name])  # nosemgrep: nothing-of-a-caller-is-executed - only the modules named above
    return getattr(place, name)


def __dir__() -> list[str]:
    """Name what programs use, for editors and shells."""
    return sorted(__all__)
