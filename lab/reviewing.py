"""The reviewers of the lab: a process in which agents judge the outputs of units with gates, often two of them at once.

They let an output pass or send it back, judge their own work too, repeat their verdicts, also late, and now and then an
operator overrides a gate. Where no verdict came in time, persons judge. The process is killed and frozen like workers.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dcf.errors import DcfError
from dcf.features.gates.consequences import GateCase
from dcf.features.gates.judges import Judge
from dcf.features.gates.model import FAILS, PASSES, UNAVAILABLE, Judged, submission_of
from dcf.features.gates.operations import Gates
from dcf.features.gates.overriding import Override
from dcf.features.gates.storage import GateLists
from dcf.features.gates.verdicts import Ruling
from lab.crews import AGENTS
from lab.expectation import PEOPLE
from lab.grown_plans import CRITERION, REVIEW
from lab.process import Dcf, Place, opened
from lab.recording import Recorder
from lab.verbs import Heard, Recorded, operated

_PAUSE_S: Final = (0.01, 0.05)
_MOST_PAST: Final = 50
_VERDICTS: Final = {PASSES: 12, FAILS: 4, UNAVAILABLE: 1}
_TWO: Final = 0.25
_AGAIN: Final = 0.2
_OVERRIDDEN: Final = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewersDuty:
    """Input of the process of the reviewers."""

    place: Place
    calls: Path
    runs: tuple[str, ...]
    number: int


def main(duty: ReviewersDuty) -> None:
    """Judge until killed."""
    with opened(duty.place) as dcf:
        Reviewers(duty=duty, dcf=dcf).work()


@dataclass(kw_only=True)
class Reviewers:
    """Look for what waits for a verdict, and give one. `past` are verdicts that may be given again."""

    duty: ReviewersDuty
    dcf: Dcf
    past: list[Callable[[], Heard]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.luck = random.Random(f"reviewers {self.duty.number}")
        self.gates = Gates(self.dcf.plane, GateLists(self.dcf.connections))
        self.recorded = Recorded(None, Recorder(self.duty.calls, "reviewer"), "reviewer")  # type: ignore[arg-type]
        self.twins = ThreadPoolExecutor(1)

    def work(self) -> None:
        """Look and judge, without end."""
        over = threading.Event()
        while not over.wait(self.luck.uniform(*_PAUSE_S)):
            for run in self.duty.runs:
                for case in self.waiting(run):
                    self.see_to(run, case)
            if self.past and self.luck.random() < _AGAIN:
                self.luck.choice(self.past)()

    def waiting(self, run: str) -> Sequence[GateCase]:
        """Return what waits for a verdict in a run."""
        try:
            return [case for case in self.gates.cases(run) if case.doc.is_judged]
        except DcfError:
            return ()  # it is not there yet, or its Redis is struck

    def see_to(self, run: str, case: GateCase) -> None:
        """Judge one output: one agent, or two of them at once, each as it likes."""
        if self.luck.random() < _OVERRIDDEN:
            self.recorded.surely(self.override(run, case))
            return
        twin = self.twins.submit(self.verdict(run, case)) if self.luck.random() < _TWO else None
        self.recorded.surely(self.verdict(run, case))
        if twin is not None:
            twin.result()

    def verdict(self, run: str, case: GateCase) -> Callable[[], Heard]:
        """Draw a verdict, and return the call that gives it."""
        (choice,) = self.luck.choices(list(_VERDICTS), list(_VERDICTS.values()))
        submission = submission_of(case.doc)
        waiting = None if submission is None else submission.gate(REVIEW)
        is_person = waiting is not None and waiting.by_people
        by, request_id = self.luck.choice(PEOPLE if is_person else AGENTS), uuid.uuid4().hex
        criteria = () if choice == UNAVAILABLE else (Judged(criterion=CRITERION, passed=choice == PASSES),)
        ruling = Ruling(
            state=case.state,
            gate=REVIEW,
            verdict=choice,
            sha256=case.kept.sha256,
            by=Judge(name=by, may_work=not is_person, is_person=is_person),
            criteria=criteria,
        )
        content = {"request": request_id, "verdict": choice, "sha256": ruling.sha256}

        def call() -> Heard:
            return self.recorded.noted(
                "judge",
                run,
                {"agent": by, "state": case.state, "content": content},
                lambda: operated(self.gates.decide(run, ruling, request_id=request_id), case.state),
            )

        self.past = [*self.past[-_MOST_PAST:], call]
        if self.luck.random() < _AGAIN:
            time.sleep(self.luck.uniform(0, 0.1))  # others come between, and the output may be another by then
        return call

    def override(self, run: str, case: GateCase) -> Callable[[], Heard]:
        """Return the call by which an operator lets the output pass."""
        request_id = uuid.uuid4().hex
        wish = Override(state=case.state, by="operator", reason="It is good enough.")
        note = {"agent": "operator", "state": case.state, "content": {"request": request_id}}

        def call() -> Heard:
            return self.recorded.noted(
                "override",
                run,
                note,
                lambda: operated(self.gates.override(run, wish, request_id=request_id), case.state),
            )

        return call
