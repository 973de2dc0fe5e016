"""Which context this command uses, from its option, the environment and the file of contexts.

`dcf --help` imports this, so what chooses is imported when a place is asked for.
"""

import os
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final

from dcf.errors import InvalidArgument

if TYPE_CHECKING:
    from dcf.cli.places.context import Choice

_OPTION: Final[ContextVar[str | None]] = ContextVar("dcf_context", default=None)


def name_context(name: str | None) -> None:
    """Note what --context says in this command; None where it is not given."""
    _OPTION.set(name)


def place_in_use() -> "Choice":
    """Return the context that this command uses, and why."""
    from dcf.cli.places.context import choose
    from dcf.cli.places.context_file import path_of_contexts, read_contexts

    return choose(_OPTION.get(), os.environ, lambda: read_contexts(path_of_contexts()))


def program() -> str:
    """Return how the program is called again on the same place: an option is not remembered."""
    name = _OPTION.get()
    return "dcf" if name is None else f"dcf --context {name}"


def elsewhere() -> str:
    """Return the name of the place in use, or nothing for this machine."""
    chosen = place_in_use()
    return "" if chosen.context.is_local else chosen.title


def stay_here(*, serves: bool = False, what: str = "This command") -> None:
    """Raise InvalidArgument where a server is in use: what works on this machine only would work on another place.

    A process that `serves` has the URL of its own server in DCF_SERVER_URL, so that this chooses no place for it.
    """
    chosen = place_in_use()
    if chosen.context.is_local or (serves and not chosen.is_named):
        return
    raise InvalidArgument(
        f"{what} works on this machine only, and {chosen.title} is in use: {chosen.because}.", "Add --context local."
    )
