"""The operator process of the lab: pauses, blocks and resumes some runs, resolves and assigns states, cancels a few.

In a run that it only helps, it ends a state as its worker would, so that the expected result stays the same. In a run
of which the end is not determined, it also skips and fails states, cancels the run, and continues it after its end. It
deletes half of those. It repeats some other runs as new ones, with the same expected result.
"""

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from dcf.core.completing.resolving import Resolve
from dcf.core.documents.answers import Created
from dcf.core.documents.model import OPEN, RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.repeating import Rerun
from dcf.core.lifecycle.retention import Deleted
from dcf.errors import DcfError
from dcf.features.journal.model import EntryKind, entry_id_of
from dcf.features.journal.writing import AddEntry, EntryAdded, ResolveIssue
from dcf.values.refusal import Refusal
from lab import calling_back, signalling
from lab.crews import AGENTS
from lab.evidence import is_task
from lab.expectation import NEVER, Expected, answer_of
from lab.process import Dcf, Place, opened
from lab.recording import Recorder
from lab.verbs import Heard, Recorded
from lab.workflows import draw

_HELPED, _FREE = (1, 3, 7), 5
"""Remainders by 8 of the seeds of runs that are helped, and that are treated freely."""

_REPEATED = 2
"""Remainder by 8 of the seeds of runs that are repeated as new ones."""

_DELETED = 13
"""Remainder by 16 of the seeds of runs that are deleted after their end: half of those that are treated freely."""

_AGAIN = "-again"
THREADS = 3
_ACTIONS = 15
"""Most things that are done to one run."""

_PAUSE_S = (0.02, 0.3)
_Answer: TypeAlias = RunAnswer | EntryAdded | Created | Deleted | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorDuty:
    """Input of the operator process: the runs by id, with their seeds."""

    place: Place
    calls: Path
    seeds: Mapping[str, int]
    number: int


def is_operated(seed: int) -> bool:
    """Return True if the operator does something to the run of this seed."""
    return seed % 8 in (*_HELPED, _FREE, _REPEATED)


def is_deleted(seed: int) -> bool:
    """Return True if the run of this seed is deleted after its end."""
    return seed % 16 == _DELETED


def again(run: str, seed: int) -> str | None:
    """Return the id of the run as which this one is repeated; None if it is not."""
    return f"{run}{_AGAIN}" if seed % 8 == _REPEATED and not run.endswith(_AGAIN) else None


def repeated_from(run: str) -> str | None:
    """Return the run that this one repeats; None if it is none of those."""
    return run.removesuffix(_AGAIN) if run.endswith(_AGAIN) else None


def main(duty: OperatorDuty) -> None:
    """Operate on several threads, each with runs of its own, until killed."""
    with opened(duty.place) as dcf:
        operations = Operations(dcf, Recorder(duty.calls, "operator"))
        runs = [run for run, seed in duty.seeds.items() if is_operated(seed) and repeated_from(run) is None]
        for number in range(THREADS):
            operator = Operator(duty=duty, dcf=dcf, verbs=operations, runs=runs[number::THREADS], number=number)
            threading.Thread(target=operator.work, daemon=True).start()
        signalling.begin(dcf, duty.seeds, Recorder(duty.calls.with_name("signals.jsonl"), "signaller"))
        calling_back.begin(dcf, duty.seeds, Recorder(duty.calls.with_name("callbacks.jsonl"), "callback"))
        threading.Event().wait()


