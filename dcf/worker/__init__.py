"""Python functions as agents: which there are, one call of them, their leases, and the loop that serves them.

Programs import its public names from here. Each is imported on first use: an agent's child process needs the errors of
functions only, and those with the standard library alone.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcf.worker.calls import Work
    from dcf.worker.context import TaskCancelled, TaskContext
    from dcf.worker.failure import AccountLimited, TaskFailed
    from dcf.worker.functions import TaskFunction
    from dcf.worker.lease_calls import ToolCaller
    from dcf.worker.registry import FUNCTIONS, task
    from dcf.worker.worker import Granted, Worker

__all__ = [
    "FUNCTIONS",
    "AccountLimited",
    "Granted",
    "TaskCancelled",
    "TaskContext",
    "TaskFailed",
    "TaskFunction",
    "ToolCaller",
    "Work",
    "Worker",
    "task",
]

_NAMES = {
    "dcf.worker.calls": "Work",
    "dcf.worker.context": "TaskCancelled TaskContext",
    "dcf.worker.failure": "AccountLimited TaskFailed",
    "dcf.worker.functions": "TaskFunction",
    "dcf.worker.lease_calls": "ToolCaller",
    "dcf.worker.registry": "FUNCTIONS task",
    "dcf.worker.worker": "Granted Worker",
}
_PLACES = {name: place for place, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import what is asked for."""
    if name not in _PLACES:
        raise AttributeError(f"module 'dcf.worker' has no attribute '{name}'")
    place = import_module(_PLACES[name])  # nosemgrep: nothing-of-a-caller-is-executed - only the modules above
    return getattr(place, name)


def __dir__() -> list[str]:
    """Name what programs use, for editors and shells."""
    return sorted(__all__)
