"""The planner of `dcf run`: calls tools for one run, and tells the user what keeps it waiting.

It knows neither how the tools are reached nor who works on the states, only whether those still live (`Crew`).
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from dcf.cli.running.obstacles import Obstacle
from dcf.errors import PASSING, DcfError
from dcf.values.json_text import Json
from dcf.worker import ToolCaller

if TYPE_CHECKING:
    from dcf.application.application import Application

Result = TypeVar("Result")

POLL_S = 0.1
PATIENCE_S = 3.0
"""Seconds that a call retries while the server restarts, before those that work are checked."""
TRACE_S = 10.0
"""Seconds that the sending of the run's trace may take."""


class Crew(Protocol):
    """The workers of a run: processes, or threads of this process."""

    def check(self) -> None:
        """Raise if one keeps ending and is no longer started again."""

    def deaths(self) -> str | None:
        """Return a sentence about the worker that crashed most often; None if none crashed."""

    def forgive(self) -> None:
        """Reset the count of crashes without progress: the run made progress."""


class Nobody:
    """The crew of a run whose Tasks are all worked on elsewhere."""

    def check(self) -> None:
        """Do nothing: there is no worker."""

    def deaths(self) -> str | None:
        """Return None: there is no worker."""
        return None

    def forgive(self) -> None:
        """Do nothing: nothing is counted."""


class RunPlace:
    """Where one run is carried out: its deadline, the directory of its logs, Redis, and what keeps it waiting."""

    found: "Application"
    obstacle: Obstacle

    def __init__(self, logs: Path, deadline: float, say: Callable[[str], None]) -> None:
        self.logs = logs
        self.deadline = deadline
        self.say = say

    def open(self, stack: ExitStack) -> "Application":
        """Connect to Redis, or start it, until the stack is closed; raise at once when it cannot be used.

        An embedded Redis then stays while the server is restarted.
        """
        from dcf.application.application import open_application
        from dcf.cli.processes.server_line import server_line
        from dcf.settings.process import read_settings

        self.found = stack.enter_context(open_application(read_settings()))
        self.say(server_line(self.found, self.found.health.checked()))
        self.obstacle = Obstacle(self.found.health, self.say)
        return self.found


class Planner:
    """Calls tools for the run, and retries while the server restarts or Redis rejects calls; `obstacle` reports it."""

    def __init__(self, tools: ToolCaller, crew: Crew, place: RunPlace) -> None:
        self._tools = tools
        self._crew = crew
        self._place = place
        self._ended = 0
        self._deaths: str | None = None

    def check(self) -> None:
        """Raise when the workers cannot be kept alive; tell the user when Redis makes the run wait."""
        self._crew.check()
        self._tell_of_deaths()
        self._place.obstacle.tell()

    def _tell_of_deaths(self) -> None:
        """Tell the user at once of each process that ended by itself and was started again."""
        deaths = self._crew.deaths()
        if deaths is not None and deaths != self._deaths:
            self._place.say(f"{deaths}. It was started again.")
        self._deaths = deaths

    def deaths(self) -> str | None:
        """Return a sentence about the worker that crashed most often; None if none crashed."""
        return self._crew.deaths()

    def saw(self, document: Mapping[str, Json]) -> None:
        """Note where the run stands: deaths before the last progress do not count against those that work on it."""
        ended = sum(map(_ended, document["states"].values()))
        if ended > self._ended:
            self._crew.forgive()
        self._ended = ended

    @property
    def in_time(self) -> bool:
        """True if the run's time is not over."""
        return time.monotonic() < self._place.deadline

    def overview(self, run_id: str) -> dict[str, Json]:
        """Read where the run stands, as `dcf show` does; retry while Redis is unreachable and time is left."""
        runs = self._place.found.runs
        return once_possible(lambda: runs.overview(run_id).as_json(), self.check, self._place.deadline)

    def failures(self, run_id: str) -> Iterator[str]:
        """Yield a sentence for each state that failed: its name, its attempts and its error."""
        from dcf.runs.views.overview import glance

        for view in glance(self._place.found.control_plane, run_id).failures:
            attempts = view.doc.attempts
            after = f" after {attempts} {'attempt' if attempts == 1 else 'attempts'}" if attempts else ""
            yield f"{view.path} failed{after}: {view.doc.last_error or 'no error was recorded'}"

    def trace(self, run_id: str) -> None:
        """Have the run's trace sent, where traces are wanted: there may be no clock after this process."""
        traces = self._place.found.traces
        if traces is not None:
            traces.finish(run_id, TRACE_S)

    def call(self, tool: str, **arguments: Json) -> dict[str, Json]:
        """Return the tool's answer; raise when a process cannot be kept alive or the deadline has passed."""
        while True:
            self.check()
            try:
                return self._tools.call(tool, **arguments)
            except DcfError as error:
                if error.code not in PASSING or not self.in_time:
                    raise


def once_possible(call: Callable[[], Result], on_failure: Callable[[], None], deadline: float) -> Result:
    """Call until it succeeds, fails permanently, or the deadline has passed; call `meanwhile` before each attempt."""
    while True:
        on_failure()
        try:
            return call()
        except DcfError as error:
            if error.code not in PASSING or time.monotonic() >= deadline:
                raise
        time.sleep(POLL_S)


def _ended(doc: Mapping[str, Json]) -> int:
    """Return how much has ended: the state itself, and the branches or iterations of a Parallel or Map."""
    return int((doc.get("tally") or {}).get("done", 0)) + (doc["status"] not in {"pending", "running"})