class Operations:
    """The requests of an operator, each noted. One with the id of an earlier one is a repetition of it."""

    def __init__(self, dcf: Dcf, recorder: Recorder) -> None:
        self._dcf = dcf
        self._lifecycle = dcf.lifecycle
        self._recorded = Recorded(None, recorder, "operator")  # type: ignore[arg-type]  # it makes no worker's calls

    def cancel(self, run: str, request_id: str) -> Heard:
        """Cancel the run."""
        return self._noted("cancel", run, "", request_id, lambda: self._lifecycle.cancel(run, request_id=request_id))

    def pause(self, run: str, request_id: str) -> Heard:
        """Pause the run."""
        return self._noted("pause", run, "", request_id, lambda: self._lifecycle.pause(run, request_id=request_id))

    def resume(self, run: str, request_id: str) -> Heard:
        """Resume the run."""
        return self._noted("resume", run, "", request_id, lambda: self._lifecycle.resume(run, request_id=request_id))

    def block(self, run: str, key: str) -> Heard:
        """Add an issue that blocks the run; its key is the id of the request."""
        wish = AddEntry(
            kind=EntryKind.ISSUE, text="Somebody must look.", agent="operator", key=key, blocks=True, is_operator=True
        )
        return self._noted("block", run, "", key, lambda: self._dcf.journal.add_journal_entry(run, wish))

    def unblock(self, run: str, issue: str, request_id: str) -> Heard:
        """Resolve an issue."""
        wish = ResolveIssue(issue=issue, how="Somebody looked.", by="operator", may_any=True)
        return self._noted(
            "unblock", run, "", request_id, lambda: self._dcf.journal.resolve_issue(run, wish, request_id=request_id)
        )

    def resolve(self, run: str, wish: Resolve, request_id: str) -> Heard:
        """Resolve a state of the run."""
        how = wish.how or "assign"
        op = "resolve" if how in {"output", "assign"} or wish.handled else how
        return self._noted(
            op, run, wish.state, request_id, lambda: self._lifecycle.resolve(run, wish, request_id=request_id), how=how
        )

    def retry(self, run: str, request_id: str) -> Heard:
        """Continue the run after its end."""
        return self._noted("retry", run, "", request_id, lambda: self._dcf.retrying.retry(run, request_id=request_id))

    def rerun(self, run: str, new: str) -> Heard:
        """Repeat the run as a new one; the new one's id is that of the request."""
        wish = Rerun(workflow_id=new, agents={})
        return self._noted("rerun", run, "", new, lambda: self._dcf.starting.rerun(run, wish, new))

    def delete(self, run: str, request_id: str) -> Heard:
        """Delete the run."""
        return self._noted(
            "delete", run, "", request_id, lambda: self._dcf.retention.delete(run, request_id=request_id)
        )

    def surely(self, call: Callable[[], Heard]) -> Heard:
        """Repeat a request until its outcome is known."""
        return self._recorded.surely(call)

    def _noted(self, op: str, run: str, state: str, request: str, call: Callable[[], _Answer], **more: Any) -> Heard:
        note = {"state": state, "content": {"request": request, **more}}
        return self._recorded.noted(op, run, note, lambda: _heard(call(), state))


