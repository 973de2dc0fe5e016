"""The planner of grown runs: a process that opens runs and lets them grow by their plans while faults strike.

It is sturdy: each request has an id that follows from the run and the step, and is repeated until its outcome is known.
After a power loss the planner repeats the plan from its beginning, with the same ids.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dcf.core.completing.resolving import Resolve
from dcf.core.documents.answers import Created
from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import RunStatus, Status
from dcf.core.lifecycle.creation import Create
from dcf.errors import DcfError
from dcf.features.growing.adding import Added, AddUnits
from dcf.features.growing.closing import Close, Seal
from dcf.features.growing.definition import grown_definition
from dcf.features.growing.opening import OpenRequest
from dcf.features.growing.operations import Growing
from dcf.features.growing.progress import WELL
from dcf.features.growing.syntax import read_units
from dcf.features.journal.model import entry_id_of
from lab.evidence import PLANNER
from lab.grown_plans import Step, Unit, draw_plan
from lab.operating import Operations
from lab.process import Dcf, Place, opened
from lab.recording import Recorder
from lab.verbs import Heard, Recorded, operated

_RETRIES: Final = 2
"""How often a unit that failed is tried again, before it is done without."""

_PAUSE_S: Final = 0.03
_HOLD_S: Final = (0.02, 0.2)
_OVER_S: Final = 0.3
_LOOKS: Final = 30
"""How often the planner looks whether a unit was begun, before it leaves a rewind out, or forces the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerDuty:
    """Input of the planner process: the runs by id, with their seeds. `lossy`: acknowledged writes may be lost."""

    place: Place
    calls: Path
    runs: Mapping[str, int]
    lossy: bool


def main(duty: PlannerDuty) -> None:
    """Let the runs grow, each on a thread of its own, until killed."""
    with opened(duty.place) as dcf:
        recorder = Recorder(duty.calls, "planner")
        for run, seed in duty.runs.items():
            planner = Planner(dcf, recorder, run, seed, lossy=duty.lossy)
            threading.Thread(target=planner.work, daemon=True).start()
        threading.Event().wait()


