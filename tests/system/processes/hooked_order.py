"""The workers of the order pipeline, with hooks for tests: files in the folder that DCF_TEST_HOOKS names.

`STATE.entered` is written when a function begins (the process id, a line for each attempt). `STATE.kill` makes the
process kill itself, once. `STATE.hold` makes the function wait until `STATE.go` (or `STATE.go.PID`) exists. `signed`
adds the process id to the invoice, so that a test can tell whose result it was.
"""

import importlib.util
import os
import signal
from pathlib import Path
from typing import Any

from dcf.worker import FUNCTIONS, TaskFunction
from tests.support.paths import ROOT
from tests.support.waiting import wait_until

HOOKS = Path(os.environ["DCF_TEST_HOOKS"])
ORDER_PROCESSING = ROOT / "workflows" / "order_processing.py"


def load_order_processing() -> None:
    spec = importlib.util.spec_from_file_location("order_processing", ORDER_PROCESSING)
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(importlib.util.module_from_spec(spec))


def hooked(state: str, function: TaskFunction) -> TaskFunction:
    def work(value: Any) -> Any:
        with (HOOKS / f"{state}.entered").open("a") as entered:
            entered.write(f"{os.getpid()}\n")
        kill_if_asked(state)
        if (HOOKS / f"{state}.hold").exists():
            gates = (HOOKS / f"{state}.go", HOOKS / f"{state}.go.{os.getpid()}")
            wait_until(lambda: any(gate.exists() for gate in gates), 180)
        output = function(value)
        return output | {"pid": os.getpid()} if (HOOKS / "signed").exists() else output

    return work


def kill_if_asked(state: str) -> None:
    """Die like a process that the kernel killed; the process that removes the file first dies."""
    try:
        (HOOKS / f"{state}.kill").unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


load_order_processing()
for name in list(FUNCTIONS):
    FUNCTIONS[name] = hooked(name, FUNCTIONS[name])
