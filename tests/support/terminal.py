"""A command on a terminal, and what a person sees there."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
from codecs import getincrementaldecoder
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CODE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])")


class Terminal:
    """`text` is all that was printed, without what moves the cursor and colours."""

    def __init__(self, ours: int, process: subprocess.Popen[bytes]) -> None:
        self._ours = ours
        self._process = process
        self._raw = ""
        self._decoder = getincrementaldecoder("utf-8")(errors="replace")

    @property
    def text(self) -> str:
        return _CODE.sub("", self._raw).replace("\r", "")

    def until(self, pattern: str) -> str:
        """Read until the pattern has come."""
        while not re.search(pattern, self.text):
            assert self._read(), f"it ended without {pattern}: {self.text[-3000:]}"
        return self.text

    def type(self, text: str) -> int:
        """Type a line and wait for the end of the command; its exit code."""
        os.write(self._ours, f"{text}\n".encode())
        while self._read():
            pass
        return self._process.wait()

    def interrupt(self) -> int:
        """Press Ctrl-C and wait for the end; the exit code."""
        self._process.send_signal(signal.SIGINT)
        return self.end()

    def end(self) -> int:
        """Read until the command has ended; the exit code."""
        while self._read():
            pass
        return self._process.wait()

    def screen(self) -> list[str]:
        """The lines that are seen now: those that were erased are not."""
        lines, row = [""], 0
        for part in re.split(r"(\x1b\[[0-9;?]*[A-Za-z]|\r|\n)", self._raw):
            code = _CODE.fullmatch(part)
            if code is not None and code[2] == "A":
                row = max(0, row - int(code[1] or 1))
            elif code is not None and code[2] == "K":
                lines[row] = ""
            elif part == "\n":
                row += 1
                lines += [""] * (row + 1 - len(lines))
            elif code is None and part != "\r":
                lines[row] += part
        return [line for line in lines if line]

    def _read(self) -> bool:
        part = b""
        with suppress(OSError):  # Linux says so when the last one has closed it
            part = os.read(self._ours, 65536)
        self._raw += self._decoder.decode(part)  # a character may come in two parts
        return bool(part)


@contextmanager
def on_a_terminal(*command: str, **environment: str) -> Iterator[Terminal]:
    """Run a command on a terminal of 30 lines and 100 columns while the context lasts."""
    with on_a_terminal_of(100, *command, **environment) as terminal:
        yield terminal


@contextmanager
def on_a_terminal_of(columns: int, *command: str, **environment: str) -> Iterator[Terminal]:
    """Run a command on a terminal of 30 lines and this number of columns while the context lasts."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, "TERM": "xterm", **environment}
    )
    os.close(theirs)
    try:
        yield Terminal(ours, process)
    finally:
        process.terminate()
        process.wait()
        os.close(ours)
