"""The author of changes, as a context variable that the writer of a run's history reads.

A context variable and not a parameter: no decision depends on it, and every operation would have to pass it on. The
clock and the command line set no author; their changes are dcf's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_AUTHOR: ContextVar[str | None] = ContextVar("dcf_author", default=None)


def current_author() -> str | None:
    """Return the author of changes made now; None for dcf itself."""
    return _AUTHOR.get()


@contextmanager
def authored_by(name: str) -> Iterator[None]:
    """Record this name as the author of all changes in the `with` block."""
    token = _AUTHOR.set(name)
    try:
        yield
    finally:
        _AUTHOR.reset(token)
