"""Shared parts of the programs in Python: options, the log of their steps, and how a driver takes orders."""

import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import redis  # Restate's environment has none

ENDED = "bench:ended:{}"
"""A list that gets an entry when a run ends."""
COUNTS = "bench:counts:{}"
"""How many of the steps that a step waits for are done, as users of a queue count them."""
LONGEST_S = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How a program is to run: `serves` is the queue of a worker among `queues`, `log` where it notes its steps."""

    redis_url: str
    workers: int = 1
    concurrency: int = 1
    serves: int = 0
    queues: int = 1
    log: str = ""
    step_s: float = 0.0
    lease_s: float = 0.0
    ports: tuple[int, ...] = ()
    number: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A run to carry out."""

    run: str
    shape: str
    size: int


@dataclass(slots=True)
class Notes:
    """Notes when steps begin and end, in a file that survives a killed worker; nothing if there is no log."""

    options: Options
    _file: int | None = field(init=False, default=None)

    def begin(self, node: int) -> None:
        """Note that a step begins."""
        self._note("begin", node)

    def end(self, node: int) -> None:
        """Note that a step ends."""
        self._note("end", node)

    def carry_out(self, node: int) -> None:
        """Do a step: nothing, or wait for these seconds."""
        if not self.options.log:
            return
        self.begin(node)
        if self.options.step_s:
            time.sleep(self.options.step_s)
        self.end(node)

    def _note(self, subject: str, node: int) -> None:
        if not self.options.log:
            return
        now = time.monotonic_ns()
        if self._file is None:
            self._file = os.open(self.options.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(self._file, f"{subject} {node} {now} {os.getpid()}\n".encode())


def read_options() -> tuple[str, Options]:
    """Read the role, worker or driver, and the options from the command line."""
    role, value = sys.argv[1:3]
    values = json.loads(value)
    return role, Options(**{**values, "ports": tuple(values.get("ports", ()))})


def say(answer: dict[str, object]) -> None:
    """Tell the benchmark something: one line of JSON."""
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def drive(submit: Callable[[Order], None], wait: Callable[[Order], None]) -> None:
    """Take orders from standard input, one a line; say of each how long it took, and how much of it submitting."""
    say({"ready": True})
    for line in sys.stdin:
        order = Order(**json.loads(line))
        before = time.perf_counter()
        submit(order)
        submitted = time.perf_counter()
        wait(order)
        say({"seconds": time.perf_counter() - before, "submitting": submitted - before})


def wait_for_end(client: "redis.Redis") -> Callable[[Order], None]:
    """Return a function that waits for the note that a run has ended."""

    def wait(order: Order) -> None:
        if client.blpop([ENDED.format(order.run)], timeout=LONGEST_S) is None:
            raise TimeoutError(f"{order.run} is not over after {LONGEST_S} s")

    return wait
