"""A whole run in one process: the engine driven with virtual time and mocked tasks.

For trying a workflow out and for tests; nothing is stored and no agent is asked. Which open task or timer goes
next may be left to chance, which must never change the result.
"""

import io
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import md5
from typing import Final, Literal, TextIO, TypeAlias

from dcf.asl import engine
from dcf.asl.item_sources import Listed, bring, missing, name_of
from dcf.asl.machine import Machine
from dcf.asl.parsing import parse_machine
from dcf.asl.places import ancestors, resolve
from dcf.asl.state_paths import open_scope, split_scope, within
from dcf.asl.steps import (
    TOLERATED,
    Advance,
    BranchEnded,
    BranchFailed,
    Broke,
    Caught,
    Closed,
    Ended,
    Entered,
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
from dcf.values.json_text import Json, dump, load

Mocks: TypeAlias = Mapping[str, Sequence[Mapping[str, Json]]]
"""By the name of a Task, what it answers call by call: `{output}`, `{error, cause}`, `{timed_out}` or `{never}`.

With an `input` an answer serves a call of just that input first.
"""

MAX_CALLS: Final = 100_000
MAX_TRACE: Final = 1_000_000
"""Entries of a trace; nested Maps of silent states could otherwise fill the memory."""

DEFAULT_TIMEOUT_S: Final = 99_999_999
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_START: Final = 1_767_225_600 * SECOND


def simulate(
    definition: Json,
    run_input: Json,
    mocks: Mocks | None = None,
    *,
    schedule: random.Random | None = None,
    context: Mapping[str, Json] | None = None,
    files: Mapping[str, str] | None = None,
    seed: str = "simulation",
) -> dict[str, Json]:
    """Run a machine, or the `asl` of a workflow document, to its end.

    Answers the status, the output or the error and cause, the trace of states and the calls of tasks. `files` maps
    `bucket/key` to the text that an ItemReader finds there. Raise InvalidDefinition with every problem found.
    """
    wanted = definition.get("asl", definition) if isinstance(definition, dict) else definition
    machine = _machine(dump(wanted))
    simulation = _Simulation(
        machine=machine,
        context=_context(run_input, context or {}),
        answers={name: list(answers) for name, answers in (mocks or {}).items()},
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


def _context(run_input: Json, given: Mapping[str, Json]) -> dict[str, Json]:
    execution = {
        "Id": "arn:aws:states:us-east-1:123456789012:execution:simulated:run",
        "Input": run_input,
        "Name": "run",
        "RoleArn": "arn:aws:iam::123456789012:role/simulated",
        "StartTime": _text(_START),
        "RedriveCount": 0,
    }
    machine = {"Id": "arn:aws:states:us-east-1:123456789012:stateMachine:simulated", "Name": "simulated"}
    return {"Execution": execution, "StateMachine": machine, **given}


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenFiles:
    """Files that are given as text, by `bucket/key`."""

    texts: Mapping[str, str] = field(default_factory=dict)
    modified: int = 0

    def open(self, bucket: str | None, key: str) -> AbstractContextManager[TextIO]:
        """Open a text that was given."""
        name = name_of(bucket, key)
        if name not in self.texts:
            raise missing(bucket, key)
        return io.StringIO(self.texts[name].removeprefix("\ufeff"), newline="")

    def listing(self, bucket: str | None, prefix: str) -> Iterator[Listed]:
        """List the texts that were given."""
        start = name_of(bucket, "")
        for name in sorted(self.texts):
            if name.startswith(start + prefix):
                content = self.texts[name].encode("utf-8", "replace")
                etag = md5(content, usedforsecurity=False).hexdigest()
                yield Listed(key=name.removeprefix(start), size=len(content), modified=self.modified, etag=etag)


@dataclass(slots=True, kw_only=True)
class _Due:
    """Something that will happen at a time: a task is answered, a state goes on by itself, or a task is out of time."""

    at: int
    what: Literal["task", "wake", "expires"]
    path: str
    task: OpenTask | None = None
    answer: Mapping[str, Json] | None = None


@dataclass(slots=True, kw_only=True)
class _SimulatedScope:
    """The join of a scope that outlived the call that opened it."""

    results: dict[int, Json] = field(default_factory=dict)
    failed: int = 0


@dataclass(slots=True, kw_only=True)
class _Simulation:
    machine: Machine
    context: Mapping[str, Json]
    answers: dict[str, list[Mapping[str, Json]]]
    files: Mapping[str, str]
    schedule: random.Random | None
    seed: str
    now: int = _START
    calls: int = 0
    visits: dict[str, Visit] = field(default_factory=dict)
    scopes: dict[str, _SimulatedScope] = field(default_factory=dict)
    due: list[_Due] = field(default_factory=list)
    trace: list[Json] = field(default_factory=list)
    task_calls: list[Json] = field(default_factory=list)
    known: dict[str, tuple[str, str]] = field(default_factory=dict)
    end: dict[str, Json] | None = None

    def run(self, run_input: Json) -> dict[str, Json]:
        limit = self.machine.timeout_s
        deadline = None if limit is None else self.now + limit * SECOND
        self._apply(engine.start(self.machine, run_input, self.context, self._clock()))
        while self.end is None:
            event = self._next()
            if event is None:
                self.end = {"status": "RUNNING"}
            elif deadline is not None and event.at >= deadline:
                self.end = {"status": "TIMED_OUT", "error": "States.Timeout", "cause": None}
            else:
                self.now = max(self.now, event.at)
                self._happen(event)
        return {**self.end, "trace": self.trace, "task_calls": self.task_calls}

    def _next(self) -> _Due | None:
        if not self.due:
            return None
        if self.schedule is not None:
            # Any open task may answer next; timers keep their order, for time does not run backwards.
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
        if event.answer is None and (answer.get("timed_out") or answer.get("never")):
            self._let_expire(event.task, answer)
        elif "output" in answer:
            self._call(engine.complete, event.path, answer["output"])
        else:
            self._call(engine.fail, event.path, answer.get("error"), answer.get("cause"))

    def _call(self, function: Callable[..., Advance], path: str, *arguments: Json) -> None:
        self.calls += 1
        if self.calls > MAX_CALLS:
            raise InvalidArgument(f"The run goes on after {MAX_CALLS} steps.")
        owners = ancestors(path)
        visits = {owner: self.visits[owner] for owner in owners}
        if path in self.visits:
            visits[path] = self.visits[path]
        self._apply(function(self.machine, path, visits, *arguments, self.context, self._clock()))

    def _clock(self) -> Clock:
        return Clock(now=_text(self.now), micros=self.now, seed=f"{self.seed} {self.calls}")

    def _apply(self, advance: Advance) -> None:
        for step in advance.steps:
            self._record(step)
            self._take(step)
        match advance.outcome:
            case Succeeded(output=output):
                self.end = {"status": "SUCCEEDED", "output": output}
            case Failed(error=error, cause=cause):
                self.end = {"status": "FAILED", "error": error, "cause": cause}
            case _:
                for step in advance.steps:
                    self._follow_up(step)

    def _take(self, step: Step) -> None:
        match step:
            case OpenTask():
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

    def _follow_up(self, step: Step) -> None:
        """Do what the steps ask for once all are applied; another step's doing may have made it void."""
        if self.end is not None:
            return
        match step:
            case NeedItems() if step.path in self.visits:
                self._supply(step)
            case BranchEnded():
                self._join(split_scope(step.scope)[0])
            case BranchFailed():
                self._bear(step)
            case _:
                pass

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
            return  # it was entered and left in one call
        self.visits.pop(path, None)
        self.due = [event for event in self.due if event.path != path]
        if self.scopes.pop(path, None) is None:
            return
        self.visits = {other: visit for other, visit in self.visits.items() if not within(other, path)}
        self.scopes = {other: scope for other, scope in self.scopes.items() if not within(other, path)}
        self.due = [event for event in self.due if not within(event.path, path)]

    def _join(self, owner: str) -> None:
        opened, scope = self.visits.get(owner), self.scopes.get(owner)
        if not isinstance(opened, OpenScope) or scope is None or len(scope.results) < opened.size:
            return
        self._call(engine.join, owner, [scope.results[index] for index in range(opened.size)])

    def _bear(self, step: BranchFailed) -> None:
        owner, index = split_scope(step.scope)
        opened, scope = self.visits.get(owner), self.scopes.get(owner)
        if not isinstance(opened, OpenScope) or scope is None:
            return
        visits = {path: self.visits[path] for path in (*ancestors(owner), owner)}
        if exceeds(opened.tolerance, scope.failed, opened.size):
            arguments = (step.error, step.cause, self.context, self._clock())
            self._apply(engine.branch_failed(self.machine, step.scope, visits, *arguments))
            return
        following = next_item(opened, index)
        if following is not None and following not in scope.results and not self._started(owner, following):
            self.calls += 1
            self._apply(engine.open_item(self.machine, owner, following, visits, self.context, self._clock()))
        self._join(owner)

    def _started(self, owner: str, index: int) -> bool:
        scope = f"{open_scope(owner, index)}/"
        return any(path.startswith(scope) for path in self.visits)

    def _supply(self, step: NeedItems) -> None:
        try:
            found = bring(step, GivenFiles(texts=self.files, modified=_START // SECOND))
        except StateError as error:
            self._call(engine.fail, step.path, error.error, error.cause)
            return
        self._call(engine.supply_items, step.path, found)

    def _answer(self, task: OpenTask) -> Mapping[str, Json]:
        name, _ = self._known(task.path)
        self.task_calls.append({"state": name, "path": task.path, "input": task.effective})
        answers = self.answers.get(name, [])
        exact = next((answer for answer in answers if "input" in answer and answer["input"] == task.effective), None)
        answer = exact or (answers[0] if answers else None)
        if answer is None:
            return {"output": task.effective}
        answers.remove(answer)
        return answer

    def _let_expire(self, task: OpenTask, answer: Mapping[str, Json]) -> None:
        limits = [limit for limit in (task.timeout_s, task.heartbeat_s) if limit is not None]
        at = self.now + min(limits, default=DEFAULT_TIMEOUT_S) * SECOND
        failure = {"error": answer.get("error", "States.Timeout"), "cause": answer.get("cause")}
        self.due.append(_Due(at=at, what="expires", path=task.path, task=task, answer=failure))

    def _record(self, step: Step) -> None:
        match step:
            case Passed():
                self._trace("entered", step.path, input=step.input)
                self._trace("exited", step.path, output=step.output)
            case OpenTask() | OpenWait() | OpenScope() | NeedItems() | Entered():
                self._trace("entered", step.path, input=step.entry.raw)
            case Ended():
                self._trace("exited", step.path, output=step.output)
            case Retried():
                self._trace("retried", step.path, error=step.error, cause=step.cause)
            case Caught():
                self._trace("caught", step.path, error=step.error, cause=step.cause)
                self._trace("exited", step.path, output=step.output)
            case Broke():
                self._trace("failed", step.path, error=step.error, cause=step.cause)
            case _:
                pass

    def _trace(self, event: str, path: str, **data: Json) -> None:
        if len(self.trace) >= MAX_TRACE:
            raise InvalidArgument(f"The run goes on after {MAX_TRACE} entries of its trace.")
        name, kind = self._known(path)
        self.trace.append({"event": event, "state": name, "path": path, "type": kind, **data})

    def _known(self, path: str) -> tuple[str, str]:
        """Tell the name and the type of a state."""
        found = self.known.get(path)
        if found is None:
            place = resolve(self.machine, path)
            found = self.known[path] = (place.name, place.state.kind)
        return found


def _time(event: _Due) -> int:
    return event.at


@lru_cache(maxsize=64)
def _text(micros: int) -> str:
    return (_EPOCH + timedelta(microseconds=micros)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
