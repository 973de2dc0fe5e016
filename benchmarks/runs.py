"""A leased state that a benchmark continues with, and whole runs by one worker."""

import secrets
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import workloads
from benchmarks.measuring import Probe
from dcf.application.application import Application
from dcf.core.documents.answers import Leased
from dcf.core.leasing.lease import Acquire, Release, Renew
from dcf.runs.control_plane import ControlPlane


class Held:
    """A state that is leased again and again."""

    def __init__(self, plane: ControlPlane, document: dict[str, Any]) -> None:
        self._plane = plane
        self.run = workloads.create(plane, document)
        self.lease = workloads.claim(plane, self.run)
        self.is_held = True

    def free(self) -> None:
        """Make sure that the state is not leased."""
        if self.is_held:
            self.release()

    def hold(self) -> None:
        """Make sure that the state is leased."""
        if not self.is_held:
            self.claim()

    def step(self) -> None:
        """Go on to the next state."""
        answer = workloads.complete(self._plane, self.run, self.lease, {"way": 7}, claim_next=True)
        assert answer.claimed is not None, "the workload is longer than the measurement"
        self.lease = answer.claimed

    def acquire(self) -> None:
        """Lease the state."""
        request = Acquire(state=self.lease.state, owner=workloads.AGENT, token=secrets.token_hex(16), ttl_s=300)
        answer = self._plane.acquire(self.run, request)
        assert isinstance(answer, Leased), answer
        self.lease, self.is_held = answer, True

    def claim(self) -> None:
        """Lease whatever is ready."""
        self.lease, self.is_held = workloads.claim(self._plane, self.run), True

    def renew(self) -> None:
        """Keep the lease."""
        self._plane.renew(self.run, Renew(state=self.lease.state, token=self.lease.doc.lease.token or ""))

    def release(self) -> None:
        """Give the state back."""
        self._plane.release(self.run, Release(state=self.lease.state, token=self.lease.doc.lease.token))
        self.is_held = False

    def complete(self) -> None:
        """Complete the state with an output."""
        workloads.complete(self._plane, self.run, self.lease, {"way": 7}, claim_next=False)
        self.is_held = False


def way(_: int) -> dict[str, int]:
    return {"way": 7}


def run_of(
    app: Application, probe: Probe, document: dict[str, Any], output: Callable[[int], Any]
) -> tuple[int, float, float]:
    """Count steps, PINGs per step and seconds per PING; PINGs are timed between the steps, and taken off."""
    workflow_id = workloads.create(app.control_plane, document)
    pings: list[float] = []

    def between(step: int) -> Any:
        if step % 5 == 0:
            pings.append(probe.ping())
        return output(step)

    before = time.perf_counter()
    steps = workloads.carry_out(app.control_plane, workflow_id, between)
    spent = time.perf_counter() - before - sum(pings)
    ping = statistics.median(pings)
    return steps, spent / steps / ping, ping


def cost_of(app: Application, probe: Probe, document: dict[str, Any]) -> tuple[int, float, float]:
    """Count the steps of a run, the commands of a step, and the bytes of a state when the clock has packed the run."""
    workflow_id, steps = workloads.create(app.control_plane, document), 0

    def work() -> None:
        nonlocal steps
        steps = workloads.carry_out(app.control_plane, workflow_id, way)

    spent = probe.spent(work)
    app.control_plane.pack(workflow_id)
    return steps, spent.commands / steps, probe.memory(workflow_id) / len(document["asl"]["States"])
