"""Whether Redis takes writes just now, for every page to say so: asked for often, and looked at a little more rarely.

It does not tell whether Redis answers at all.
"""

import time
from collections.abc import Callable
from typing import Final

from dcf.core.listing.sweep_results import Trouble
from dcf.errors import StoreUnavailable

_GOOD_FOR_S: Final = 2.0


class WriteWatch:
    """Says why Redis rejects writes. `look` tries one; what it found, or what was noted, is good for two seconds."""

    def __init__(self, look: Callable[[], Trouble | None], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._look = look
        self._monotonic = monotonic
        self._good_until = 0.0
        self._found: Trouble | None = None

    def note(self, trouble: Trouble | None) -> None:
        """Take over what somebody else's write met just now, so that none is tried for it; None: it was accepted."""
        self._found = trouble
        self._good_until = self._monotonic() + _GOOD_FOR_S

    def trouble(self) -> Trouble | None:
        """Return why writes are rejected; None if they are accepted, or Redis does not answer."""
        if self._monotonic() >= self._good_until:
            self._good_until = self._monotonic() + _GOOD_FOR_S
            try:
                self._found = self._look()
            except StoreUnavailable:
                self._found = None
        return self._found
