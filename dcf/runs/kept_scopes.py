"""Process cache of the records that are written when a Map opens, since every iteration needs them.

A record never changes while its Map is open, so it is read once. But a Map may open again under the same epoch: a
failover can undo its opening, and a run can be created again under the same id. So a record is valid for one visit
only. The time of the run's creation, the Map's epoch and the time of its start identify the visit. This module must
not make decisions.
"""

from typing import TypeAlias

from dcf.core.documents.decision import More, ReadSet, Snapshot
from dcf.core.documents.model import StateDoc, StateInput
from dcf.values.records import replace

_MOST = 64

_Visit: TypeAlias = tuple[str, int, int | None]


class KeptScopes:
    """Records of open Maps by run and path; beyond `most` the oldest are dropped."""

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._kept: dict[tuple[str, str], tuple[_Visit, StateInput]] = {}

    def without(self, workflow_id: str, reads: ReadSet) -> ReadSet:
        """Return the reads without cached records. If a cached one is of another visit, `add_to` asks for it again."""
        if not reads.scopes:
            return reads
        return replace(reads, scopes=tuple(path for path in reads.scopes if (workflow_id, path) not in self._kept))

    def add_to(self, workflow_id: str, snapshot: Snapshot, tallies: tuple[str, ...]) -> Snapshot | More:
        """Return the snapshot with the cached records, and cache those just read; or More if some are missing."""
        scopes = dict(snapshot.scopes)
        for path in tallies:
            doc, at = snapshot.states.get(path), (workflow_id, path)
            if doc is None or doc.scope is None or doc.kind != "Map":
                continue
            visit, kept_scope = _visit(snapshot, doc), self._kept.get(at)
            if path in scopes:
                self._keep(at, visit, scopes[path])
            elif kept_scope is not None and kept_scope[0] == visit:
                scopes[path] = kept_scope[1]
        missing = tuple(path for path in tallies if path not in scopes and path in snapshot.states)
        return More(scopes=missing) if missing else replace(snapshot, scopes=scopes)

    def _keep(self, at: tuple[str, str], visit: _Visit, record: StateInput) -> None:
        self._kept.pop(at, None)
        self._kept[at] = (visit, record)
        for oldest in list(self._kept)[: -self._most]:
            self._kept.pop(oldest, None)


def _visit(snapshot: Snapshot, doc: StateDoc) -> _Visit:
    created_at = "" if snapshot.meta is None else snapshot.meta.created_at
    return created_at, doc.lease.epoch, doc.started_at
