"""The first term of a lease whose holder may not know of it: short, until the holder's first sign. Pure.

A lease that is granted through a wait goes over a connection that its client may no longer read. So it lasts its whole
term only once a call came with its token. Until then the same agent gets the same lease when it asks again.
"""

from typing import Final

from dcf.core.documents.model import Lease, StateDoc
from dcf.values.instants import SECOND
from dcf.values.records import replace

FIRST_TERM_S: Final = 15
"""Seconds that a lease lasts that was granted through a wait, until the first sign of its holder."""

DEFAULT_TTL_S: Final = 300
"""TTL in seconds of a renewed lease whose own TTL is not readable."""


def first_term_of(ttl_s: int) -> int:
    """Return the seconds until the first sign, for a lease of `ttl_s` seconds that is granted through a wait."""
    return min(ttl_s, FIRST_TERM_S)


def is_short(lease: Lease) -> bool:
    """Return True if the lease ends before its term, unless its holder gives a sign."""
    if not lease.awaits_sign or lease.expires_at is None or lease.ts is None or lease.ttl_s is None:
        return False
    return lease.expires_at < lease.ts + lease.ttl_s * SECOND


def signed(doc: StateDoc, now: int) -> StateDoc:
    """Return the document after a call with the lease's token: from the first one on the lease lasts its whole term."""
    lease = doc.lease
    if not lease.awaits_sign:
        return doc
    expires_at = now + (lease.ttl_s or DEFAULT_TTL_S) * SECOND
    return replace(doc, lease=replace(lease, awaits_sign=False, expires_at=expires_at))


def asked_again(doc: StateDoc, first_term_s: int, now: int) -> StateDoc:
    """Return the document after the agent asked again without a sign: the first term begins again."""
    if not doc.lease.awaits_sign:
        return doc
    return replace(doc, lease=replace(doc.lease, expires_at=now + first_term_s * SECOND))
