"""Definitions that a power loss takes back, while servers remember that they kept them."""

import uuid
from dataclasses import dataclass
from typing import Any, Final

from dcf.errors import UnknownSchedule
from lab.case_rules import what_is_started_has_its_definition
from lab.crews import LAB
from lab.evidence import read_meta
from lab.extras import Calls, Errands, eventually
from lab.http_verbs import connected
from lab.process import patiently

_LOSS_S: Final = 15.0
_TICK_S: Final = 5.0
_EVERY_S: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """What came of a definition: what the schedule that names it did, and a start by its name.

    Each is None if a power loss took back what it depends on.
    """

    ticks: tuple[str, ...] | None
    by_name: str | None


class KeptDefinitions(Errands[Kept]):
    """A workflow is started at every server; power is lost; then it is started and scheduled again."""

    at_once = 10
    rules = (what_is_started_has_its_definition,)

    def errand(self, seed: int) -> Kept | None:
        """Have the servers keep a definition, wait for a power loss, and depend on the definition."""
        name = f"lab-kept-{seed}-{uuid.uuid4().hex[:8]}"
        workflow = {"workflow_name": name, "asl": {"StartAt": "P", "States": {"P": {"Type": "Pass", "End": True}}}}
        for url in self.kind.workplace().server_urls:
            with connected((url,), self.kind.api_keys[LAB]) as there:
                Calls(there, "", "").surely("start_run", workflow_json=workflow, workflow_id=name)
        losses = len(self.kind.losses)
        if not eventually(lambda: len(self.kind.losses) > losses, _LOSS_S):
            return None
        with connected(self.kind.workplace().server_urls, self.kind.api_keys[LAB]) as there:
            calls = Calls(there, "", "")
            calls.surely("create_schedule", name=name, workflow_json=workflow, every_s=_EVERY_S)
            ticks = self.ticks(name)
            calls.surely("start_run", workflow_json=workflow, workflow_id=f"{name}-2")
            by_name = calls.surely("start_run", definition=name, workflow_id=f"{name}-3")["code"]
        is_there = bool(patiently(lambda: read_meta(self.kind.client(), f"{name}-2")))
        return Kept(ticks=ticks, by_name=by_name if is_there else None)

    def ticks(self, name: str) -> tuple[str, ...] | None:
        """Wait for a tick of the schedule, and stop it; what became of its ticks."""

        def read() -> Any:
            return self.dcf.schedules.read(name)

        try:
            eventually(lambda: bool(read().records), _TICK_S)
            found = patiently(read)
            patiently(lambda: self.dcf.schedules.pause(name))
        except UnknownSchedule:  # a power loss took it back
            return None
        return tuple(one.why or one.outcome for one in found.records)
