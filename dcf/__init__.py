"""dcf: a choreography control plane for AI agents on Redis.

What programs use is here, and on one page in docs/python.md: `connect` and `connect_async` open a client, `task`
registers a function, `validate` and `simulate` work on a workflow alone. Each is imported on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dcf.version import __version__

if TYPE_CHECKING:
    from dcf.client import AsyncClient, Client, Serving, connect, connect_async
    from dcf.worker import TaskFailed, task
    from dcf.worker.context import TaskCancelled, TaskContext
    from dcf.workflows.simulation import simulate
    from dcf.workflows.validation import validate

__all__ = [
    "AsyncClient",
    "Client",
    "Serving",
    "TaskCancelled",
    "TaskContext",
    "TaskFailed",
    "__version__",
    "connect",
    "connect_async",
    "simulate",
    "task",
    "validate",
]

_PLACES = {
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
