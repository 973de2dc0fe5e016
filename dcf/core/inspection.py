"""What an onlooker may see of a run: readiness, and documents without the secrets in them. Pure."""

from dataclasses import replace

from dcf.core.codec import write_state
from dcf.core.model import Meta, RunStatus, StateDoc
from dcf.values.json_text import Json

HIDDEN_TOKEN = "***"  # nosec B105 # noqa: S105 - it stands for a token
"""Shown in place of a lease token to anybody but its holder."""


def is_ready(meta: Meta, doc: StateDoc, now: int) -> bool:
    """Whether a lease on this state could be granted now."""
    return meta.status is RunStatus.RUNNING and doc.is_claimable(now)


def public_state(doc: StateDoc) -> dict[str, Json]:
    """Show a state document to everybody: the token hidden, stored replies left out."""
    token = None if doc.lease.token is None else HIDDEN_TOKEN
    shown = write_state(replace(doc, lease=replace(doc.lease, token=token)))
    del shown["last"]
    return shown


def holder_state(doc: StateDoc) -> dict[str, Json]:
    """Show a state document to the holder of its lease, token included."""
    shown = write_state(doc)
    del shown["last"]
    return shown
