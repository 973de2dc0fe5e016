"""The clock of a process that serves the tools: looks at all live runs periodically. Nothing but time depends on it."""

import logging
from collections.abc import Callable

import anyio
import anyio.to_thread

from dcf.application.application import Application
from dcf.errors import DcfError

log = logging.getLogger(__name__)


async def keep_pulse(application: Application) -> None:
    """Look at all live runs periodically, to fire timers and deliver notifications; a failed look is logged.

    When this is cancelled it looks once more, unless the last look failed. There may be no other timer loop, and lists
    would then show a run that has just ended as running.
    """
    own = anyio.CapacityLimiter(1)  # its own thread: the timer loop must run even when all tool threads are busy

    def look() -> None:
        application.clock.pulse()
        application.sweep.step()

    is_well = False
    try:
        while True:
            is_well = await anyio.to_thread.run_sync(_is_done, look, limiter=own)
            await anyio.sleep(application.settings.pulse_interval_s)
    finally:
        if is_well:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(_is_done, application.clock.pulse, limiter=own)


def _is_done(work: Callable[[], object]) -> bool:
    try:
        work()
    except DcfError as error:
        log.warning("pulse: %s: %s", error.code, error.message)
        return False
    except Exception:  # a bug met in one run must not stop the clock of the others
        log.exception("pulse failed")
        return False
    return True
