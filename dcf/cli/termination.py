"""Ends a command at a signal (SIGTERM) by an exception, so that everything that it opened is closed.

Python prints and drops an exception that is raised inside a finalizer. A signal may arrive just there, and the process
would then never end. So the signal is sent again. A command that ends gradually (a worker) gets a call instead.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from dcf.cli import exit_codes

_AGAIN_S = 0.1
"""The hook must have returned by then, also on a busy machine: an exception that is raised in it is dropped too."""


def end_on_sigterm() -> None:
    """Raise SystemExit in the main thread at SIGTERM: the embedded Redis ends with the last process that uses it."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _tell_again


def tell_first(tell: Callable[[signal.Signals], None]) -> None:
    """Call `tell` at the first SIGTERM or SIGINT, in place of ending; the second ends this process at once."""

    def first(number: int, _: object) -> None:
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, signal.SIG_DFL)
        tell(signal.Signals(number))

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, first)


def serve_until_signal(serve: Callable[[Callable[[signal.Signals | BaseException], None]], object]) -> signal.Signals:
    """Start to serve, and return the signal that ends it; raise the error that `serve` hands over before."""
    import queue  # every command imports this module

    ends: queue.SimpleQueue[signal.Signals | BaseException] = queue.SimpleQueue()
    tell_first(ends.put)
    serve(ends.put)
    end = ends.get()
    if isinstance(end, BaseException):
        raise end
    return end


def _terminate(*_: object) -> NoReturn:
    sys.exit(exit_codes.TERMINATED)


def _tell_again(dropped: "sys.UnraisableHookArgs") -> None:
    if not issubclass(dropped.exc_type, SystemExit):
        sys.__unraisablehook__(dropped)
        return
    again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), signal.SIGTERM))
    again.daemon = True
    again.start()
