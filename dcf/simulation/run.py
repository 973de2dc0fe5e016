"""The loop of a simulated run: takes what is due next, calls the engine, and joins the scopes."""

import random
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final, Literal

from dcf.asl import engine
from dcf.asl.item_sources import bring
from dcf.asl.machine import Machine
from dcf.asl.parsing import parse_machine
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
    Visit,
    exceeds,
    next_item,
)
from dcf.asl.surroundings import SECOND, Clock
from dcf.errors import InvalidArgument, InvalidDefinition, StateError
from dcf.simulation.given import Answer, Answers, AskedTask, GivenFiles, Mocks, brief_at, context_of
from dcf.simulation.trace import Trace
from dcf.values.json_text import Json, check, dump, load, parse_workflow
from dcf.values.records import record

MAX_CALLS: Final = 100_000
MAX_DEFINITION: Final = 1024 * 1024
DEFAULT_TIMEOUT_S: Final = 99_999_999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_START: Final = 1_767_225_600 * SECOND
_END_OF_TIME: Final = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def simulate(
    definition: Json,
    run_input: Json,
    mocks: Mocks | None = None,
    *,
    schedule: random.Random | None = None,
    context: Mapping[str, Json] | None = None,
    files: Mapping[str, str] | None = None,
    seed: str = "simulation",
) -> dict[str, Any]:
    """Run a machine, or the `asl` of a workflow document, to its end.

    Returns the status, the output or the error and cause, the trace of states and the calls of tasks. `files` maps
    `bucket/key` to the text that an ItemReader reads there. Raises InvalidDefinition with every problem found, and
    InvalidArgument for anything else that cannot be run.
    """
    answer = Answers({} if mocks is None else mocks).take
    played = play(definition, run_input, answer, schedule=schedule, context=context, files=files, seed=seed)
    return {**played.end, "trace": played.trace, "task_calls": played.task_calls}


@record(frozen=True, slots=True, kw_only=True)
class Played:
    """A simulated run: its end, its trace with the seconds at which each entry happened, and the calls of tasks."""

    end: Mapping[str, Json]
    trace: list[Json]
    times: list[float]
    task_calls: list[Json]
    elapsed_s: float


def play(
    definition: Json,
    run_input: Json,
    answer: Callable[[AskedTask], Answer],
    *,
    schedule: random.Random | None = None,
    context: Mapping[str, Json] | None = None,
    files: Mapping[str, str] | None = None,
    seed: str = "simulation",
) -> Played:
    """Run a machine to its end as `simulate` does; `answer` is asked at each Task."""
    document = parse_workflow(definition, name="definition", max_bytes=MAX_DEFINITION)
    simulation = _Simulation(
        machine=_machine(dump(document.get("asl", document) if isinstance(document, dict) else document)),
        context=context_of(check(run_input, name="run_input"), _text(_START), {} if context is None else context),
        answer=answer,
        files=files or {},
        schedule=schedule,
        seed=seed,
    )
    return simulation.run(run_input)


@lru_cache(maxsize=256)
def _machine(text: str) -> Machine:
    machine, problems = parse_machine(load(text))
    if machine is None:
        raise InvalidDefinition(problems)
    return machine


@dataclass(slots=True, kw_only=True)
class _Due:
    """Something due at a time: the answer of a task, the continuation of a state, or the timeout of a task."""

    at: int
    what: Literal["task", "wake", "expires"]
    path: str
    task: OpenTask | None = None
    answer: Answer | None = None


@dataclass(slots=True, kw_only=True)
class _SimulatedScope:
    """The join of a scope that stayed open after the call that opened it."""

    results: dict[int, Json] = field(default_factory=dict)
    failed: int = 0


