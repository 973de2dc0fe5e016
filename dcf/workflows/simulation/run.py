"""Runs a machine in memory: checks what it is given, and starts the loop (`workflows/simulation/loop.py`)."""

import random
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from dcf.asl.machine import Machine
from dcf.asl.syntax.parsing import parse_machine
from dcf.core.definitions.forms import as_workflow
from dcf.core.documents.stored_values import object_of
from dcf.errors import InvalidDefinition
from dcf.steps.plain_values import plain
from dcf.values.json_text import Json, check, dump, load, parse_workflow
from dcf.workflows.simulation.due import OutsideTasks, SimulatedSignal
from dcf.workflows.simulation.given import Answer, Answers, AskedTask, Mocks, context_of
from dcf.workflows.simulation.loop import START, Played, Simulation, text_of

MAX_DEFINITION: Final = 1024 * 1024


def simulate(
    definition: Json,
    run_input: Json,
    mocks: Mocks | None = None,
    *,
    schedule: random.Random | None = None,
    context: Mapping[str, Json] | None = None,
    files: Mapping[str, str] | None = None,
    signals: Sequence[SimulatedSignal] = (),
    seed: str = "simulation",
) -> dict[str, Json]:
    """Run a machine, or that of a workflow document, to its end.

    Returns the status, the output or the error and cause, the trace of states and the calls of tasks. `files` maps
    `bucket/key` to the text that an ItemReader reads there, `signals` are sent into the run. Raises InvalidDefinition
    with every problem found, and InvalidArgument for anything else that cannot be run.
    """
    answer = Answers({} if mocks is None else mocks).take
    options: dict[str, Any] = {"schedule": schedule, "context": context, "files": files, "signals": signals}
    played = play(definition, plain(run_input), answer, seed=seed, **options)
    return {**played.end, "trace": played.trace, "task_calls": played.task_calls}


def play(
    definition: Json,
    run_input: Json,
    answer: Callable[[AskedTask], Answer],
    *,
    schedule: random.Random | None = None,
    context: Mapping[str, Json] | None = None,
    files: Mapping[str, str] | None = None,
    signals: Sequence[SimulatedSignal] = (),
    hand_out: Callable[[AskedTask], Answer | None] | None = None,
    seed: str = "simulation",
) -> Played:
    """Run a machine to its end as `simulate` does; `answer` is asked at each Task.

    `hand_out` is the work of an agent that hands a task token out; it returns a failure, if there is one.
    """
    document = parse_workflow(definition, name="definition", max_bytes=MAX_DEFINITION)
    workflow = as_workflow(document)
    machine = _machine(dump(workflow.get("asl", workflow) if isinstance(workflow, dict) else workflow))
    around = context_of(check(run_input, name="run_input"), text_of(START), {} if context is None else context)
    simulation = Simulation(
        machine=machine,
        context=around,
        outside=OutsideTasks(run=str(object_of(around.get("Execution")).get("Name")), machine=machine),
        answer=answer,
        hand_out=hand_out,
        sent=tuple(signals),
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
