"""Receipts: the stored answers to applied requests. A repeated request gets the same answer, however late it comes.

A state's document holds the receipt of the latest request. The write that replaces it moves the old one into the run's
hash of receipts, in the same transaction. So no receipt is lost, and the usual step writes no extra key. Pure; does not
decide whether a request is accepted.
"""

from typing import TypeAlias

from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import Operation, Receipt, StateDoc, Status
from dcf.values.digest import fingerprint
from dcf.values.records import replace

Place: TypeAlias = tuple[str, str]
"""Key of a receipt: the path of its state, and the fingerprint of its request."""


def token_key(token: str) -> str:
    """Return the request key of ending a lease. A token ends one lease once, by completing or by releasing."""
    return fingerprint(token)


def write_key(token: str, request_id: str) -> str:
    """Return the request key of a holder's partial write."""
    return fingerprint(f"{token}\n{request_id}")


def was_read(snapshot: Snapshot, state: str, request: str) -> bool:
    """Return True if the hash of receipts was read for this request, so that `find` is conclusive."""
    return (state, request) in snapshot.receipts


def find(snapshot: Snapshot, state: str, request: str) -> Receipt | None:
    """Return the receipt of a request, or None if there is none among those that were read."""
    latest = snapshot.states[state].receipt
    if latest is not None and latest.request == request:
        return latest
    return snapshot.receipts.get((state, request))


def keep(state: str, doc: StateDoc, receipt: Receipt) -> tuple[StateDoc, dict[Place, Receipt]]:
    """Put a receipt into a state's document.

    Return the document, and the receipt it replaces, which must move to the hash.
    """
    moved = {} if doc.receipt is None else {(state, doc.receipt.request): doc.receipt}
    return replace(doc, receipt=receipt), moved


def lost(state: str, doc: StateDoc, now: int) -> dict[Place, Receipt]:
    """Record that a lease ended without its holder, so that a late request cannot acquire with that token again."""
    if doc.lease.token is None:
        return {}
    request = token_key(doc.lease.token)
    return {(state, request): Receipt(request=request, operation=Operation.LOST, at=now, status=Status.RUNNING)}