@dataclass(slots=True, kw_only=True)
class _Simulation:
    machine: Machine
    context: Mapping[str, Json]
    answer: Callable[[AskedTask], Answer]
    files: Mapping[str, str]
    schedule: random.Random | None
    seed: str
    now: int = _START
    calls: int = 0
    visits: dict[str, Visit] = field(default_factory=dict)
    scopes: dict[str, _SimulatedScope] = field(default_factory=dict)
    due: list[_Due] = field(default_factory=list)
    task_calls: list[Json] = field(default_factory=list)
    begun: dict[str, tuple[int, int]] = field(default_factory=dict)
    times: list[float] = field(default_factory=list)
    end: dict[str, Json] | None = None
    failures: deque[tuple[BranchFailed, "_SimulatedScope | None"]] = field(default_factory=deque)
    needs: deque[NeedItems] = field(default_factory=deque)
    joins: dict[str, "_SimulatedScope | None"] = field(default_factory=dict)
    trace: Trace = field(init=False)

    def __post_init__(self) -> None:
        self.trace = Trace(machine=self.machine)

    def run(self, run_input: Json) -> Played:
        limit = self.machine.timeout_s
        deadline = None if limit is None else self.now + limit * SECOND
        self._apply(engine.start(self.machine, run_input, self.context, self._clock()))
        self._settle()
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
                self._settle()
        return Played(
            end=self.end,
            trace=self.trace.events,
            times=self.times,
            task_calls=self.task_calls,
            elapsed_s=(self.now - _START) / SECOND,
        )

    def _let_pass(self, until: int) -> None:
        if until > _END_OF_TIME:
            raise InvalidArgument(
                "The run goes on after the year 9999.", "Make its Waits and retries shorter or fewer."
            )
        self.now = max(self.now, until)

    def _next(self) -> _Due | None:
        if not self.due:
            return None
        if self.schedule is not None:
            # Any open task may answer next; timers keep their order, since time does not run backwards.
            ready = [event for event in self.due if event.what == "task"] or [min(self.due, key=_time)]
            event = self.schedule.choice(ready)
        else:
            event = min(self.due, key=_time)
        self.due.remove(event)
        return event

    def _happen(self, event: _Due) -> None:
        if event.task is None:
            self._call(engine.wake, event.path)
            return
        answer = self._answer(event.task) if event.answer is None else event.answer
        if event.answer is None and answer.get("after"):
            self._delay(event.task, answer)
        elif event.answer is None and (answer.get("timed_out") or answer.get("never")):
            self._let_expire(event.task, answer)
        elif "output" in answer:
            self._call(engine.complete, event.path, answer["output"])
        else:
            self._call(engine.fail, event.path, answer.get("error"), answer.get("cause"))

    def _call(self, function: Callable[..., Advance], path: str, *arguments: Json) -> None:
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise InvalidArgument(f"The run goes on after {MAX_CALLS} steps.", "Let its loops end sooner.")
        owners = ancestors(path)
        visits = {owner: self.visits[owner] for owner in owners}
        if path in self.visits:
            visits[path] = self.visits[path]
        self._apply(function(self.machine, path, visits, *arguments, self.context, self._clock()))

    def _clock(self) -> Clock:
        return Clock(now=_text(self.now), micros=self.now, seed=f"{self.seed} {self.calls}")

    def _apply(self, advance: Advance) -> None:
        for step in advance.steps:
            self.trace.record(step, self.visits)
            self._take(step)
        self.times.extend([(self.now - _START) / SECOND] * (len(self.trace.events) - len(self.times)))
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
                self.begun[step.path] = (self.calls, 0)
                self._open_task(step, self.now)
            case OpenWait() | Paused():
                self.visits[step.path] = step.entry
                at = step.until if isinstance(step, OpenWait) else self.now
                self.due.append(_Due(at=at, what="wake", path=step.path))
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

    def _settle(self) -> None:
        """Act on the consequences of all steps, in the order of a run: failures are counted before scopes are joined.

        One consequence may bring others, and may cancel what other steps ask for.
        """
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

    def _open_task(self, task: OpenTask, at: int) -> None:
        self.visits[task.path] = task.entry
        self.due.append(_Due(at=at, what="task", path=task.path, task=task))

    def _try_again(self, step: Retried) -> None:
        self.visits[step.path] = step.entry
        if step.task is not None:
            self._open_task(step.task, step.not_before)
        else:
            self.due.append(_Due(at=step.not_before, what="wake", path=step.path))

    def _leave(self, path: str) -> None:
        if path not in self.visits:
            return  # entered and left in the same call of the engine
        self.visits.pop(path, None)
        self.due = [event for event in self.due if event.path != path]
        if self.scopes.pop(path, None) is None:
            return
        self.visits = {other: visit for other, visit in self.visits.items() if not within(other, path)}
        self.scopes = {other: scope for other, scope in self.scopes.items() if not within(other, path)}
        self.due = [event for event in self.due if not within(event.path, path)]

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
            found = bring(step, GivenFiles(texts=self.files, modified=_START // SECOND))
        except StateError as error:
            self._call(engine.fail, step.path, error.error, error.cause)
            return
        self._call(engine.supply_items, step.path, found)

    def _answer(self, task: OpenTask) -> Answer:
        name = self.trace.name(task.path)
        self.task_calls.append({"state": name, "path": task.path, "input": task.effective})
        visit, attempts = self.begun[task.path]
        self.begun[task.path] = (visit, attempts + 1)
        return self.answer(
            AskedTask(
                name=name,
                path=task.path,
                given=task.effective,
                attempt=attempts + 1,
                visit=visit,
                at=self.now,
                timeout_s=task.timeout_s,
                heartbeat_s=task.heartbeat_s,
                brief=brief_at(self.machine, task.path),
            )
        )

    def _delay(self, task: OpenTask, answer: Answer) -> None:
        """Let an answer come later, or the task time out before it does."""
        limit_s = min(task.timeout_s or DEFAULT_TIMEOUT_S, task.heartbeat_s or DEFAULT_TIMEOUT_S)
        if answer["after"] >= limit_s:
            self._let_expire(task, {"never": True})
        else:
            at = self.now + round(answer["after"] * SECOND)
            self.due.append(_Due(at=at, what="expires", path=task.path, task=task, answer=answer))

    def _let_expire(self, task: OpenTask, answer: Answer) -> None:
        timeout, heartbeat = task.timeout_s or DEFAULT_TIMEOUT_S, task.heartbeat_s or DEFAULT_TIMEOUT_S
        error = HEARTBEAT if heartbeat < timeout else TIMEOUT
        failure = {"error": answer.get("error", error), "cause": answer.get("cause")}
        at = self.now + min(timeout, heartbeat) * SECOND
        self.due.append(_Due(at=at, what="expires", path=task.path, task=task, answer=failure))


def _time(event: _Due) -> int:
    return event.at


@lru_cache(maxsize=64)
def _text(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
