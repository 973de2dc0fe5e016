"""The timer loop that a server runs with its tools."""

import logging
from types import SimpleNamespace
from typing import Any

import anyio
import anyio.from_thread
import pytest

from dcf.errors import StoreUnavailable
from dcf.tools.mcp.pulse import keep_pulse

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("failure", [StoreUnavailable("Redis cannot be reached."), RuntimeError("a defect")])
async def test_a_failed_look_is_logged_and_the_next_one_comes(
    failure: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    looks = 0
    enough = anyio.Event()

    def pulse() -> int:
        nonlocal looks
        looks += 1
        if looks == 3:
            anyio.from_thread.run_sync(enough.set)
        raise failure

    application: Any = SimpleNamespace(
        clock=SimpleNamespace(pulse=pulse), settings=SimpleNamespace(pulse_interval_s=0.001)
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(keep_pulse, application)
        with anyio.fail_after(60):
            await enough.wait()
        tasks.cancel_scope.cancel()
    logged = [
        record for record in caplog.records if record.name.startswith("dcf") and record.levelno >= logging.WARNING
    ]
    assert len(logged) >= 2
    assert all(bool(record.exc_info) == isinstance(failure, RuntimeError) for record in logged)
