"""Suggests names for misspelt ones. Pure."""

import difflib
from collections.abc import Iterable


def near(name: str, known: Iterable[str]) -> str:
    """Return the sentence that asks whether a similar name was meant, or nothing."""
    similar = difflib.get_close_matches(name, list(known), 1)
    return f" Did you mean '{similar[0]}'?" if similar else ""
