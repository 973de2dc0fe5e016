"""Who is behind the changes that are being made, as a value that the writer of a run's history reads.

A context value and not a parameter: no decision depends on it, and every verb would have to hand it on. The clock and
the command line name nobody; their changes are dcf's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_AUTHOR: ContextVar[str | None] = ContextVar("dcf_author", default=None)


def current_author() -> str | None:
    """Return who makes the change, None for dcf itself."""
    return _AUTHOR.get()


@contextmanager
def authored_by(name: str) -> Iterator[None]:
    """Write this name into the events of what is changed while the context lasts."""
    token = _AUTHOR.set(name)
    try:
        yield
    finally:
        _AUTHOR.reset(token)
