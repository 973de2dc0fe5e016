"""Runs a workflow with its Python functions in a test: in memory, with virtual time, and tells the story of the run.

The engine is that of a run (`dcf.asl`), and so are the rules of people, signals, callbacks and child runs (`dcf.core`).
Functions are called as a worker calls them. No Redis is needed. Waits, retries and timeouts pass in virtual time: a
test of a workflow that takes a week takes a moment.

    from dcf import testing

    story = testing.run(WORKFLOW, {"names": ["Ada"]}, answers={"Approve": {"choice": "approve"}})
    assert story.status == "succeeded"
    assert story.state("Charge").attempts == 2
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from dcf.asl.machine import Task, every_state
from dcf.asl.syntax.parsing import parse_machine
from dcf.core.definitions.context import context_of
from dcf.core.definitions.forms import as_workflow
from dcf.errors import InvalidArgument
from dcf.steps.arguments import checked_input
from dcf.steps.plain_values import plain
from dcf.steps.vocabulary import Flow
from dcf.values.instants import SECOND, to_text
from dcf.values.json_text import YAML_SUFFIXES, Json, load
from dcf.values.records import record
from dcf.worker.calls import TaskCall, Work
from dcf.worker.context import TaskContext, idempotency_key_of
from dcf.worker.failure import ACCOUNT_LIMIT
from dcf.worker.flow_functions import functions_of
from dcf.worker.functions import TaskFunction, TaskPlan, plan_of
from dcf.worker.parking import is_parked
from dcf.worker.registry import FUNCTIONS
from dcf.worker.results import Result, mismatched
from dcf.workflows.simulation.due import SimulatedSignal
from dcf.workflows.simulation.given import Answer, AskedTask, refuse_misfit
from dcf.workflows.simulation.loop import AGENT
from dcf.workflows.simulation.run import play

Testable: TypeAlias = Flow[..., Any] | Mapping[str, Json] | str | Path
"""A flow, a document, its JSON text, or the path of its file."""

RUN_ID: Final = "test-run"
"""The default id of the run."""


@record(frozen=True, slots=True)
class After:
    """An answer that comes `seconds` of virtual time later. If the Task has timed out by then, it is too late."""

    seconds: float
    answer: object = None


@record(frozen=True, slots=True)
class NoAnswer:
    """An answer that never comes: the Task waits for its timeout, and without a timeout the run is stuck."""


NEVER: Final = NoAnswer()


@record(frozen=True, slots=True, kw_only=True)
class StateVisit:
    """One visit of a state. `attempts` counts how often it was tried, `errors` are those of the attempts that failed.

    `status` is succeeded, caught, failed, or open if the run ended before it did. Times are seconds from the beginning.
    """

    name: str
    path: str
    type: str
    input: Json
    output: Json = None
    status: str = "open"
    attempts: int = 1
    errors: tuple[str | None, ...] = ()
    entered_at: float = 0.0
    left_at: float | None = None


@record(frozen=True, slots=True, kw_only=True)
class LogLine:
    """A line that a function wrote with `context.log`."""

    state: str
    message: str
    fields: Mapping[str, Json]


@record(frozen=True, slots=True, kw_only=True)
class Story:
    """The result of a test run. `status` is succeeded, failed, or running if it waits for an event that never comes.

    `visits` are the states in the order in which they were entered, `elapsed` the seconds that passed in virtual time,
    `log` the lines of the functions, `events` everything in order: entered, retried, caught, failed, exited.
    """

    status: str
    output: Json = None
    error: str | None = None
    cause: str | None = None
    elapsed: float = 0.0
    visits: tuple[StateVisit, ...] = ()
    log: tuple[LogLine, ...] = ()
    events: tuple[Mapping[str, Json], ...] = ()

    @property
    def visited(self) -> list[str]:
        """The names of the states in the order in which they were entered, one for each visit."""
        return [visit.name for visit in self.visits]

    def all(self, state: str) -> list[StateVisit]:
        """Return the visits of a state, named by name or by path."""
        return [visit for visit in self.visits if state in (visit.name, visit.path)]

    def state(self, state: str) -> StateVisit:
        """Return the only visit of a state, by name or path; raise InvalidArgument if there are none or several."""
        documents = self.all(state)
        if len(documents) == 1:
            return documents[0]
        known = ", ".join(dict.fromkeys(visit.path for visit in self.visits))
        why = "was never entered" if not documents else f"was entered {len(documents)} times"
        raise InvalidArgument(f"The state '{state}' {why}.", f"Entered were: {known}. `all` returns every visit.")

    def __str__(self) -> str:
        end = self.status if self.error is None else f"{self.status}: {self.error}: {self.cause}"
        lines = [f"{visit.path}: {visit.status}, attempts {visit.attempts}" for visit in self.visits]
        return "\n".join([f"{end} after {self.elapsed:g} s", *lines])


def run(
    workflow: Testable,
    run_input: Json = None,
    functions: Mapping[str, TaskFunction] | None = None,
    *,
    answers: Mapping[str, object] | None = None,
    files: Mapping[str, str] | None = None,
    signals: Iterable[SimulatedSignal] = (),
    workflow_id: str = RUN_ID,
) -> Story:
    """Run a workflow to its end and return its story.

    `workflow` is a flow, a document, its JSON text, or the path of its file. `functions` are by state; default: those
    of the flow, or all that are registered with `@task("Name")`. `answers` are by state too and stand in for functions,
    and for what no function does. An answer is one of these: the output of the Task, an exception (it is raised), a
    function, `After(seconds, answer)`, `NEVER`. As in a run, an output must match its Task's OutputSchema.

    Of a Task that waits for something outside, the answer is what comes, and the rules of a run make the output of it:
    of a person `{"choice", "comment", "answer", "answered_by", "group"}`, of a signal its payload, of a callback its
    output or failure (a function hands the token out), of a child run its output or failure. `signals` are sent into
    the run, whatever waits for them. `files` maps `bucket/key` to the text that a Map reads.

    Raises InvalidDefinition for a workflow with problems, and InvalidArgument for a Task without an answer, or an
    answer that a run would refuse.
    """
    document, own, run_input = _read(workflow, run_input)
    machine = as_workflow(document).get("asl") if isinstance(document, dict) else document
    _check_names(machine, [*(functions or {}), *(answers or {})])
    sent = tuple(signals)
    own = own if functions is None else {**(own if isinstance(workflow, Flow) else {}), **functions}
    cast = _Cast(workflow_id, own, answers or {}, is_signalled=bool(sent))
    name = document.get("workflow_name", "test") if isinstance(document, dict) else "test"
    context = context_of(workflow_id, str(name), run_input, _BEGAN, secret=workflow_id)
    played = play(machine, run_input, cast.answer, context=context, files=files, signals=sent, hand_out=cast.hand_out)
    events = tuple({**event, "at": at} for event, at in zip(played.trace, played.times, strict=True))
    end = played.end
    status = {"SUCCEEDED": "succeeded", "RUNNING": "running"}.get(end["status"], "failed")
    return Story(
        status=status,
        output=end.get("output"),
        error=end.get("error"),
        cause=end.get("cause"),
        elapsed=played.elapsed_s,
        visits=_visits(events),
        log=tuple(cast.lines),
        events=events,
    )


def _read(workflow: Testable, run_input: Json) -> tuple[Json, Mapping[str, TaskFunction], Json]:
    """Return the document of a workflow in any form, the functions that belong to it, and its input."""
    if isinstance(workflow, Flow):
        from dcf.flow.compiling import compile_flow  # noqa: PLC0415 - for flows only

        compiled = compile_flow(workflow)
        return (
            compiled.document,
            functions_of(compiled),
            checked_input(workflow, {} if run_input is None else plain(run_input)),
        )
    document = _read_text(workflow) if isinstance(workflow, str | Path) else workflow
    return document, FUNCTIONS, plain(run_input)


def _read_text(workflow: str | Path) -> Json:
    """Return the document of a JSON text, or of a file; raise InvalidArgument for other values."""
    text, named = str(workflow), "The text"
    if isinstance(workflow, Path) or not text.lstrip().startswith("{"):
        named, file = text, Path(text)
        if not file.is_file():
            raise InvalidArgument(f"There is no file {named}.", "Pass a flow, a document, its JSON text, or its path.")
        if file.suffix == ".py":
            raise InvalidArgument(f"{named} is a file of Python.", "Import the flow from it, and pass the flow.")
        text = file.read_text("utf-8")
        if file.suffix in YAML_SUFFIXES:
            from dcf.authoring.yaml_documents import json_of_yaml  # noqa: PLC0415 - only YAML needs its parser

            text = json_of_yaml(text, named)
    try:
        return load(text)
    except ValueError as error:
        raise InvalidArgument(f"{named} is not JSON: {error}.", "Pass a workflow document in JSON.") from None


def context(state: str = "Test", *, workflow_id: str = RUN_ID, attempt: int = 1, visit: int = 0) -> TaskContext:
    """Return a context to call one function with. Its heartbeats and lines go nowhere; set `cancelled` to cancel it."""
    key = idempotency_key_of(workflow_id, state, visit)
    return TaskContext(workflow_id=workflow_id, state=state, attempt=attempt, epoch=attempt, idempotency_key=key)


_BEGAN: Final = "2026-01-01T00:00:00.000Z"


@dataclass(slots=True)
class _Cast:
    """The functions and answers for the Tasks of a run; also the office of the calls, which keeps their log lines."""

    workflow_id: str
    functions: Mapping[str, TaskFunction]
    answers: Mapping[str, object]
    lines: list[LogLine] = field(default_factory=list)
    plans: dict[str, TaskPlan] = field(default_factory=dict)
    epoch: int = 0
    agent_id: str = AGENT
    is_signalled: bool = False

    def answer(self, task: AskedTask) -> Answer:
        """Return the answer of a Task: what was given for it, or what its function returns."""
        if task.name in self.answers:
            return self._scripted_answer(task, self.answers[task.name])
        if task.kind == "signal" and self.is_signalled:
            return {"never": True}
        if task.name in self.functions and task.kind == "callback":
            return {"never": True}  # the function handed the token out, and no caller uses it
        if task.name not in self.functions:
            raise InvalidArgument(
                f"The Task '{task.name}' has neither a function nor an answer.",
                f"Register one with @task, or pass answers={{'{task.name}': its output}}.",
            )
        return self._called(task, self.functions[task.name])

    def hand_out(self, task: AskedTask) -> Answer | None:
        """Let the function of a Task hand its task token out; return its failure, if it has one."""
        if task.name not in self.functions:
            return None
        result = self._called(task, self.functions[task.name])
        return result if "error" in result else None

    def _scripted_answer(self, task: AskedTask, answer: object) -> Answer:
        match answer:
            case After(seconds=seconds, answer=later):
                return {**self._scripted_answer(task, later), "after": seconds}
            case NoAnswer():
                return {"never": True}
            case BaseException():
                return self._called(task, partial(_raise, answer))
        if callable(answer):
            return self._called(task, answer)
        output = plain(answer)
        if task.kind == "work":
            refuse_misfit(task, output)
        return {"output": output}

    def _called(self, task: AskedTask, function: TaskFunction) -> Answer:
        plan = self.plans.get(task.name) or plan_of(function, task.name)
        self.plans[task.name] = plan
        result = TaskCall(self._work(task), plan, self).run()
        assert result is not None, "a call in a test is never cancelled"
        answer = _answer_of(result)
        brief = task.brief if task.kind == "work" else None
        misfits = () if brief is None or "output" not in answer else brief.misfits(answer["output"])
        return _answer_of(mismatched([misfit.as_json() for misfit in misfits], result)) if misfits else answer

    def _work(self, task: AskedTask) -> Work:
        self.epoch += 1
        ends = None if task.timeout_s is None else to_text(task.at + task.timeout_s * SECOND)
        return Work(
            workflow_id=self.workflow_id,
            state=task.path,
            token=f"{task.path} {self.epoch}",
            given=task.given,
            attempt=task.attempt,
            epoch=self.epoch,
            visit=task.visit,
            deadline=ends,
            heartbeat_s=task.heartbeat_s,
            is_invocation=task.is_invocation,
            **_brief_members(task),
        )

    def renew(self, work: Work) -> str | None:  # noqa: ARG002 - the protocol's argument
        """Let every heartbeat through."""
        return None

    def log_event(self, work: Work, number: int, message: str, fields: Mapping[str, Json]) -> str | None:  # noqa: ARG002
        """Keep a line."""
        self.lines.append(LogLine(state=work.state, message=message, fields=dict(fields)))
        return None

    def leave_note(self, work: Work, text: str) -> dict[str, Json]:
        """Keep a note as a line."""
        self.lines.append(LogLine(state=work.state, message=text, fields={}))
        return {"code": "ok"}

    def ask_question(self, work: Work, question: str, choices: Sequence[str]) -> dict[str, Json]:  # noqa: ARG002
        """Refuse a question, since a test has no person or agent that could answer it."""
        return {"code": "refused", "error": "In a test no question is answered."}


def _raise(error: BaseException, _: Json) -> None:
    raise error


def _brief_members(task: AskedTask) -> dict[str, Json]:
    """Return what the Task tells its worker, as fields of its work."""
    brief = task.brief
    if brief is None:
        return {}
    text = None if brief.instructions is None else brief.instructions.shown(task.given)
    return {"instructions": text, "output_schema": brief.schema, "errors": brief.errors or ()}


def _answer_of(result: Result) -> Answer:
    if result["new_status"] == "succeeded":
        return {"output": load(result["output_json"])}
    if is_parked(result):  # a test does not wait, so the limit is reported as the failure that ends a long parking
        return {"error": ACCOUNT_LIMIT, "cause": result["reason"]}
    return {"error": result["error_name"], "cause": result["error_message"]}


def _check_names(machine: Json, names: Iterable[str]) -> None:
    """Raise InvalidArgument for a name that no Task has. Problems of the workflow itself are reported by its run."""
    parsed, _ = parse_machine(machine)
    if parsed is None:
        return
    tasks = [name for name, state in every_state(parsed) if isinstance(state, Task)]
    for name in names:
        if name not in tasks:
            near = difflib.get_close_matches(name, tasks, 1)
            hint = f"Did you mean '{near[0]}'?" if near else f"The Tasks are: {', '.join(tasks)}."
            raise InvalidArgument(f"No Task of the workflow has the name '{name}'.", hint)


def _visits(events: Iterable[Mapping[str, Json]]) -> tuple[StateVisit, ...]:
    """Return the visits in the events, in the order in which they began."""
    visits: list[StateVisit] = []
    current: dict[str, int] = {}
    for event in events:
        path = event["path"]
        if event["event"] == "entered":
            current[path] = len(visits)
            name, kind = event["state"], event["type"]
            visits.append(StateVisit(name=name, path=path, type=kind, input=event["input"], entered_at=event["at"]))
            continue
        at = current.setdefault(path, len(visits))
        if at == len(visits):  # a state that is passed in one step has only an event of its end
            visits.append(StateVisit(name=event["state"], path=path, type=event["type"], input=None))
        visits[at] = _after(visits[at], event)
    return tuple(visits)


def _after(visit: StateVisit, event: Mapping[str, Json]) -> StateVisit:
    """Return the visit with what an event adds."""
    match event["event"]:
        case "retried":
            return replace(visit, attempts=visit.attempts + 1, errors=(*visit.errors, event.get("error")))
        case "caught":
            return replace(visit, status="caught", errors=(*visit.errors, event.get("error")))
        case "failed":
            return replace(visit, status="failed", errors=(*visit.errors, event.get("error")), left_at=event["at"])
        case "exited":
            status = "succeeded" if visit.status == "open" else visit.status
            return replace(visit, status=status, output=event.get("output"), left_at=event["at"])
    return visit
