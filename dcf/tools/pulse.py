"""The clock of a process that serves the tools: looks at all live runs periodically. Nothing but time depends on it."""

import logging

import anyio
import anyio.to_thread

from dcf.application import Application
from dcf.errors import DcfError

log = logging.getLogger(__name__)


async def keep_pulse(application: Application) -> None:
    """Look at all live runs periodically, to fire timers and deliver notifications; a failed look is logged."""
    own = anyio.CapacityLimiter(1)  # its own thread: the clock must run even when all tool threads are busy
    while True:
        try:
            await anyio.to_thread.run_sync(application.clock.pulse, limiter=own)
            await anyio.to_thread.run_sync(application.sweep.step, limiter=own)
        except DcfError as error:
            log.warning("pulse: %s: %s", error.code, error.message)
        except Exception:  # a bug met in one run must not stop the clock of the others
            log.exception("pulse failed")
        await anyio.sleep(application.settings.pulse_interval_s)
