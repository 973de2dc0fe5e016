"""Receipts: what the sender of an applied request was told, so that a repetition is told the same, however late it is.

The state's document holds the receipt of the last request; whoever writes the next one moves it into the run's hash
of receipts in the same transaction. So the common step costs nothing, and no receipt is lost to another holder, a
retry or a release. Pure; it may not decide whether a request is accepted.
"""

from dataclasses import replace
from typing import Final, TypeAlias

from dcf.core.decision import Snapshot
from dcf.core.model import Operation, Receipt, StateDoc, Status
from dcf.values.digest import fingerprint

Place: TypeAlias = tuple[str, str]
"""Where a receipt is kept: the path of its state, and the fingerprint of the request."""

UNREAD: Final = object()
"""Stands for a receipt that may be in the hash, which was not read."""


def token_key(token: str) -> str:
    """Name the request that ends a lease: a token ends one once, whether by completing or by giving back."""
    return fingerprint(token)


def write_key(token: str, request_id: str) -> str:
    """Name a partial write of a holder."""
    return fingerprint(f"{token}\n{request_id}")


def was_read(snapshot: Snapshot, state: str, request: str) -> bool:
    """Whether the snapshot tells if this request was applied, also when the document's receipt is another one."""
    return (state, request) in snapshot.receipts


def find(snapshot: Snapshot, state: str, request: str) -> Receipt | None:
    """Return the receipt of a request, as far as it was read; None where there is none."""
    latest = snapshot.states[state].receipt
    if latest is not None and latest.request == request:
        return latest
    return snapshot.receipts.get((state, request))


def keep(state: str, doc: StateDoc, receipt: Receipt) -> tuple[StateDoc, dict[Place, Receipt]]:
    """Put a receipt into a state's document; answer also with the one that must move to the hash for it, if any."""
    moved = {} if doc.receipt is None else {(state, doc.receipt.request): doc.receipt}
    return replace(doc, receipt=receipt), moved


def lost(state: str, doc: StateDoc, now: int) -> dict[Place, Receipt]:
    """Note that a lease ended without its holder, so that a late request of that token cannot hold the state again."""
    if doc.lease.token is None:
        return {}
    request = token_key(doc.lease.token)
    return {(state, request): Receipt(request=request, operation=Operation.LOST, at=now, status=Status.RUNNING)}
