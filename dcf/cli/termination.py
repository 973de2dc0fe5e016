"""Ends a command that is told to end (SIGTERM) by an exception, so that what it opened is closed.

Python prints and drops an exception that is raised inside a finalizer, and a signal may arrive just there: the process
would go on for ever. So it is told again.
"""

import os
import signal
import sys
import threading
from typing import NoReturn

from dcf.cli import exit_codes

_AGAIN_S = 0.01


def end_when_told() -> None:
    """Raise SystemExit in the main thread at SIGTERM: the embedded Redis ends with the last process that uses it."""
    signal.signal(signal.SIGTERM, _terminate)
    sys.unraisablehook = _tell_again


def _terminate(*_: object) -> NoReturn:
    sys.exit(exit_codes.TERMINATED)


def _tell_again(dropped: "sys.UnraisableHookArgs") -> None:
    if not issubclass(dropped.exc_type, SystemExit):
        sys.__unraisablehook__(dropped)
        return
    again = threading.Timer(_AGAIN_S, os.kill, (os.getpid(), signal.SIGTERM))
    again.daemon = True
    again.start()
