"""The loop of a simulated run: takes the next due event, calls the engine, and joins the scopes."""

import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

from dcf.asl import engine
from dcf.asl.items.sources import bring
from dcf.asl.machine import Machine
from dcf.asl.places import ancestors
from dcf.asl.retrying import HEARTBEAT, TIMEOUT
from dcf.asl.state_paths import split_scope, within
from dcf.asl.steps import (
    TOLERATED,
    Advance,
    BranchEnded,
    BranchFailed,
    Broke,
    Caught,
    Closed,
    Ended,
    Failed,
    NeedItems,
    OpenScope,
    OpenTask,
    OpenWait,
    Passed,
    Paused,
    Retried,
    Step,
    Succeeded,
    TakenSignal,
    Visit,
    exceeds,
    next_item,
)
from dcf.asl.surroundings import SECOND, Clock
from dcf.core.completing.conclusion import Conclusion
from dcf.errors import InvalidArgument, StateError
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.workflows.simulation.due import Due, OutsideTasks, SimulatedSignal
from dcf.workflows.simulation.given import Answer, AskedTask, GivenFiles
from dcf.workflows.simulation.trace import Trace

MAX_CALLS: Final = 100_000
DEFAULT_TIMEOUT_S: Final = 99_999_999
AGENT: Final = "test"
"""The agent that completes the tasks of agents in a simulation."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
START: Final = 1_767_225_600 * SECOND
_END_OF_TIME: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


@record(frozen=True, slots=True, kw_only=True)
class Played:
    """A simulated run: its end, its trace with the seconds at which each entry happened, and the calls of tasks."""

    end: Mapping[str, Json]
    trace: list[Json]
    times: list[float]
    task_calls: list[Json]
    elapsed_s: float


@dataclass(slots=True, kw_only=True)
class _SimulatedScope:
    """The join of a scope that stayed open after the call that opened it."""

    results: dict[int, Json] = field(default_factory=dict)
    failed: int = 0


@dataclass(slots=True, kw_only=True)
class Simulation:
    """A run in memory."""

    machine: Machine
    context: Mapping[str, Json]
    outside: OutsideTasks
    answer: Callable[[AskedTask], Answer]
    hand_out: Callable[[AskedTask], Answer | None] | None
    sent: tuple[SimulatedSignal, ...]
    files: Mapping[str, str]
    schedule: random.Random | None
    seed: str
    now: int = START
    calls: int = 0
    visits: dict[str, Visit] = field(default_factory=dict)
    scopes: dict[str, _SimulatedScope] = field(default_factory=dict)
    due: list[Due] = field(default_factory=list)
    task_calls: list[Json] = field(default_factory=list)
    begun: dict[str, tuple[int, int]] = field(default_factory=dict)
    again: set[str] = field(default_factory=set)
    times: list[float] = field(default_factory=list)
    end: dict[str, Json] | None = None
    failures: deque[tuple[BranchFailed, "_SimulatedScope | None"]] = field(default_factory=deque)
    needs: deque[NeedItems] = field(default_factory=deque)
    joins: dict[str, "_SimulatedScope | None"] = field(default_factory=dict)
    trace: Trace = field(init=False)

    def __post_init__(self) -> None:
        self.trace = Trace(machine=self.machine)

    def run(self, run_input: Json) -> Played:
        """Execute the run to its end, or until nothing more is due."""
        limit = self.machine.timeout_s
        deadline = None if limit is None else self.now + limit * SECOND
        self.due += [Due(at=self.now + round(sent.after * SECOND), kind="signal", signal=sent) for sent in self.sent]
        self._apply(engine.start(self.machine, run_input, self.context, self._clock()))
        self._follow_up()
        while self.end is None:
            event = self._next()
            if event is None:
                self.end = {"status": "RUNNING"}
            elif deadline is not None and event.at >= deadline:
                cause = f"The run did not end within {limit} seconds."
                self.end = {"status": "TIMED_OUT", "error": TIMEOUT, "cause": cause}
            else:
                self._let_pass(event.at)
                self._happen(event)
                self._follow_up()
        return Played(
            end=self.end,
            trace=self.trace.events,
            times=self.times,
            task_calls=self.task_calls,
            elapsed_s=(self.now - START) / SECOND,
        )

    def _let_pass(self, until: int) -> None:
        if until > _END_OF_TIME:
            raise InvalidArgument(
                "The run continues after the year 9999.", "Make its Waits and retries shorter or fewer."
            )
        self.now = max(self.now, until)

    def _next(self) -> Due | None:
        if not self.due:
            return None
        if self.schedule is not None:
            # Any open task may answer next; timers keep their order, since time does not run backwards.
            ready = [event for event in self.due if event.kind == "task"] or [min(self.due, key=_time)]
            event = self.schedule.choice(ready)
        else:
            event = min(self.due, key=_time)
        self.due.remove(event)
        return event

    def _happen(self, event: Due) -> None:
        if event.signal is not None:
            self._conclude(self.outside.receive(event.signal, self.now))
        elif event.kind == "look":
            self._next_look(event.path, self.outside.look(event.path, self.now))
        elif event.task is None:
            self._call(engine.wake, event.path)
        elif event.path in self.outside.waiting:
            self._await(event.task)
        else:
            self._settle(event, event.task)

    def _await(self, task: OpenTask) -> None:
        """Let a task wait for what comes from outside, once an agent has handed its token out, if one is to."""
        asked_task = self._asked_task(task)
        failure = self.hand_out(asked_task) if self.hand_out is not None and task.waits_as is None else None
        if failure is not None:
            self._call(engine.fail, task.path, failure.get("error"), failure.get("cause"))
            return
        self._next_look(task.path, self.outside.expect(asked_task, self.answer(asked_task), self.now))

    def _next_look(self, path: str, due: Conclusion | int | None) -> None:
        if isinstance(due, int):
            self.due.append(Due(at=due, kind="look", path=path))
        else:
            self._conclude(due)

    def _conclude(self, end: Conclusion | None) -> None:
        """End a task that waited, if its end has come."""
        if end is None:
            return
        if end.failed:
            self._call(engine.fail, end.state, end.error, end.cause)
        else:
            self._call(engine.complete, end.state, end.output)

    def _settle(self, event: Due, task: OpenTask) -> None:
        """Take the answer of an agent's task."""
        answer = self.answer(self._asked_task(task)) if event.answer is None else event.answer
        if event.answer is None and answer.get("after"):
            self._delay(task, answer)
        elif event.answer is None and (answer.get("timed_out") or answer.get("never")):
            self._let_expire(task, answer)
        elif "output" in answer:
            self.outside.worked(event.path, AGENT)
            self._call(engine.complete, event.path, answer["output"])
        else:
            self._call(engine.fail, event.path, answer.get("error"), answer.get("cause"))

    def _call(self, function: Callable[..., Advance], path: str, *arguments: Json) -> None:
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise InvalidArgument(f"The run continues after {MAX_CALLS} steps.", "Let its loops end sooner.")
        visits = {owner: self.visits[owner] for owner in ancestors(path)}
        if path in self.visits:
            visits[path] = self.visits[path]
        self._apply(function(self.machine, path, visits, *arguments, self.context, self._clock()))

    def _clock(self) -> Clock:
        signals = self.outside.signals.by_name
        return Clock(now=text_of(self.now), micros=self.now, seed=f"{self.seed} {self.calls}", signals=signals)

    def _apply(self, advance: Advance) -> None:
        for step in advance.steps:
            self.trace.record(step, self.visits)
            self._take(step)
        self.times.extend([(self.now - START) / SECOND] * (len(self.trace.events) - len(self.times)))
        match advance.outcome:
            case Succeeded(output=output):
                self.end = {"status": "SUCCEEDED", "output": output}
            case Failed(error=error, cause=cause):
                self.end = {"status": "FAILED", "error": error, "cause": cause}
            case _:
                self._note_consequences(advance)

    def _take(self, step: Step) -> None:
        match step:
            case OpenTask():
                self._enter_task(step)
            case TakenSignal():
                self.outside.took(step.signal.number)
            case OpenWait() | Paused():
                self.visits[step.path] = step.entry
                at = step.until if isinstance(step, OpenWait) else self.now
                self.due.append(Due(at=at, kind="wake", path=step.path))
            case OpenScope():
                self.visits[step.path] = step
                self.scopes[step.path] = _SimulatedScope()
            case NeedItems():
                self.visits[step.path] = step.entry
            case Passed() | Ended() | Caught() | Closed() | Broke():
                self._leave(step.path)
            case Retried():
                self._try_again(step)
            case BranchEnded():
                owner, index = split_scope(step.scope)
                self.scopes[owner].results[index] = step.output
            case BranchFailed():
                owner, index = split_scope(step.scope)
                self.scopes[owner].results[index] = TOLERATED
                self.scopes[owner].failed += 1
            case _:
                pass

    def _note_consequences(self, advance: Advance) -> None:
        begun = {step.path for step in advance.steps if isinstance(step, OpenScope)}
        for step in advance.steps:
            if isinstance(step, NeedItems):
                self.needs.append(step)
            elif isinstance(step, BranchEnded | BranchFailed):
                owner = split_scope(step.scope)[0]
                scope = self.scopes.get(owner)
                self.joins[owner] = scope
                if isinstance(step, BranchFailed) and owner not in begun:
                    self.failures.append((step, scope))

    def _follow_up(self) -> None:
        """Act on what all steps bring, until nothing is left: failures are counted before scopes are joined."""
        while self.end is None:
            if self.failures:
                failed, scope = self.failures.popleft()
                if self._is_open(split_scope(failed.scope)[0], scope):
                    self._bear(failed)
            elif self.needs:
                needed = self.needs.popleft()
                if needed.path in self.visits:
                    self._supply(needed)
            elif self.joins:
                owner = next(iter(self.joins))
                if self._is_open(owner, self.joins.pop(owner)):
                    self._join(owner)
            else:
                return

    def _is_open(self, owner: str, scope: "_SimulatedScope | None") -> bool:
        """Return True if the Parallel or Map is still open in the same visit, the one that `scope` joins."""
        return self.end is None and scope is not None and self.scopes.get(owner) is scope

    def _enter_task(self, task: OpenTask) -> None:
        """Open a task. A waiting task that is retried is entered again in the same visit."""
        if task.path not in self.again:
            self.begun[task.path] = (self.calls, 0)
        self.again.discard(task.path)
        self._open_task(task, self.now)

    def _open_task(self, task: OpenTask, at: int) -> None:
        self.visits[task.path] = task.entry
        self.outside.begin(task, at)
        self.due.append(Due(at=at, kind="task", path=task.path, task=task))

    def _try_again(self, step: Retried) -> None:
        self.visits[step.path] = step.entry
        self._forget(lambda path: path == step.path)
        if step.task is not None and step.task.waits_as is None:
            self._open_task(step.task, step.not_before)
        else:
            self.again |= {step.path} if step.task is not None else set()
            self.due.append(Due(at=step.not_before, kind="wake", path=step.path))

    def _leave(self, path: str) -> None:
        if path not in self.visits:
            return  # entered and left in the same call of the engine
        self.visits.pop(path, None)
        self._forget(lambda other: other == path)
        if self.scopes.pop(path, None) is None:
            return
        self.visits = {other: visit for other, visit in self.visits.items() if not within(other, path)}
        self.scopes = {other: scope for other, scope in self.scopes.items() if not within(other, path)}
        self._forget(lambda other: within(other, path))

    def _forget(self, is_over: Callable[[str], bool]) -> None:
        """Drop the due events of states, and their waits for something outside."""
        self.due = [event for event in self.due if not is_over(event.path)]
        for path in [path for path in self.outside.waiting if is_over(path)]:
            del self.outside.waiting[path]

    def _join(self, owner: str) -> None:
        opened, scope = self.visits[owner], self.scopes[owner]
        if not isinstance(opened, OpenScope) or len(scope.results) < opened.size:
            return
        self._call(engine.join, owner, [scope.results[index] for index in range(opened.size)])

    def _bear(self, step: BranchFailed) -> None:
        owner, index = split_scope(step.scope)
        opened, scope = self.visits[owner], self.scopes[owner]
        assert isinstance(opened, OpenScope), "it has a join"
        following = next_item(opened, index)
        if exceeds(opened.tolerance, scope.failed, opened.size):
            self._call(engine.fail, owner, step.error, step.cause)
        elif following is not None:
            self._call(engine.open_item, owner, following)

    def _supply(self, step: NeedItems) -> None:
        try:
            items = bring(step, GivenFiles(texts=self.files, modified=START // SECOND))
        except StateError as error:
            self._call(engine.fail, step.path, error.error, error.cause)
            return
        self._call(engine.supply_items, step.path, items)

    def _asked_task(self, task: OpenTask) -> AskedTask:
        name, state = self.trace.name(task.path), self.outside.task(task.path)
        self.task_calls.append({"state": name, "path": task.path, "input": task.effective})
        visit, attempts = self.begun[task.path]
        self.begun[task.path] = (visit, attempts + 1)
        return AskedTask(
            name=name,
            path=task.path,
            given=task.effective,
            attempt=attempts + 1,
            visit=visit,
            at=self.now,
            timeout_s=task.timeout_s,
            heartbeat_s=task.heartbeat_s,
            brief=state.brief,
            kind=state.served_by.kind,
            is_invocation=state.served_by.is_invocation,
        )

    def _delay(self, task: OpenTask, answer: Answer) -> None:
        """Let an answer come later, or the task time out before it does."""
        limit_s = min(task.timeout_s or DEFAULT_TIMEOUT_S, task.heartbeat_s or DEFAULT_TIMEOUT_S)
        if answer["after"] >= limit_s:
            self._let_expire(task, {"never": True})
        else:
            at = self.now + round(answer["after"] * SECOND)
            self.due.append(Due(at=at, kind="expires", path=task.path, task=task, answer=answer))

    def _let_expire(self, task: OpenTask, answer: Answer) -> None:
        timeout, heartbeat = task.timeout_s or DEFAULT_TIMEOUT_S, task.heartbeat_s or DEFAULT_TIMEOUT_S
        error = HEARTBEAT if heartbeat < timeout else TIMEOUT
        failure = {"error": answer.get("error", error), "cause": answer.get("cause")}
        at = self.now + min(timeout, heartbeat) * SECOND
        self.due.append(Due(at=at, kind="expires", path=task.path, task=task, answer=failure))


def _time(event: Due) -> int:
    return event.at


@lru_cache(maxsize=64)
def text_of(micros: int) -> str:
    """Return an instant as the engine's clock has it."""
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
