"""Where the flows of the proof run: a server with its own Redis, a worker for each, the program that starts them."""

import json
import os
import signal
from collections.abc import Mapping
from typing import Any, Final

import dcf
from tests.support.paths import ROOT
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.flows.runs import RECEIPT, RUNS, WATCH, FlowRun
from tests.system.flows.watched import LOG
from tests.system.processes.site import LONG, Process, Site, finish, first_line, is_alive

_PROGRAM: Final = "tests.system.flows.program"
_AGENTS: Final = ROOT / "tests" / "system" / "flows" / "scripted_agents.py"
_IMPORTABLE: Final = {"PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "workflows")))}
_LEASES: Final = frozenset({"LeaseAcquired", "StateSucceeded", "StateRetried", "StateFailed", "CallbackAwaited"})
"""Events that begin the lease of a state, or end it."""


class FlowPlace:
    """Real processes for all runs. Whatever is killed is started again in the same way."""

    def __init__(self, site: Site) -> None:
        self._site = site
        for run in RUNS:
            (site.folder / f"{run.run_id}.py").write_text(run.file.read_text("utf-8") + WATCH)
            if run.held_task is not None:
                site.hook(f"{run.held_task}.hold", run.held_text)
        (site.folder / "runs.json").write_text(json.dumps({run.run_id: run.spec for run in RUNS}))
        self._server = site.serve("--port", str(free_port()), DCF_APPENDFSYNC="always")
        self._workers = self._start_workers()
        self._program = self._start_program()

    def kill_program(self) -> None:
        """Kill it while it waits; the next one finds the runs that this one started."""
        self._program = self._killed(self._program) or self._start_program()

    def kill_workers(self) -> None:
        """Kill them inside the functions that are held; wait until the next ones do these steps again."""
        for worker in self._workers:
            self._killed(worker)
        self._workers = self._start_workers()
        wait_until(self._are_held, LONG)

    def kill_server(self) -> None:
        self._killed(self._server.process)
        self._server = self._site.serve("--port", self._server.port, DCF_APPENDFSYNC="always")

    def kill_redis(self) -> None:
        """The server starts it again on its data, and answers again."""
        pid = self._site.redis_pid()
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not is_alive(pid), LONG)
        with dcf.connect(self._server.url) as client:
            assert {run.workflow_id for run in client.list()} == {run.run_id for run in RUNS}
        assert self._site.redis_pid() != pid

    def release(self) -> None:
        """Let the functions that are held do their work, and answer as the people and programs outside."""
        for run in RUNS:
            if run.held_task is not None:
                (self._site.hooks / f"{run.held_task}.hold").unlink()
        (token,) = {call["arguments"] for call in self.calls("began") if call["task"] == "handover.hand_over"}
        with dcf.connect(self._server.url) as client:
            (human_task,) = client.list_human_tasks()
            assert human_task.state is not None
            client.send_task_heartbeat(json.loads(token)[1]["token"])
            client.send_task_success(json.loads(token)[1]["token"], RECEIPT)
        approve = ("approve", "refunds", human_task.state, "--as", "alice", "--epoch", str(human_task.epoch))
        assert finish(self._site.dcf(*approve))[1] == 0

    def ends(self) -> dict[str, dict[str, Any]]:
        """Return the program's lines about the ends of the runs."""
        ends = [json.loads(first_line(self._program)) for _ in RUNS]
        assert self._program.wait(LONG) == 0
        return {end["run"]: end for end in ends}

    def calls(self, subject: str) -> list[Mapping[str, Any]]:
        """Return the calls of functions that began or ended."""
        lines = (self._site.hooks / LOG).read_text("utf-8").splitlines() if (self._site.hooks / LOG).exists() else ()
        return [line for line in map(json.loads, lines) if line["what"] == subject]

    def _are_held(self) -> bool:
        """Return True once each call that is to be held is held by a worker that lives, and not by one before it."""
        alive = {worker.pid for worker in self._workers}
        calls = [call for call in self.calls("began") if call["pid"] in alive]
        return all(any(_is_held(run, call) for call in calls) for run in RUNS if run.held_task is not None)

    def wait_half_way(self) -> None:
        """Wait until each run is where it is held, or waits for somebody outside, and all else is written down."""
        wait_until(self._are_held, LONG)
        with dcf.connect(self._server.url) as client:
            wait_until(lambda: list(client.list_human_tasks()), LONG)
        wait_until(lambda: all(map(self._is_settled, RUNS)), LONG)

    def _is_settled(self, run: FlowRun) -> bool:
        """Return True if no state is leased but that of the call that is held."""
        last = {event["state"]: event["type"] for event in self._site.events(run.run_id) if event["type"] in _LEASES}
        leased = [state for state, kind in last.items() if kind == "LeaseAcquired"]
        return len(leased) == (0 if run.held_task is None else 1)

    def _start_program(self) -> Process:
        program = self._site.start(
            "-m", _PROGRAM, self._server.url, str(self._site.folder / "runs.json"), **_IMPORTABLE
        )
        assert first_line(program) == "started\n"
        return program

    def _start_workers(self) -> list[Process]:
        """Start all before the first is waited for: they take longest to import."""
        workers = [self._start_worker(run) for run in RUNS]
        for worker in workers:
            first_line(worker)
        return workers

    def _start_worker(self, run: FlowRun) -> Process:
        is_agent = run.run_id == "support"
        file = _AGENTS if is_agent else self._site.folder / f"{run.run_id}.py"
        agent_id = "worker" if is_agent else run.run_id
        command = ("worker", str(file), "--agent-id", agent_id, "--server", self._server.url, "--json")
        return self._site.dcf(*command, "--lease-ttl", "3", "--concurrency", "4", **_IMPORTABLE)

    @staticmethod
    def _killed(process: Process) -> None:
        process.kill()
        assert process.wait(LONG) == -signal.SIGKILL


def _is_held(run: FlowRun, call: Mapping[str, Any]) -> bool:
    return bool(call["task"] == run.held_task and run.held_text in call["arguments"])
