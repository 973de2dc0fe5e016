"""The trace of a simulated run: which states were entered, exited, retried, caught or failed, in order. Pure."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final

from dcf.asl.machine import Machine
from dcf.asl.places import resolve
from dcf.asl.steps import (
    Broke,
    Caught,
    Ended,
    Entered,
    NeedItems,
    OpenScope,
    OpenTask,
    OpenWait,
    Passed,
    Paused,
    Retried,
    Step,
    TakenSignal,
)
from dcf.errors import InvalidArgument
from dcf.values.json_text import Json

MAX_EVENTS: Final = 1_000_000
"""Limit on the entries of a trace: nested Maps of silent states could otherwise fill the memory."""


@dataclass(slots=True, kw_only=True)
class Trace:
    """The events so far, and the names and types of their states; the engine paused before those in `paused`."""

    machine: Machine
    events: list[Json] = field(default_factory=list)
    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)

    def record(self, step: Step, visited: Container[str]) -> None:
        """Add the events of a step; a retry of a state in `visited` does not count as entering it again."""
        match step:
            case Passed():
                self._enter(step.path, step.input, visited)
                self._tell("exited", step.path, output=step.output)
            case OpenTask() | OpenWait() | OpenScope() | NeedItems() | Entered() | TakenSignal():
                self._enter(step.path, step.entry.raw, visited)
            case Paused():
                self.paused.add(step.path)
            case Ended():
                self._tell("exited", step.path, output=step.output)
            case Retried():
                self._tell("retried", step.path, error=step.error, cause=step.cause)
            case Caught():
                self._tell("caught", step.path, error=step.error, cause=step.cause)
                self._tell("exited", step.path, output=step.output)
            case Broke():
                self._tell("failed", step.path, error=step.error, cause=step.cause)
            case _:
                pass

    def name(self, path: str) -> str:
        """Return the name of a state."""
        return self._known(path)[0]

    def _enter(self, path: str, raw: Json, visited: Container[str]) -> None:
        if path not in visited or path in self.paused:
            self.paused.discard(path)
            self._tell("entered", path, input=raw)

    def _tell(self, event: str, path: str, **data: Json) -> None:
        if len(self.events) >= MAX_EVENTS:
            raise InvalidArgument(f"The run continues after {MAX_EVENTS} entries of its trace.")
        name, kind = self._known(path)
        self.events.append({"event": event, "state": name, "path": path, "type": kind, **data})

    def _known(self, path: str) -> tuple[str, str]:
        """Return the name and the type of a state."""
        known = self.known.get(path)
        if known is None:
            place = resolve(self.machine, path)
            known = self.known[path] = (place.name, place.state.kind())
        return known
