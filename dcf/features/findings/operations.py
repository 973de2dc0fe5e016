"""The operations on findings, which outlive the runs that they came from. Names what is read, and what decides.

A finding is an entry of a text index. It is added under an id that follows from its key or content. It is changed only
if it is still the one that was read. So repetitions and races end as one call after the other would.
"""

from collections.abc import Callable
from typing import Final

from dcf.core.text.entries import SearchPage, TextSearch, read_page
from dcf.core.text.query import read_query
from dcf.errors import Conflict, UnknownFinding
from dcf.features.findings import changing
from dcf.features.findings.changing import FindingsQuery, FindingWish, NewFinding
from dcf.features.findings.model import MOST_FINDINGS, LastingFinding, as_entry, read_finding
from dcf.features.findings.refusals import FINDING_EXISTS, SUPERSEDED_BY_ITSELF, SUPERSEDING_UNKNOWN, TOO_MANY_FINDINGS
from dcf.store.connection.connections import Connections
from dcf.store.text_index.index import Full, Stored, TextIndex
from dcf.values.records import record
from dcf.values.refusal import Refusal

INDEX: Final = "findings"
_TRIES: Final = 20
_LONGEST_CHAIN: Final = 50


@record(frozen=True, slots=True, kw_only=True)
class FindingKept:
    """A finding that is there now; `existed`: it was before this call. `changed`: this call changed it."""

    finding: LastingFinding
    existed: bool = True
    changed: bool = False


class Knowledge:
    """The findings of one Redis."""

    def __init__(self, connections: Connections, *, wait_replicas: int = 0, most: int = MOST_FINDINGS) -> None:
        self._index = TextIndex(connections, INDEX, most=most, wait_replicas=wait_replicas)

    def add(self, wish: NewFinding) -> FindingKept | Refusal:
        """Keep a finding. The same one, or another with the same key, is found and not kept twice."""
        made = changing.new_finding(wish, self._index.now())
        outcome = self._index.put(as_entry(made, 1))
        if isinstance(outcome, Full):
            return TOO_MANY_FINDINGS.refuse(most=outcome.most)
        if isinstance(outcome, Refusal):
            return outcome
        if outcome is None:
            return FindingKept(finding=made, existed=False, changed=True)
        there = self.read(made.finding_id)
        return (
            FindingKept(finding=there)
            if there.content == made.content
            else FINDING_EXISTS.refuse(finding_id=made.finding_id)
        )

    def read(self, finding_id: str) -> LastingFinding:
        """Return a finding; raise UnknownFinding if there is none."""
        return _finding(finding_id, self._index.get(finding_id)[0])

    def update(
        self, finding_id: str, wish: FindingWish, *, may: Callable[[LastingFinding], None] = lambda _: None
    ) -> FindingKept | Refusal:
        """Change a finding; `may` raises if the caller may not change it. Nothing to change is no error."""
        if wish.superseded_by is not None:
            wrong = self._wrongly_superseded(finding_id, wish.superseded_by)
            if wrong is not None:
                return wrong
        for _ in range(_TRIES):
            stored, now = self._index.get(finding_id)
            there = _finding(finding_id, stored)
            may(there)
            made = changing.changed(there, wish, now)
            if isinstance(made, Refusal):
                return made
            if made == there or stored is None:
                return FindingKept(finding=there)
            outcome = self._index.put(as_entry(made, stored.revision + 1), replaces=stored.revision)
            if outcome is None:
                return FindingKept(finding=made, changed=True)
            if isinstance(outcome, Refusal):
                return outcome
        raise Conflict("Others kept changing the same finding; nothing was written.")

    def delete(self, finding_id: str) -> bool:
        """Delete a finding permanently; return False if it was gone already."""
        return self._index.remove(finding_id)

    def search(self, query: FindingsQuery) -> SearchPage[tuple[LastingFinding, int]]:
        """Return a page of findings. Raise InvalidArgument for a cursor of another search."""
        text_search = TextSearch(
            limit=query.limit,
            query=read_query(query.text),
            filters=query.filters.as_facets,
            offset=query.offset,
            cursor=query.cursor,
        )
        return read_page(self._index.search(text_search), read_finding)

    def _wrongly_superseded(self, finding_id: str, by: str) -> Refusal | None:
        """Refuse where the superseding finding is not there, or is superseded by this one, directly or not."""
        following: str | None = by
        for _ in range(_LONGEST_CHAIN):
            if following == finding_id:
                return SUPERSEDED_BY_ITSELF.refuse(finding_id=finding_id)
            if following is None:
                return None
            stored = self._index.get(following)[0]
            if stored is None:
                return SUPERSEDING_UNKNOWN.refuse(finding_id=by) if following == by else None
            following = read_finding(stored.document).superseded_by
        return SUPERSEDED_BY_ITSELF.refuse(finding_id=finding_id)


def _finding(finding_id: str, stored: Stored | None) -> LastingFinding:
    if stored is None:
        raise UnknownFinding(finding_id)
    return read_finding(stored.document)
