"""The view of a run for readers: which states are ready, and documents without secrets. Pure."""

from dcf.core.documents.codec import show_state
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.values.json_text import Json
from dcf.values.records import replace

HIDDEN_TOKEN = "***"  # noqa: S105 - it stands for a token
"""Shown instead of a lease token to all callers but its holder."""


def is_ready(meta: Meta, doc: StateDoc, now: int) -> bool:
    """Return True if a lease on this state could be granted now."""
    return meta.status is RunStatus.RUNNING and not meta.is_halted and doc.is_claimable(now)


def public_state(doc: StateDoc) -> dict[str, Json]:
    """Return a state document for any reader: the token hidden, stored receipts left out."""
    token = None if doc.lease.token is None else HIDDEN_TOKEN
    return show_state(replace(doc, lease=replace(doc.lease, token=token)))


def short_state(document: dict[str, Json]) -> dict[str, Json]:
    """Return a state document for an answer, without empty fields, and without a lease that no agent holds."""
    shown = {name: value for name, value in document.items() if value is not None and value != {}}
    lease = document.get("lease")
    if isinstance(lease, dict):
        if lease.get("token") is None:
            del shown["lease"]
        else:
            shown["lease"] = {name: value for name, value in lease.items() if value is not None}
    return shown


def holder_state(doc: StateDoc) -> dict[str, Json]:
    """Return a state document for the holder of its lease, token included."""
    return show_state(doc)