@dataclass(kw_only=True)
class Operator:
    """Does one thing after the other to some runs. `past` are requests that it may repeat."""

    duty: OperatorDuty
    dcf: Dcf
    verbs: Operations
    runs: Sequence[str]
    number: int
    past: list[Callable[[], Heard]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.luck = random.Random(f"operator {self.duty.number} {self.number}")
        self.left = dict.fromkeys(self.runs, _ACTIONS)
        self.expected = {run: draw(self.duty.seeds[run]).expected for run in self.left}

    def work(self) -> None:
        """Operate, until no action is allowed."""
        while self.left:
            run = self.luck.choice(sorted(self.left))
            try:
                result = self.dcf.plane.read(run)
            except DcfError:
                time.sleep(0.01)  # it is not created yet, or its Redis is struck
                continue
            over = result.meta is None or result.meta.status is not RunStatus.RUNNING
            reached = (path for path, doc in result.states.items() if doc.status in OPEN and doc.is_ready)
            self.left[run] -= 1
            if over:
                goes_on = self.act_on_ended(run)
            else:
                goes_on = True
                self.act(run, [path for path in reached if is_task(path)])
            if not (goes_on and self.left[run]):
                del self.left[run]

    def act_on_ended(self, run: str) -> bool:
        """Continue a run that has ended, delete it, or leave it. Return True if it continues."""
        seed = self.duty.seeds[run]
        new = again(run, seed)
        if new is not None:
            self.verbs.surely(lambda: self.verbs.rerun(run, new))
        if seed % 8 != _FREE:
            return False
        if self.luck.random() < 0.6 and self.ask(lambda request: self.verbs.retry(run, request)).code == "ok":
            return True
        if is_deleted(seed):
            self.ask(lambda request: self.verbs.delete(run, request))
        return False

    def act(self, run: str, tasks: list[str]) -> None:
        """Do one thing to a run, or to one of these Tasks of it, which were open just now."""
        on_run: list[Callable[[str], object]] = [self.pause, self.block, self.repeat]
        on_task: list[Callable[[str, str], object]] = [self.help, self.help, self.assign] if tasks else []
        if self.duty.seeds[run] % 8 == _REPEATED:
            on_run, on_task = [self.rerun], []
        if self.duty.seeds[run] % 8 == _FREE:
            on_run.append(self.cancel)
            on_task += [self.skip, self.fail] if tasks else []
        number = self.luck.randrange(len(on_run) + len(on_task))
        if number < len(on_run):
            on_run[number](run)
        else:
            on_task[number - len(on_run)](run, self.luck.choice(tasks))

    def ask(self, call: Callable[[str], Heard]) -> Heard:
        """Make a request under a new id, until its outcome is known."""
        request = uuid.uuid4().hex
        self.past.append(lambda: call(request))
        return self.verbs.surely(lambda: call(request))

    def pause(self, run: str) -> None:
        """Hold the run for a moment."""
        self.ask(lambda request: self.verbs.pause(run, request))
        time.sleep(self.luck.uniform(*_PAUSE_S))
        self.ask(lambda request: self.verbs.resume(run, request))

    def block(self, run: str) -> None:
        """Block the run by an issue for a moment."""
        key = uuid.uuid4().hex
        self.past.append(lambda: self.verbs.block(run, key))
        self.verbs.surely(lambda: self.verbs.block(run, key))
        time.sleep(self.luck.uniform(*_PAUSE_S))
        self.ask(lambda again: self.verbs.unblock(run, entry_id_of(key), again))

    def help(self, run: str, path: str) -> None:
        """End a state as its worker would."""
        wish = as_worker(self.expected[run], path)
        if wish is not None:
            self.ask(lambda request: self.verbs.resolve(run, wish, request))

    def assign(self, run: str, path: str) -> None:
        """Give a state to others."""
        wish = Resolve(state=path, agents=tuple(self.luck.sample(AGENTS, self.luck.randint(1, len(AGENTS)))))
        self.ask(lambda request: self.verbs.resolve(run, wish, request))

    def skip(self, run: str, path: str) -> None:
        """Skip a state."""
        wish = Resolve(state=path, how="skip")
        self.ask(lambda request: self.verbs.resolve(run, wish, request))

    def fail(self, run: str, path: str) -> None:
        """Fail a state permanently."""
        wish = Resolve(state=path, how="error", error="ByHand")
        self.ask(lambda request: self.verbs.resolve(run, wish, request))

    def cancel(self, run: str) -> None:
        """Cancel the run, mostly late."""
        if self.luck.random() < 0.3:
            self.ask(lambda request: self.verbs.cancel(run, request))

    def rerun(self, run: str) -> None:
        """Repeat the run as a new one, again and again as the same."""
        new = again(run, self.duty.seeds[run])
        if new is not None:
            self.verbs.surely(lambda: self.verbs.rerun(run, new))

    def repeat(self, _: str) -> None:
        """Make an earlier request again, which must change nothing."""
        if self.past:
            self.luck.choice(self.past)()


def as_worker(expected: Expected, path: str) -> Resolve | None:
    """Return how a worker ends this state; None if that depends on the visit, or no worker ever ends it."""
    inputs = expected.inputs.get(path)
    if not inputs or any(value != inputs[0] for value in inputs):
        return None
    kind, answer = answer_of(path.rpartition("/")[2], inputs[0])
    if kind == NEVER:
        return None
    if kind == "error":
        return Resolve(state=path, how="error", error=answer, cause="as drawn", handled=True)
    return Resolve(state=path, how="output", output=answer)


def _heard(answer: _Answer, state: str) -> Heard:
    match answer:
        case RunAnswer(repeated=repeated):
            return Heard(code="ok", state=state, repeated=repeated)
        case Created(existed=existed):
            return Heard(code="ok", repeated=existed)
        case EntryAdded(repeated=repeated):
            return Heard(code="ok", repeated=repeated)
        case Deleted(existed=existed):
            return Heard(code="ok", repeated=not existed)
        case _:
            return Heard(code=answer.code)
