"""Which run and state this thread or task works on, for the lines that it logs and the spans that it begins.

`is_watched` is False unless this process takes part in traces or writes its log as JSON; one look at it is all that a
step costs then.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from dcf.telemetry import tracing
from dcf.telemetry.ids import trace_id_of

is_watched = False

_NAMES: Final = {"workflow_id": "run", "state": "state", "agent_id": "agent", "owner_agent_id": "agent"}
_about: ContextVar[Mapping[str, str]] = ContextVar("dcf_surroundings", default={})  # noqa: B039 - never changed


def watch() -> None:
    """Keep from now on what each thread works on."""
    global is_watched  # noqa: PLW0603 - it is the process's
    is_watched = True


@contextmanager
def call(arguments: Mapping[str, object]) -> Iterator[None]:
    """Be the context of a call with these arguments: which run, state and agent they name."""
    named = {_NAMES[name]: value for name, value in arguments.items() if name in _NAMES and isinstance(value, str)}
    token = _about.set(named)
    try:
        yield
    finally:
        _about.reset(token)


@contextmanager
def work(workflow_id: str, state: str, epoch: int, agent_id: str) -> Iterator[None]:
    """Be the context of a call of a function for a state that an agent holds."""
    with call({"workflow_id": workflow_id, "state": state, "agent_id": agent_id}):
        if tracing.current is None:
            yield
            return
        with tracing.current.live.attempt(workflow_id, state, epoch):
            yield


def told() -> dict[str, str]:
    """Return what a line that is logged here is about: run, state, agent, and the id of the run's trace."""
    surroundings = dict(_about.get())
    return (
        surroundings | {"trace_id": f"{trace_id_of(surroundings['run']):032x}"}
        if "run" in surroundings
        else surroundings
    )
