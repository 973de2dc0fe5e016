"""Tables that are filled once in a process, before the first call."""

from typing import TYPE_CHECKING, Never


class Tables:
    """Raises if a table is read that is not filled yet, so that no process ignores a capability in silence."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            """Raise: the tables are not filled."""
            raise RuntimeError(f"No capability is installed yet ('{name}'): import {self.filled_by} first.")

    filled_by: str
    """The module that fills the tables."""
