"""Announces ready states when a paused or blocked run grants leases again. Pure.

It is separate because both pausing (`core/lifecycle/halting.py`) and blocking (`core/lifecycle/blocking.py`) need it.
Until then `core/leasing/halt_refusals.py` says why a lease is refused.
"""

from dcf.core.documents.decision import Snapshot, WriteSet
from dcf.core.documents.model import Meta, StateDoc
from dcf.core.documents.notices import ready_again
from dcf.core.leasing.attention import latest_look
from dcf.values.instants import from_text


def announce_ready(writes: WriteSet, snapshot: Snapshot, meta: Meta, reason: str) -> int:
    """Tell the agents of all states that can be taken from now on; return of how many. `meta` is as it is from now on.

    The open states must have been read. States that starting the run will announce are left to the start.
    """
    ready = {path: doc for path, doc in snapshot.states.items() if doc.is_claimable(snapshot.now)}
    docs = {path: doc for path, doc in ready.items() if not _waits_for_start(doc, meta)}
    writes.notices.extend(ready_again(path, doc, snapshot.now, reason) for path, doc in docs.items())
    writes.sooner.update({path: latest_look(doc, meta, snapshot.now) for path, doc in ready.items()})
    return len(docs)


def _waits_for_start(doc: StateDoc, meta: Meta) -> bool:
    """Return True if starting the run will announce the state: nothing happened to it since the run was created."""
    return not meta.is_started and doc.lease.epoch == from_text(meta.created_at)
