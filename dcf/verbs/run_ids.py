"""Draws the ids of new runs. A repetition of a request gets the id that it had, and so the same run."""

import secrets

from dcf.core.definitions.model import Definition
from dcf.core.lifecycle.starting import new_id


def id_for(definition: Definition, request_id: str | None, caller: str | None, of: str = "") -> str:
    """Return the id of a new run: drawn, or the same each time for a request id of this caller and this workflow.

    `of` is the run that it repeats.
    """
    seed = secrets.token_hex(16) if request_id is None else f"{caller}\n{definition.name}\n{of}\n{request_id}"
    return new_id(definition.name, seed)


def id_for_opening(name: str, request_id: str | None, caller: str | None) -> str:
    """Return the id of a run to be opened: drawn, or the same each time for a request id of this caller."""
    seed = secrets.token_hex(16) if request_id is None else f"{caller}\nopen {name}\n{request_id}"
    return new_id(name, seed)
