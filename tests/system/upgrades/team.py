"""The agents and people of one run: each call goes to the server whose turn it is, of whichever version.

Only tools are called, with arguments that every version knows whose data is recorded.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lab.extras import Calls
from tests.support.waiting import wait_until

LONG_S: Final = 60
"""Seconds that no state here takes to become ready, not even on a busy machine."""

Answer = Mapping[str, Any]


class Team:
    """Calls of tools about one run. `turns` says which server gets the next call.

    Leases and questions last for `patience_s`, and waits and retries begin after `pause_s`. A team that is not prompt
    continues when these are over.
    """

    def __init__(
        self, run: str, turns: Iterator[Calls], *, patience_s: int = 3600, pause_s: int = 3, is_prompt: bool = True
    ) -> None:
        self.run = run
        self.is_prompt = is_prompt
        self.patience_s = patience_s
        self.pause_s = pause_s
        self._turns = turns

    def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool about the run; return its answer, which may be a refusal."""
        return self.anywhere(tool, workflow_id=self.run, **arguments)

    def anywhere(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool about something else."""
        return next(self._turns).surely(tool, **arguments)

    def do(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool about the run that must succeed."""
        return _good(tool, self.call(tool, **arguments))

    def start(self, document: Any, **options: Any) -> None:
        """Start the run, with one worker for all Tasks."""
        wish = {"agents_map_json": {"*": "ann"}, "planner_agent_id": "pia", **options}
        self.do("start_run", workflow_json=document, **wish)

    def take(self, state: str) -> str:
        """Lease a state, once it is ready; return the token."""
        leased: list[str] = []

        def takes() -> bool:
            answer = self.call("acquire_state_lease", state=state, owner_agent_id="ann", lease_ttl_s=self.patience_s)
            if answer["code"] == "ok":
                leased.append(answer["lease"]["token"])
            return bool(leased)

        wait_until(takes, LONG_S)
        return leased[0]

    def complete(self, state: str, token: str, output: Any = None) -> Answer:
        """Write the result of a leased state."""
        output_json = {"by": state} if output is None else output
        subject = {"state": state, "lease_token": token, "new_status": "succeeded", "output_json": output_json}
        return self.call("update_workflow_control_plane", **subject)

    def work(self, state: str, output: Any = None) -> None:
        """Lease a state and complete it."""
        _good(state, self.complete(state, self.take(state), output))

    def finish(self, state: str, token: str, output: Any = None) -> None:
        """Complete a state that was leased before: with a new lease, if that one has ended meanwhile."""
        if self.is_prompt:
            _good(state, self.complete(state, token, output))
        else:
            self.work(state, output)

    def of(self, run: str) -> "Team":
        """Return the same team, for another run."""
        more = {"patience_s": self.patience_s, "pause_s": self.pause_s}
        return Team(run, self._turns, **more, is_prompt=self.is_prompt)

    def runs_of(self, workflow: str) -> list[str]:
        """Return the runs of the workflow of this name."""
        return [run["workflow_id"] for run in _good("list_runs", self.anywhere("list_runs", workflow=workflow))["runs"]]

    def output(self) -> Any:
        """Return the output of the run."""
        return self.do("read_workflow_control_plane")["meta"].get("output")

    def status(self) -> str:
        """Return the status of the run."""
        return str(self.do("read_workflow_control_plane")["meta"]["status"])


def _good(subject: str, answer: Answer) -> Answer:
    assert answer["code"] == "ok", f"{subject}: {answer}"
    return answer