class Planner:
    """Carries out the plan of one run."""

    def __init__(self, dcf: Dcf, recorder: Recorder, run: str, seed: int, *, lossy: bool) -> None:
        self.dcf = dcf
        self.run = run
        self.plan = draw_plan(seed, lossy=lossy)
        self.growing = Growing(dcf.plane)
        self.operations = Operations(dcf, recorder)
        self.recorded = Recorded(None, recorder, "planner")  # type: ignore[arg-type]  # it makes no worker's calls
        self.luck = random.Random(f"planner {seed}")
        self.twins = ThreadPoolExecutor(1)

    def work(self) -> None:
        """Carry the plan out, and repeat it after each loss, without end."""
        while True:
            if not self.is_over() and self.open().is_ok and all(self.do(*item) for item in enumerate(self.plan.steps)):
                self.end()
            time.sleep(_OVER_S)

    def is_over(self) -> bool:
        """Return True if the run has ended."""
        look = self.look()
        return look is not None and look.meta is not None and look.meta.status is not RunStatus.RUNNING

    def look(self) -> Snapshot | None:
        """Return the run as it is; None if it is not there, or cannot be read."""
        try:
            return self.dcf.plane.read(self.run, with_data=False)
        except DcfError:
            return None

    def open(self) -> Heard:
        """Open the run."""
        wish = Create(
            workflow_id=self.run,
            definition=grown_definition("lab-grown"),
            run_input={},
            agents={},
            planner_agent_id=PLANNER,
            retention_s=3600,
            max_attempts=1000,
        )

        def call() -> Heard:
            answer = self.growing.open_run(OpenRequest(wish=wish))
            if isinstance(answer, Created):
                return Heard(code="ok", repeated=answer.existed)
            return Heard(code=answer.code)

        return self.recorded.surely(lambda: self.recorded.noted("open", self.run, {}, call))

    def do(self, number: int, step: Step) -> bool:
        """Do one step; return False if the plan must start again."""
        text = f"{self.run} {number}"
        match step.op:
            case "grow":
                done = self.grow("grow", step.units, text).is_ok
            case "misgrow":
                done = not self.grow("misgrow", step.units, text).is_unknown
            case "seal":
                done = self.seal(step.name, text).is_ok
            case "race":
                twin = self.twins.submit(lambda: self.grow("grow", step.units, f"{text} late"))
                done = self.seal(step.name, text).is_ok and not twin.result().is_unknown
            case "rewind":
                done = self.rewind(step.name, text)
            case "pause" | "block":
                done = self.hold(step.op, text)
        self.tend()
        time.sleep(self.luck.uniform(0, 2 * _PAUSE_S))
        return done

    def grow(self, op: str, units: Sequence[Unit], request_id: str) -> Heard:
        """Add units with one call."""
        wish = AddUnits(units=read_units(list(units)), owner="planner", token=f"lab-{uuid.uuid4().hex}")

        def call() -> Heard:
            answer = self.growing.add_units(self.run, wish, request_id=request_id)
            return operated(answer.outcome if isinstance(answer, Added) else answer, "")

        return self.noted(op, "", {"request": request_id, "units": [unit["name"] for unit in units]}, call)

    def seal(self, group: str | None, request_id: str) -> Heard:
        """Seal a group, or the run."""
        return self.noted(
            "seal",
            group or "",
            {"request": request_id},
            lambda: operated(self.growing.seal_group(self.run, Seal(group=group), request_id=request_id), ""),
        )

    def rewind(self, unit: str, request_id: str) -> bool:
        """Take a unit back once it was begun; leave it if no worker begins it. Return False if that is not known."""
        heard = Heard(code="")
        for _ in range(_LOOKS):
            heard = self.noted(
                "rewind",
                unit,
                {"request": request_id},
                lambda: operated(self.growing.rewind_unit(self.run, unit, request_id=request_id), unit),
            )
            if heard.code != "invalid_transition":
                break
            self.tend()
            time.sleep(_PAUSE_S)
        return heard.is_ok or heard.code == "invalid_transition"

    def hold(self, how: str, request: str) -> bool:
        """Pause the run, or block it by an issue, for a moment."""
        hands = self.operations
        begins, ends = (
            (lambda: hands.pause(self.run, f"{request} on"), lambda: hands.resume(self.run, f"{request} off"))
            if how == "pause"
            else (
                lambda: hands.block(self.run, f"{request} on"),
                lambda: hands.unblock(self.run, entry_id_of(f"{request} on"), f"{request} off"),
            )
        )
        self.recorded.surely(begins)
        time.sleep(self.luck.uniform(*_HOLD_S))
        return not self.recorded.surely(ends).is_unknown

    def tend(self) -> Snapshot | None:
        """See to what failed: try it again a few times, then do without it. Return the run as it was."""
        look = self.look()
        for name, doc in () if look is None else look.states.items():
            if doc.status is not Status.FAILED:
                continue
            text = f"{self.run} {name} {doc.lease.epoch}"
            if doc.retries < _RETRIES:
                self.again(name, f"again {text}")
            else:
                self.without(name, f"without {text}")
        return look

    def again(self, name: str, request_id: str) -> Heard:
        """Try a unit again."""
        return self.noted(
            "retry_unit",
            name,
            {"request": request_id},
            lambda: operated(self.growing.retry_unit(self.run, name, request_id=request_id), name),
        )

    def without(self, name: str, request_id: str) -> Heard:
        """Do without a unit."""
        wish = Resolve(state=name, how="skip")
        return self.noted(
            "without",
            name,
            {"request": request_id, "how": "skip"},
            lambda: operated(self.dcf.lifecycle.resolve(self.run, wish, request_id=request_id), name),
        )

    def end(self) -> None:
        """Let the run end as it is planned, and see that it does."""
        if self.plan.end == "seal":
            self.seal(None, f"{self.run} seal")
        for look in range(10_000):
            snapshot = self.tend()
            meta = None if snapshot is None else snapshot.meta
            if snapshot is None or meta is None:
                return  # start again: a power loss took it back, or its Redis is struck
            if meta.status is not RunStatus.RUNNING:
                return
            self.let_go_on(meta.is_paused, [item.issue for item in meta.blocked_by])
            is_done = all(doc.status in WELL for doc in snapshot.states.values())
            if self.plan.end == "close" and (is_done or self.luck.random() < 0.05):
                self.close(force=False)
            elif self.plan.end == "force" and (is_done or look > _LOOKS):
                self.close(force=True)
            elif is_done:
                return  # start again: the seal, or an earlier addition, was lost
            time.sleep(_PAUSE_S)

    def let_go_on(self, is_paused: bool, issues: Sequence[str]) -> None:
        """Take back what holds the run after a power loss took its end back."""
        if is_paused:
            self.operations.resume(self.run, uuid.uuid4().hex)
        for issue in issues:
            self.operations.unblock(self.run, issue, uuid.uuid4().hex)

    def close(self, *, force: bool) -> Heard:
        """Close the run."""
        request_id = f"{self.run} close"
        status = RunStatus.PARTIAL if force else RunStatus.SUCCEEDED
        wish = Close(status=status, summary="It is over.", force=force)
        return self.noted(
            "close",
            "",
            {"request": request_id, "force": force},
            lambda: operated(self.growing.close_run(self.run, wish, request_id=request_id), ""),
        )

    def noted(self, op: str, state: str, content: Mapping[str, Any], call: Callable[[], Heard]) -> Heard:
        """Make a request until its outcome is known, each try noted."""
        note = {"state": state, "content": dict(content)}
        return self.recorded.surely(lambda: self.recorded.noted(op, self.run, note, call))
