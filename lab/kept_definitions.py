"""Definitions that a power loss takes back, while servers remember that they kept them."""

import random
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from dcf.errors import ToolCallFailed, UnknownRun, UnknownSchedule
from lab.case_rules import what_is_started_has_its_definition
from lab.crews import LAB
from lab.extras import Calls, Errands
from lab.http_verbs import connected
from lab.process import patiently

_LOSS_S: Final = 15.0
_TICK_S: Final = 5.0
_EVERY_S: Final = 20
_MACHINE: Final = {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The outcome of a definition: the ticks of the schedule that names it, and a start by its name.

    Each is None if a power loss took back what it depends on.
    """

    ticks: tuple[str, ...] | None
    by_name: str | None


class KeptDefinitions(Errands[Kept]):
    """Every server starts a workflow. After a power loss the workflow is started and scheduled again."""

    at_once = 10
    rules = (what_is_started_has_its_definition,)

    def errand(self, seed: int) -> Kept | None:
        """Have the servers keep a definition until a power loss takes it back, and depend on it then."""
        luck = random.Random(f"kept {seed}")
        while not self.over.wait(luck.uniform(0.0, 1.0)):
            name = f"lab-kept-{seed}-{uuid.uuid4().hex[:8]}"
            workflow = {"workflow_name": name, "asl": _MACHINE}
            try:
                if self.is_lost(name, workflow):
                    return self.depend(name, workflow)
            except ToolCallFailed as error:
                if error.code != "unknown_run":  # a power loss took the run back while it was started
                    raise
        return None

    def is_lost(self, name: str, workflow: Mapping[str, Any]) -> bool:
        """Start a workflow at every server, and wait for a power loss; whether it took the run back."""
        losses = len(self.kind.losses)
        for url in self.kind.workplace().server_urls:
            with self.as_the_lab(url) as calls:
                calls.surely("start_run", workflow_json=workflow, workflow_id=name)
        if not self.eventually(lambda: len(self.kind.losses) > losses or self.over.is_set(), _LOSS_S):
            return False
        return not self.is_there(name)

    def depend(self, name: str, workflow: Mapping[str, Any]) -> Kept:
        """Schedule the workflow, start it, and start it by its name."""
        with self.as_the_lab(*self.kind.workplace().server_urls) as calls:
            calls.surely("create_schedule", name=name, workflow_json=workflow, every_s=_EVERY_S)
            ticks = self.ticks(name)
            calls.surely("start_run", workflow_json=workflow, workflow_id=f"{name}-2")
            by_name = _code_of(lambda: calls.surely("start_run", definition=name, workflow_id=f"{name}-3"))
        return Kept(ticks=ticks, by_name=by_name if self.is_there(f"{name}-2") else None)

    def is_there(self, run: str) -> bool:
        """Return True if there is such a run."""
        try:
            patiently(lambda: self.dcf.plane.read(run, ()))
        except UnknownRun:
            return False
        return True

    @contextmanager
    def as_the_lab(self, *urls: str) -> Iterator[Calls]:
        """Yield calls with the lab's key, which is so old that no power loss takes it back."""
        key = self.kind.api_keys[LAB]
        with connected(urls, key) as there:
            yield Calls(there, key)

    def ticks(self, name: str) -> tuple[str, ...] | None:
        """Wait for a tick of the schedule, stop it, and return the outcomes of its ticks."""

        def read() -> Any:
            return self.dcf.schedules.read(name)

        try:
            self.eventually(lambda: bool(read().records), _TICK_S)
            result = patiently(read)
            patiently(lambda: self.dcf.schedules.pause(name))
        except UnknownSchedule:  # a power loss took it back
            return None
        return tuple(record.why or record.outcome for record in result.records)


def _code_of(call: Callable[[], Mapping[str, Any]]) -> str:
    """Return the code of an answer, or the message of the error in its place."""
    try:
        return str(call()["code"])
    except ToolCallFailed as error:
        return error.message
