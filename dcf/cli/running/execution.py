"""Carries out a workflow for `dcf run`: workers for its states, and a planner that uses only tools.

Progress is read as `dcf show` reads it, so a reading costs no more for a Map with many items.

Redis, the server and the task functions are tried before the run is created: a start that fails creates no run. A
later failure leaves the run as it is; a note on the error says how to continue it.
"""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

from dcf.cli.processes.planner import POLL_S, Planner, RunPlace
from dcf.cli.running.ending import Ending
from dcf.cli.running.run_request import Job
from dcf.cli.running.waits import Waits, waits_of
from dcf.errors import DcfError, ToolCallFailed
from dcf.values.json_text import Json, dump
from dcf.values.records import replace

Show = Callable[[Mapping[str, Json]], None]

_FIRST_POLL_S: Final = 0.02
"""Seconds before the second reading of the run. Each pause is half as long again, up to POLL_S: many runs are short."""
_LONGER: Final = 1.5


def execute(job: Job, show: Show, say: Callable[[str], None]) -> Ending:
    """Execute a run from start to audit; keep the logs of its processes if it did not succeed.

    `say` prints a sentence above the progress.

    Every error raised once the run may exist has a note (PEP 678) that says so.
    """
    deadline = time.monotonic() + job.timeout_s
    logs = Path(tempfile.mkdtemp(prefix="dcf-run-"))
    keeps_logs = False
    try:
        with ExitStack() as stack:
            planner = _start(job, RunPlace(logs, deadline, say), stack)
            with _left_open(job):
                _begin(job, planner)
                _watch(job, planner, show, Waits(job.run_id, say))
                ending = _ending(job, planner)
                planner.trace(job.run_id)
        keeps_logs = ending.result["status"] != "succeeded" and any(logs.iterdir())
    finally:
        if not keeps_logs:
            shutil.rmtree(logs, ignore_errors=True)
    return replace(ending, logs=logs if keeps_logs else None)


def _start(job: Job, place: RunPlace, stack: ExitStack) -> Planner:
    """Start the workers of the states; they stop when the stack is closed."""
    if job.direct and not job.copies:
        from dcf.cli.running.run_threads import start_here

        return start_here(job, place, stack)
    from dcf.cli.running import run_processes

    start = run_processes.start_without_server if job.direct else run_processes.start_with_server
    return start(job, place, stack)


class _OtherRun(ToolCallFailed):
    """A run of this id exists, with another definition or input: the same command does not continue it."""


@contextmanager
def _left_open(job: Job) -> Iterator[None]:
    """Add a note on how to continue the run to any error that ends the command early."""
    try:
        yield
    except _OtherRun:
        raise
    except (DcfError, KeyboardInterrupt) as error:
        error.add_note(f"Run {job.run_id} has not ended: the same command with --id {job.run_id} continues it.")
        raise


def _begin(job: Job, planner: Planner) -> None:
    started = planner.call(
        "start_run",
        workflow_json=dict(job.definition.document),
        workflow_id=job.run_id,
        input_json=dump(job.run_input),
        agents_map_json={state: ids if len(ids) > 1 else ids[0] for state, ids in job.agents.items()},
        keep=False,
    )
    if started.get("code") == "conflict":
        status = planner.overview(job.run_id)["meta"]["status"]
        raise _OtherRun("conflict", started["error"].partition(": ")[2], _advice_on(job, is_open=status == "running"))
    if started.get("code") != "ok":
        raise _refusal(started)


def _advice_on(job: Job, *, is_open: bool) -> str:
    """Return what to do about the run of this id that exists with another definition or input."""
    another = "Pass another --id: a run keeps the workflow and the input that it was started with."
    if not is_open:
        return another
    worker = f"`dcf worker {job.workers} --agent-id {job.agent_ids[0]}`, " if job.workers else ""
    finish = f"To finish the old run, repeat the command with the old file and input{', or run ' if worker else '.'}"
    served = f"{worker}which does its Tasks with the functions of today." if worker else ""
    return f"{another} {finish}{served} `dcf cancel {job.run_id}` ends it."


def _refusal(answer: Mapping[str, Json]) -> ToolCallFailed:
    """Return the error for a tool's refusal; its text begins with the code."""
    return ToolCallFailed(answer["code"], answer["error"].partition(": ")[2], answer.get("hint"))


def _watch(job: Job, planner: Planner, show: Show, waits: Waits) -> None:
    pause = _FIRST_POLL_S
    while planner.in_time:
        document = planner.overview(job.run_id)
        show(document)
        waits.saw(document["states"])
        planner.saw(document)
        if document["meta"]["status"] != "running":
            return
        time.sleep(pause)
        pause = min(POLL_S, pause * _LONGER)


def _ending(job: Job, planner: Planner) -> Ending:
    """Finalize the run and return its end; a run that is still open has exceeded its time."""
    in_time = planner.in_time
    waits = () if in_time else waits_of(planner.overview(job.run_id)["states"])
    note = None if in_time else f"dcf run ended the run after its --timeout of {job.timeout_s:g} s. {' '.join(waits)}"
    finalized = planner.call(
        "finalize_workflow", workflow_id=job.run_id, **({} if note is None else {"finalize_note": note})
    )
    document = planner.overview(job.run_id)
    meta, status = document["meta"], finalized["summary"]["final_status"]
    error, cause = meta.get("error"), meta.get("cause")
    timed_out = status != "succeeded" and error is None and not in_time
    if timed_out:
        error, cause = "States.Timeout", f"The run had not ended after {job.timeout_s:g} s and was cancelled."
        deaths = planner.deaths()
        cause = cause if deaths is None else f"{cause} Meanwhile {deaths}"
    result = {
        "workflow_id": job.run_id,
        "status": status,
        "output": meta.get("output"),
        "error": error,
        "cause": cause,
        "states": {name: _outcome(doc) for name, doc in document["states"].items() if "/" not in name},
    }
    return Ending(
        result=result,
        failures=tuple(planner.failures(job.run_id)) if status == "failed" else (),
        waits=tuple(f"{wait} Run it again with a longer --timeout, and answer meanwhile." for wait in waits)
        if timed_out
        else (),
    )


def _outcome(doc: Mapping[str, Json]) -> dict[str, Json]:
    """Return how a state ended; for a Parallel or Map also its size and counts."""
    members = ("status", "attempts", "started_at", "finished_at")
    rare = ("type", "scope", "tally")
    return {name: doc[name] for name in members} | {name: doc[name] for name in rare if name in doc}
