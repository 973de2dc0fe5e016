"""The author of changes and the account of its key, as context variables that the writers of Redis read.

A context variable and not a parameter: no decision depends on it, and every operation would have to pass it on. The
timer loop and the command line set no author; their changes are dcf's own.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dcf.core.access.quotas import Account

_AUTHOR: ContextVar[str | None] = ContextVar("dcf_author", default=None)
_ACCOUNT: ContextVar[Account | None] = ContextVar("dcf_account", default=None)


def current_author() -> str | None:
    """Return the author of changes made now; None for dcf itself."""
    return _AUTHOR.get()


def current_account() -> Account | None:
    """Return the account that changes made now are counted for; None where there are no quotas."""
    return _ACCOUNT.get()


@contextmanager
def authored_by(name: str, account: Account | None = None) -> Iterator[None]:
    """Record this name as the author of all changes in the `with` block, and count them for this account."""
    author, counted = _AUTHOR.set(name), _ACCOUNT.set(account)
    try:
        yield
    finally:
        _ACCOUNT.reset(counted)
        _AUTHOR.reset(author)
