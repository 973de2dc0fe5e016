"""Tells pages what time it is, as this process knows it: only to say how old something is, never to decide."""

import time

from dcf.values.instants import to_text


def this_moment() -> str:
    """Return the time. A page calls this before it reads, so that its content is at least as new as its time."""
    return to_text(time.time_ns() // 1000)
