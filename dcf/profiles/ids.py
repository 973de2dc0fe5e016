"""Ids that say where something is: `<run>:<unit>` is a unit of a run. So profiles need no table of ids of their own."""

import hashlib
import re
from typing import Final

from dcf.profiles.profile import refuse
from dcf.values.identifiers import is_id

_LONGEST_SLUG: Final = 40


def id_of(run: str, unit: str) -> str:
    """Return the id of a unit."""
    return f"{run}:{unit}"


def place_of(text: str, argument: str) -> tuple[str, str]:
    """Return run and unit of an id; raise NotDone for a text that is none."""
    run, colon, unit = text.partition(":")
    if not colon or not unit or not is_id(run):
        raise refuse(
            "unknown_state", f"{argument} is no id of this server.", "Pass the id exactly as you got it.", argument
        )
    return run, unit


def slug_of(text: str) -> str:
    """Return a text as part of a name: letters, digits and dashes."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-")[:_LONGEST_SLUG].strip("-") or "x"


def digest_of(*parts: str) -> str:
    """Return sixteen hex digits that stand for these texts, and for no others that a run will ever have."""
    return hashlib.sha256("\x00".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
