"""Tells pages what time it is, as this process knows it: only to say how old something is, never to decide."""

import time

from dcf.values.instants import to_text


def this_moment() -> str:
    """Return the time. A page asks before it reads, so that what it shows is at least as new as it says."""
    return to_text(time.time_ns() // 1000)
