"""A command that is told to end does so, whatever it is doing at that moment."""

import subprocess
import sys

_PROGRAM = """
import signal, sys, threading
from dcf.cli.termination import end_on_sigterm

class Told:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
        sum(range(1000))

end_on_sigterm()
{moment}
threading.Event().wait()
"""


def _ended(moment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", _PROGRAM.format(moment=moment)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_a_signal_ends_a_command() -> None:
    assert _ended("signal.raise_signal(signal.SIGTERM)").returncode == 143


def test_a_signal_that_arrives_in_a_finalizer_ends_a_command_without_a_traceback() -> None:
    ended = _ended("Told()")
    assert (ended.returncode, ended.stderr) == (143, "")
