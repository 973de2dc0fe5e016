"""Finds work across runs, and claims the next ready state of all of them: one winner among any number of callers.

Claims at the same time pass over what others are about to take, so that each tries another state; the lease decides.
"""

import time
from collections.abc import Collection
from typing import Final

from dcf.asl.state_paths import name_of
from dcf.core.documents.answers import Leased
from dcf.core.documents.decision import Decision, Event, ReadSet, Snapshot, WriteSet
from dcf.core.leasing.lease import Acquire
from dcf.errors import NotFound
from dcf.features.work.area_storage import AreaBook
from dcf.features.work.areas import Occupied, areas_of, event_data, overlaps, warnings_of
from dcf.features.work.askers import Asker, Handed
from dcf.features.work.grant_storage import HandedOut
from dcf.features.work.limit_operations import limits_of
from dcf.features.work.listing import WorkItem, WorkPage, WorkPlace, WorkQuery, WorkStatus
from dcf.features.work.refusals import nothing_found
from dcf.features.work.search_storage import FoundState
from dcf.features.work.storage import WorkList
from dcf.jitter import JITTER
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections
from dcf.values.digest import fingerprint
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

_PAUSES_S: Final = (0.002, 0.004, 0.008, 0.016)
"""Longest pauses of a claim that finds only states that others are about to take. After these it races for one."""

_TRIES: Final = 8
"""States that one claim tries to lease, at most."""

_MOST_PLACES: Final = 256
"""Queries of which it is kept where the next claim begins."""

_LOOKED_AT: Final = 50
_PAGES_OF_A_LOOK: Final = 4
"""Pages of `_LOOKED_AT` ready states that a wait looks through for an unassigned one."""

_PAGES: Final = 20
"""Pages of the list that one claim looks through, at most."""


@record(frozen=True, slots=True, kw_only=True)
class TakenWork:
    """A state of a run that was leased."""

    workflow_id: str
    leased: Leased


class Areas:
    """Warns the holder of a new lease of other work in the same files, of the same project or run. It never refuses."""

    def __init__(self, plane: ControlPlane, book: AreaBook) -> None:
        self._plane = plane
        self._book = book

    def warn(self, workflow_id: str, leased: Leased) -> list[str]:
        """Enter the areas of a lease that was granted just now; return what overlaps them, which the history tells too.

        A state without areas costs no command.
        """
        areas = areas_of(leased.doc) or self._plane.run(workflow_id).definition.areas.get(name_of(leased.state), ())
        if not areas or leased.outcome != "lease_acquired":
            return []
        owner = leased.doc.lease.owner_agent_id or "unknown"
        mine = Occupied(workflow_id=workflow_id, state=leased.state, owner=owner, areas=areas)
        overlapping = overlaps(areas, self._book.enter(self._plane.transactions.run(workflow_id).project, mine))
        if overlapping:
            event = Event(type="AreasOverlap", state=leased.state, data=event_data(overlapping))

            def decide(_: Snapshot) -> Decision[None]:
                return Decision(answer=None, changes=WriteSet(events=[event]))

            self._plane.transactions.on_run(workflow_id, ReadSet(), decide)
        return warnings_of(overlapping)


