"""Calls one pure function in child processes: what a call may need of memory and of time is bounded.

For functions of compiled libraries that cannot be trusted to bound themselves: when an allocation fails such a library
aborts its process, which no program can catch. The children start at the first call, serve many calls each, and end
with this process. A call that needs too much ends its child and nothing else.
"""

import atexit
import logging
import os
import signal
import sys
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from dcf.confined.frames import OUT_OF_MEMORY
from dcf.errors import InternalError
from dcf.values.records import record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dcf.confined.processes import ConfinedProcess

log = logging.getLogger(__name__)

Excess: TypeAlias = Literal["memory", "time", "ended"]
"""The limit that a call reached. `ended`: something else ended its process, such as the kernel without memory."""

MEMORY: Final = 192 * 1024 * 1024
"""The address space of a child in bytes, unless a setting says otherwise."""

CHILDREN: Final = 2
"""The children of a process, unless a setting says otherwise."""

WALL_S: Final = 10.0
"""The last resort for a child that gets no processor: what a call may take in all, with its wait for a child."""

MOST_CALLS: Final = 1_000
"""A child is replaced after this many calls, so that what a library keeps does not add up."""

START_S: Final = 30.0

IS_POSSIBLE: Final = sys.platform != "win32"
"""False where the system cannot limit a process as this package does it."""

BOUNDS_MEMORY: Final = sys.platform not in ("win32", "darwin")
"""False where the system does not keep a limit of address space."""

_OUT_OF_MEMORY: Final = (OUT_OF_MEMORY, -6, -11)
"""SIGABRT: an allocation failed in compiled code. SIGSEGV: the stack could not grow."""


@record(frozen=True, slots=True, kw_only=True)
class ConfinedReply:
    """The function's answer, the processor time that it took, and the time of the call in all."""

    data: bytes
    cpu_s: float
    wall_s: float


@record(frozen=True, slots=True, kw_only=True)
class BeyondLimit:
    """The call was ended because it needed too much."""

    excess: Excess


class ConfinedCalls:
    """Calls a function, named as `module:name`, in at most `children` processes of `memory` bytes each.

    Threads may call at the same time; those beyond the number wait.
    """

    def __init__(self, function: str, *, memory: int, children: int) -> None:
        self._function = function
        self._memory = memory
        self._children = children
        self._is_tidied = False
        self._begin()

    def __call__(self, data: bytes, cpu_s: float, wall_s: float = WALL_S) -> ConfinedReply | BeyondLimit:
        """Call the function with the data, for so much processor time; raise InternalError without a child."""
        from dcf.confined.processes import ChildEnded  # noqa: PLC0415 - most processes never call

        begun = time.monotonic()
        try:
            with self._child(wall_s) as child:
                data, took_s = child.ask(data, cpu_s, begun + wall_s)
        except ChildEnded as ended:
            return BeyondLimit(excess=_excess(ended.code, late=ended.late))
        return ConfinedReply(data=data, cpu_s=took_s, wall_s=time.monotonic() - begun)

    def limit(self, *, memory: int, children: int) -> None:
        """Set other limits. Calls that have begun end within those before."""
        if (memory, children) != (self._memory, self._children):
            self._memory, self._children = memory, children
            self._free = threading.Semaphore(children)
            self.close()

    def close(self) -> None:
        """End the children; a later call starts new ones."""
        with self._lock:
            idle = list(self._idle)
            self._idle.clear()
        for child in idle:
            self._discard(child)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._free = threading.Semaphore(self._children)
        self._idle: list[ConfinedProcess] = []
        self._all: set[ConfinedProcess] = set()

    @contextmanager
    def _child(self, wall_s: float) -> "Iterator[ConfinedProcess]":
        from dcf.confined.processes import ChildEnded  # noqa: PLC0415 - most processes never call

        free = self._free
        if not free.acquire(timeout=wall_s):
            log.error("%s: no child process became free within %.1f s", self._function, wall_s)
            raise InternalError
        try:
            child = self._taken()
            try:
                yield child
            except BaseException as error:  # also an interruption: what it answers next is the answer to this call
                self._discard(child)
                if isinstance(error, ChildEnded):
                    self._prepare()
                raise
            self._give_back(child)
        finally:
            free.release()

    def _taken(self) -> "ConfinedProcess":
        from dcf.confined.processes import ChildEnded  # noqa: PLC0415 - most processes never call

        with self._lock:
            child = self._idle.pop() if self._idle else None
        try:
            if child is not None and not child.lives:
                self._discard(child)
                child = None
            child = child or self._started()
            child.wait_until_ready(START_S)
        except BaseException as error:
            if child is not None:
                self._discard(child)
            if isinstance(error, OSError | ChildEnded):
                log.exception("%s: a child process could not be started", self._function)
                raise InternalError from None
            raise
        return child

    def _prepare(self) -> None:
        """Start the child that the next call will use, before another call starts one, and without waiting for it."""
        with suppress(OSError):  # the next call reports it
            self._give_back(self._started())

    def _started(self) -> "ConfinedProcess":
        from dcf.confined.processes import ConfinedProcess  # noqa: PLC0415 - most processes never call

        child = ConfinedProcess(self._function, self._memory)
        with self._lock:
            if not self._is_tidied:
                self._is_tidied = True
                atexit.register(self.close)
                os.register_at_fork(after_in_child=self._forget)
            self._all.add(child)
        return child

    def _give_back(self, child: "ConfinedProcess") -> None:
        if child.served < MOST_CALLS:
            with self._lock:
                self._idle.append(child)
        else:
            self._discard(child)

    def _discard(self, child: "ConfinedProcess") -> None:
        child.close()
        with self._lock:
            self._all.discard(child)

    def _forget(self) -> None:
        """Leave the children to the process that this one is a fork of: two cannot share a pipe."""
        for child in self._all:
            child.disown()
        self._begin()


def _excess(code: int, *, late: bool) -> Excess:
    if late or code == -signal.SIGPROF:
        return "time"
    return "memory" if code in _OUT_OF_MEMORY else "ended"
