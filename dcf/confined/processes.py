"""One confined child as its parent sees it: started, asked, ended. Works on POSIX systems; see `calls` for others."""

import os
import select
import subprocess
import sys
import time
from contextlib import suppress
from typing import Final

from dcf.confined.frames import REPLY, REQUEST

_PROGRAM: Final = (
    "import sys; sys.path[:] = {path!r}; from dcf.confined.child import serve; serve({function!r}, {memory})"
)
_PASSED_ON: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
_ENVIRONMENT: Final = {"RUST_BACKTRACE": "0", "MALLOC_ARENA_MAX": "1"}
"""A library writes a backtrace for seconds before it aborts, and each arena of malloc reserves address space."""

_AT_ONCE: Final = 65_536
_PATIENCE_S: Final = 5.0
"""How long an ended child may take to be gone."""


class ChildEnded(Exception):
    """The child has ended, or was ended because it did not answer in time; `code` is the code of its process."""

    def __init__(self, code: int, *, late: bool) -> None:
        super().__init__(code)
        self.code = code
        self.late = late


class ConfinedProcess:
    """A child process and the two pipes to it. One thread at a time may ask it."""

    def __init__(self, function: str, memory: int) -> None:
        program = _PROGRAM.format(path=sys.path, function=function, memory=memory)
        passed_on = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter, and a program of constants
            [sys.executable, "-I", "-S", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=passed_on | _ENVIRONMENT,
            start_new_session=True,  # signals for the parent's group are not for its children
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipes = (self._process.stdin, self._process.stdout)
        self._to, self._from = self._process.stdin.fileno(), self._process.stdout.fileno()
        for pipe in (self._to, self._from):
            os.set_blocking(pipe, False)
        self.served = 0
        self._is_ready = False

    def wait_until_ready(self, start_s: float) -> None:
        """Return when the process has imported its function; raise ChildEnded when it cannot, or takes longer."""
        if not self._is_ready:
            self._receive(time.monotonic() + start_s)
            self._is_ready = True

    @property
    def lives(self) -> bool:
        """False when the process has ended."""
        return self._process.poll() is None

    def ask(self, data: bytes, cpu_s: float, end: float) -> tuple[bytes, float]:
        """Return the function's answer and the processor time that it took; raise ChildEnded when there is none.

        The child ends itself when it has used the processor time. At `end` of the monotonic clock it is killed.
        """
        self.served += 1
        self._send(REQUEST.pack(len(data), max(1, round(cpu_s * 1e6))) + data, end)
        return self._receive(end)

    def close(self) -> None:
        """End the process, which is not at work."""
        self._process.kill()
        self._reap()

    def disown(self) -> None:
        """Forget the process, in a copy of the parent that a fork made: it still serves the original."""
        self._process.returncode = 0
        for pipe in self._pipes:
            pipe.close()

    def _send(self, data: bytes, end: float) -> None:
        left = memoryview(data)
        while left:
            try:
                left = left[os.write(self._to, left) :]
            except BlockingIOError:
                self._wait(self._to, select.POLLOUT, end)
            except BrokenPipeError:
                raise self._ended(late=False) from None

    def _receive(self, end: float) -> tuple[bytes, float]:
        received = bytearray()
        while len(received) < REPLY.size:
            received += self._some(end)
        length, micros = REPLY.unpack_from(received)
        while len(received) < REPLY.size + length:
            received += self._some(end)
        return bytes(memoryview(received)[REPLY.size :]), micros / 1e6

    def _some(self, end: float) -> bytes:
        self._wait(self._from, select.POLLIN, end)
        some = os.read(self._from, _AT_ONCE)
        if not some:
            raise self._ended(late=False)
        return some

    def _wait(self, pipe: int, event: int, end: float) -> None:
        poll = select.poll()
        poll.register(pipe, event)
        if not poll.poll(max(0.0, end - time.monotonic()) * 1000):
            self._process.kill()
            raise self._ended(late=True)

    def _ended(self, *, late: bool) -> ChildEnded:
        return ChildEnded(self._reap(), late=late)

    def _reap(self) -> int:
        for pipe in self._pipes:
            with suppress(OSError):  # no process reads the rest now
                pipe.close()
        try:
            return self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