class WorkFinding:
    """Finds and claims work across runs. `areas` has where it is done, `handed` what calls were given."""

    def __init__(self, plane: ControlPlane, work: WorkList, handed: HandedOut, areas: AreaBook) -> None:
        self._plane = plane
        self._work = work
        self._left_at: dict[WorkQuery, WorkPlace | None] = {}
        self.handed = handed
        self.areas = Areas(plane, areas)

    def find_work(self, query: WorkQuery) -> WorkPage:
        """Return a page of work. Two round trips at most."""
        return self._work.page(query)

    def unassigned(self, agent: str, project: str | None, states: Collection[str] | None) -> list[WorkItem]:
        """Return ready states that no agent is assigned to, the oldest run first; only those of these names, if any."""
        query = WorkQuery(limit=_LOOKED_AT, agent=agent, status=WorkStatus.READY, project=project)
        for _ in range(_PAGES_OF_A_LOOK):
            page = self.find_work(query)
            free = (item for item in page.items if not item.agents)
            items = [item for item in free if states is None or name_of(item.state) in states]
            if items or page.next_place is None:
                return items
            query = replace(query, place=page.next_place)
        return []

    def claim_work(self, query: WorkQuery, wish: Acquire, asker: Asker | None = None) -> TakenWork | Refusal:
        """Lease the next ready state for the wish's owner, the one of the oldest run first.

        An `asker` that was given a state before gets it again, as long as it is still held. One without a request id
        gets it until a call came with the lease's token.
        """
        again = None if asker is None else self._given_before(query, wish, asker)
        if again is not None:
            return again
        limits = limits_of(self._plane)
        if limits is not None:
            limits.freshen()
        passed: list[FoundState] = []
        reasons: list[Refusal] = []
        for pause_s in (*_PAUSES_S, 0.0):
            mark = fingerprint(wish.token) if pause_s else ""
            answer = self._once(query, wish, asker, mark, passed, reasons)
            if answer is not None:
                return answer
            time.sleep(JITTER.uniform(pause_s / 2, pause_s))
        return nothing_found(query.agent or "", [reason.message for reason in reasons])

    def _given_before(self, query: WorkQuery, wish: Acquire, asker: Asker) -> TakenWork | None:
        """Return what an earlier call of the same asker was given, if it is to get it again."""
        handed = self.handed.find(asker)
        if handed is None or not self._is_of_project(handed.workflow_id, query.project):
            return None
        if asker.request_id is None and not self._awaits_sign(handed):
            return None
        target = FoundState(workflow_id=handed.workflow_id, state=handed.state)
        again = self._try(target, replace(wish, token=handed.token))
        return again if isinstance(again, TakenWork) else None

    def _awaits_sign(self, handed: Handed) -> bool:
        """Return True if a state is still held as it was given, and no call came with the lease's token."""
        try:
            read = self._plane.read(handed.workflow_id, (handed.state,), whole_meta=False, with_data=False)
        except NotFound:
            return False
        lease = read.states[handed.state].lease
        return lease.is_held_with(handed.token) and lease.awaits_sign

    def _is_of_project(self, workflow_id: str, project: str | None) -> bool:
        """Return True if a run is of the project that is asked for: what was given of another is not given again."""
        if project is None:
            return True
        try:
            return self._plane.run(workflow_id).project == project
        except NotFound:
            return False

    def _once(
        self,
        query: WorkQuery,
        wish: Acquire,
        asker: Asker | None,
        mark: str,
        passed: list[FoundState],
        reasons: list[Refusal],
    ) -> TakenWork | Refusal | None:
        """Look through the list once. Return None if others are about to take all that fits.

        An agent may have more live runs in which nothing is ready than one claim looks through. The next claim of this
        process then continues where it left off, and looks at the runs before that last; those after it stay there.
        """
        is_contested, begun = False, self._left_at.pop(query, None)
        page_query = replace(query, place=begun)
        for _ in range(_PAGES + _TRIES):
            candidates = self._work.next_ready(page_query, mark, passed)
            is_contested = is_contested or candidates.is_contested
            for state in candidates.states:
                if asker is not None:
                    handed_work = Handed(workflow_id=state.workflow_id, state=state.state, token=wish.token)
                    self.handed.note(asker, handed_work)
                answer = self._try(state, wish)
                if isinstance(answer, TakenWork):
                    self._leave(query, None if begun is None else page_query.place)
                    return answer
                if answer is not None and answer.code in {"work_limit_reached", "account_closed"}:
                    return answer
                passed.append(state)
                reasons += [] if answer is None else [answer]
                if len(passed) >= _TRIES:
                    return nothing_found(query.agent or "", [refusal.message for refusal in reasons])
            if not candidates.states:
                if candidates.next_place is None and begun is None:
                    break
                begun = None if candidates.next_place is None else begun  # what lies before it comes last
                page_query = replace(query, place=candidates.next_place)
        else:
            self._leave(query, page_query.place)
        if is_contested:
            return None
        return nothing_found(query.agent or "", [reason.message for reason in reasons])

    def _leave(self, query: WorkQuery, place: WorkPlace | None) -> None:
        """Note where the next claim by the same query begins."""
        if place is not None:
            if len(self._left_at) >= _MOST_PLACES:
                self._left_at.clear()
            self._left_at[query] = place

    def _try(self, found_state: FoundState, wish: Acquire) -> TakenWork | Refusal | None:
        """Lease a state that was found; None if its run is gone."""
        try:
            answer = self._plane.acquire(found_state.workflow_id, replace(wish, state=found_state.state))
        except NotFound:
            return None
        if isinstance(answer, Refusal):
            return answer
        return TakenWork(workflow_id=found_state.workflow_id, leased=answer)


def open_work(plane: ControlPlane, connections: Connections) -> WorkFinding:
    """Return what finds work in one Redis."""
    return WorkFinding(plane, WorkList(connections), HandedOut(connections), AreaBook(connections))
