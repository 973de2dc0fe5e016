"""The functions of `dcf run --direct` on threads of this process, with the control plane in it too.

No other process is started but Redis. A function that ends this process ends the command; the run is left as it is and
the same command continues it.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Self

from dcf.cli.child_processes import MOST_DEATHS, ProcessFailed
from dcf.cli.processes.functions import load_functions
from dcf.cli.processes.planner import PATIENCE_S, Nobody, Planner, RunPlace
from dcf.cli.running.run_request import Job
from dcf.cli.text import clean
from dcf.errors import DcfError
from dcf.worker import Worker


class WorkerThreads:
    """A worker on threads of this process; it is started again when a function ends it (`sys.exit`)."""

    def __init__(self, worker: Worker, name: str) -> None:
        self._worker = worker
        self._name = name
        self._stop = threading.Event()
        self._deaths = 0
        self._since_progress = 0
        self._last = ""
        self._failure: DcfError | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._keep, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Take no more work. A function that runs is not waited for: its state is done again by another."""
        self._stop.set()

    def check(self) -> None:
        """Raise if the worker keeps ending and is no longer restarted."""
        if self._failure is not None:
            raise self._failure

    def deaths(self) -> str | None:
        """Return a sentence about how often the worker ended unexpectedly; None if it did not."""
        times = "once" if self._deaths == 1 else f"{self._deaths} times"
        return f"{self._name} ended {times} ({self._last})" if self._deaths else None

    def forgive(self) -> None:
        """Count the unexpected ends of the worker from now on, since there was progress."""
        self._since_progress = 0

    def _keep(self) -> None:
        while not self._stop.is_set() and self._failure is None:
            try:
                self._worker.serve(self._stop, outlives=True)
            except DcfError as error:
                self._note(error.message)
            except BaseException as error:  # noqa: BLE001 - whatever a user's function raises to end its process
                self._note(f"{type(error).__name__}: {error}")
        self._stop.set()

    def _note(self, why: str) -> None:
        if self._stop.is_set():
            return
        self._deaths += 1
        self._since_progress += 1
        self._last = clean(why)
        if self._since_progress >= MOST_DEATHS:
            self._failure = ProcessFailed(f"{self.deaths()}.")


def start_here(job: Job, place: RunPlace, stack: ExitStack) -> Planner:
    """Load the functions and serve them in this process, until the stack is closed."""
    stack.enter_context(output_to_stderr())
    functions = {} if job.workers is None else load_functions(job.workers, job.states)
    from dcf.tools.calling.direct import DirectTools, control_plane_here

    here = stack.enter_context(control_plane_here(place.open(stack)))
    if not functions:
        return Planner(DirectTools(here, PATIENCE_S), Nobody(), place)
    (agent_id,) = job.agent_ids
    worker = Worker(DirectTools(here), agent_id, functions, lease_ttl_s=job.lease_ttl_s, concurrency=job.concurrency)
    crew = stack.enter_context(WorkerThreads(worker, agent_id))
    return Planner(DirectTools(here, PATIENCE_S), crew, place)


@contextmanager
def output_to_stderr() -> Iterator[None]:
    """Let standard error take what functions print: standard output is for the result alone."""
    sys.stdout.flush()
    result = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(result, 1)
        os.close(result)
