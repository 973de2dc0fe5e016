"""A run that goes on while nobody gets a lease: it is paused, or an issue blocks it. Pure.

Here is who is told when leases are given again. `core/lifecycle/halting.py` pauses and resumes,
`core/lifecycle/blocking.py` blocks and unblocks, `core/leasing/halt_refusals.py` says why a lease is refused
meanwhile.
"""

from dcf.core.documents.decision import Snapshot, WriteSet
from dcf.core.documents.model import Meta, StateDoc
from dcf.core.documents.notices import ready_again
from dcf.core.leasing.attention import latest_look
from dcf.values.instants import from_text


def announce_ready(writes: WriteSet, snapshot: Snapshot, meta: Meta, reason: str) -> int:
    """Tell the agents of all states that can be taken from now on; return of how many. `meta` is as it is from now on.

    The open states must have been read. What starting the run will announce is left to that.
    """
    ready = {path: doc for path, doc in snapshot.states.items() if doc.is_claimable(snapshot.now)}
    told = {path: doc for path, doc in ready.items() if not _waits_for_start(doc, meta)}
    writes.notices.extend(ready_again(path, doc, snapshot.now, reason) for path, doc in told.items())
    writes.sooner.update({path: latest_look(doc, meta, snapshot.now) for path, doc in ready.items()})
    return len(told)


def _waits_for_start(doc: StateDoc, meta: Meta) -> bool:
    """Return True if starting the run will announce the state: nothing happened to it since the run was created."""
    return not meta.is_started and doc.lease.epoch == from_text(meta.created_at)
