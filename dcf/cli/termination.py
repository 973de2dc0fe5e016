"""Ends a command that is told to end (SIGTERM) by an exception, so that what it opened is closed.

Python prints and drops an exception that is raised inside a finalizer, and a signal may arrive just there: the process
would go on for ever. So it is told again. A command that ends by and by (a worker) is told by a call instead.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from dcf.cli import exit_codes

_AGAIN_S = 0.01


def end_when_told() -> None:
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


def _terminate(*_: object) -> NoReturn:
    sys.exit(exit_codes.TERMINATED)


def _tell_again(dropped: "sys.UnraisableHookArgs") -> None:
    if not issubclass(dropped.exc_type, SystemExit):
        sys.__unraisablehook__(dropped)
        return
    again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), signal.SIGTERM))
    again.daemon = True
    again.start()
