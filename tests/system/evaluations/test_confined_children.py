"""The children that evaluate expressions end with the process that started them, however that ends."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.waiting import wait_until

BUSY = """
import sys, threading
from dcf.confined.calls import ConfinedCalls
call = ConfinedCalls("tests.support.confined_functions:identity", memory=96 * 1024**2, children=1)
print(call(b"", 10).data.split()[0].decode(), flush=True)
busy = ConfinedCalls("tests.support.confined_functions:spin", memory=96 * 1024**2, children=1)
threading.Thread(target=busy, args=(b"work", 2, 60), daemon=True).start()
sys.stdin.read()
"""


def children_of(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()] + [
        int(child)
        for thread in Path(f"/proc/{pid}/task").iterdir()
        if thread.name != str(pid)
        for child in (thread / "children").read_text().split()
    ]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])  # each starts processes
def test_children_end_with_their_parent_even_in_the_middle_of_a_call(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BUSY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    ) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline()
        wait_until(lambda: len(children_of(parent.pid)) == 2)
        children = children_of(parent.pid)
        os.killpg(parent.pid, number)
        parent.wait()
        wait_until(lambda: not any(Path(f"/proc/{child}").exists() for child in children))
