"""Tells a person on a terminal what a command is doing, once it takes longer than a second; programs see nothing."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from dcf.cli.reading.notes import span

_EVERY_S: Final = 1.0
_ERASE: Final = "\r\x1b[K"


@contextmanager
def patience(doing: str, count: Callable[[], int] | None = None, of: int | None = None) -> Iterator[None]:
    """Show the activity, how many are done (of `of` in all) and for how long, in a line that is erased at the end.

    Nothing may be printed inside the block.
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    teller = threading.Thread(target=_tell, args=(doing, count, of, done), daemon=True)
    teller.start()
    try:
        yield
    finally:
        done.set()
        teller.join()


def _tell(doing: str, count: Callable[[], int] | None, of: int | None, done: threading.Event) -> None:
    began = time.monotonic()
    line, most = "", "" if of is None else f" of {of:,}"
    while not done.wait(_EVERY_S):
        number = "" if count is None else f" {count():,}{most}"
        line = f"{_ERASE}dcf: {doing}{number}, {span(time.monotonic() - began)}"
        sys.stderr.write(line)
        sys.stderr.flush()
    if line:
        sys.stderr.write(_ERASE)
        sys.stderr.flush()
