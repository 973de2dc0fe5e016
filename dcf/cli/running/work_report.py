"""Tells what `dcf worker` does: people now and then, on standard error; programs of each state, on standard output.

A reader that goes away does not stop the work.
"""

import sys
import threading
from typing import Final, TextIO

from dcf.cli.text import clean, json_text
from dcf.values.json_text import Json
from dcf.worker.calls import Work
from dcf.worker.parking import is_parked
from dcf.worker.results import Result

_EVERY_S: Final = 2.0
"""Least seconds between two lines for people, however much is done."""


class WorkReport:
    """Counts the states of a worker, and reports them."""

    def __init__(self, agent_id: str, *, as_json: bool) -> None:
        self._who = f"worker {agent_id}"
        self._as_json = as_json
        self._writing = threading.Lock()
        self._counts = {"taken": 0, "done": 0, "failed": 0, "lost": 0}
        self._failure = ""
        self._changed = threading.Event()
        if not as_json:
            threading.Thread(target=self._keep_telling, daemon=True).start()

    def taken(self, work: Work) -> None:
        """Tell that the worker holds a state."""
        self._note("taken", work, attempt=work.attempt)

    def ended(self, work: Work, result: Result) -> None:
        """Tell that a result was accepted."""
        if result["new_status"] == "succeeded":
            self._note("done", work)
            return
        if is_parked(result):
            self.lost(work, f"{result['reason']}; until {result['limited_until']}")
            return
        error, cause = result["error_name"], result["error_message"]
        self._failure = f"; last failure: {clean(f'{work.name}: {error}: {cause}', 300)}"
        self._note("failed", work, error=error, cause=cause)

    def lost(self, work: Work, why: str) -> None:
        """Report that no result of a state was accepted, or that the state was released."""
        self._note("lost", work, why=why)

    def stopping(self, signal_name: str, grace_s: float) -> None:
        """Tell that no more states are taken."""
        active = self._held()
        if self._as_json:
            self._print({"event": "stopping", "signal": signal_name, "in_hand": active})
            return
        event = "no state is running" if not active else f"{_states(active)} may finish within {grace_s:g} s"
        self._say(f"{signal_name}: takes no new states; {event}. A second signal ends it at once.")

    def stopped(self, given_back: list[Work]) -> None:
        """Report the totals, and the states that were released."""
        names = [work.name for work in given_back]
        if self._as_json:
            self._print({"event": "stopped", **self._counts, "given_back": names})
            return
        self._say(self._summary())
        if names:
            more = f" and {len(names) - 5} more" if len(names) > 5 else ""  # noqa: PLR2004 - what fits on a line or two
            self._say(f"released unfinished states for other workers: {', '.join(names[:5])}{more}")

    def _held(self) -> int:
        counts = self._counts
        return counts["taken"] - counts["done"] - counts["failed"] - counts["lost"]

    def _summary(self) -> str:
        counts = self._counts
        parts = [f"{counts['taken']} taken", f"{counts['done']} done", f"{counts['failed']} failed"]
        parts += [f"{counts['lost']} released or lost"] if counts["lost"] else []
        return ", ".join(parts) + self._failure

    def _note(self, event: str, work: Work, **more: Json) -> None:
        with self._writing:
            self._counts[event] += 1
        if self._as_json:
            self._print({"event": event, "workflow_id": work.workflow_id, "state": work.state, **more})
        else:
            self._changed.set()

    def _keep_telling(self) -> None:
        pause = threading.Event()
        while self._changed.wait():
            self._changed.clear()
            self._say(self._summary())
            pause.wait(_EVERY_S)

    def _say(self, text: str) -> None:
        self._write(sys.stderr, f"dcf: {self._who}: {text}")

    def _print(self, document: Json) -> None:
        self._write(sys.stdout, json_text(document))

    def _write(self, stream: TextIO, line: str) -> None:
        with self._writing:
            try:
                stream.write(line + "\n")
                stream.flush()
            except OSError:  # the reader went away
                return


def _states(count: int) -> str:
    return "1 state" if count == 1 else f"{count} states"
