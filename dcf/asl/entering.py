"""Works out what is fixed when a state is entered: the data that it may read, and the input of a Task's worker."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from dcf.asl.machine import Place, Task, Workable
from dcf.asl.resources import Kind
from dcf.asl.steps import Entry, OpenTask
from dcf.asl.surroundings import Chance, Clock, Context, RunContext, Spending, Surroundings
from dcf.asl.tasks.extensions import LANGUAGE
from dcf.asl.tasks.signals import signal_name
from dcf.asl.waiting import timeouts
from dcf.values.json_text import Json
from dcf.values.records import record

STAND_IN: Final = "no-task-token"
"""Stands for a task token where no run is behind a machine: in a simulation."""


@record(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A state that is about to be entered."""

    place: Place
    source: str | None
    entry: Entry


def surroundings(
    here: Place, entry: Entry, outside: Mapping[str, Json], clock: Clock, turn: int, spending: Spending
) -> Surroundings:
    """Return what a state may read besides its input; `turn` numbers the evaluations within one step."""
    luck = f"{clock.seed}\n{here.path}\n{turn}"
    context = Context(partial(_context, here, entry, outside, clock.seed))
    return Surroundings(
        context=context,
        variables=entry.variables,
        chance=Chance(luck),
        millis=clock.micros // 1_000,
        spending=spending,
        may_risk=not isinstance(outside, RunContext) or outside.may_risk,
    )


def opened_task(here: Place, source: str | None, entry: Entry, around: Surroundings) -> OpenTask:
    """Work out a Task's input for its worker and its timeouts; raise StateError when a value cannot be worked out."""
    state = here.state
    assert isinstance(state, Task), "the caller looked"
    timeout, heartbeat = timeouts(state, entry.raw, around)
    effective, served = state.flow.effective(entry.raw, around), state.served_by
    return OpenTask(
        path=here.path,
        source=source,
        entry=entry,
        effective=effective,
        timeout_s=timeout,
        heartbeat_s=heartbeat,
        gets_token=served.gets_token,
        waits_as=None if served.is_worked else served.waits_as,
        asks=_read_input(served.kind, effective),
    )


def _read_input(kind: Kind, effective: Json) -> object:
    """Return the input as the capability reads it that offers this kind; raise StateError for one with flaws."""
    if kind == "signal":
        signal_name(effective)
    return LANGUAGE.resources[kind].entered(effective) if kind in LANGUAGE.resources else None


def _context(here: Place, entry: Entry, outside: Mapping[str, Json], visit: str) -> dict[str, Json]:
    about: dict[str, Json] = {"Name": here.name, "EnteredTime": entry.entered_at}
    context: dict[str, Json] = {**outside, "State": about}
    if isinstance(here.state, Workable):
        about["RetryCount"] = sum(entry.retries)
    if entry.item is not None:
        context["Map"] = {"Item": {"Index": entry.item[0], "Value": entry.item[1]}}
    if isinstance(here.state, Task) and here.state.served_by.gets_token and "Task" not in context:
        token = outside.task_token(here.path, visit) if isinstance(outside, RunContext) else None
        context["Task"] = {"Token": STAND_IN if token is None else token}
    return context
