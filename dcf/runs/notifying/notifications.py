"""Delivery of notifications: hands outbox entries to the agent platform and records the outcome.

A notification is only a hint: the lease decides who works on a state. A run stays correct without deliveries, but may
be stuck. Any number of processes may deliver at once.
"""

import logging
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, TypeAlias

from dcf import metrics
from dcf.asl.state_paths import inside
from dcf.core.documents.decision import Notice, Snapshot
from dcf.core.documents.notices import TO_RUNS, NoticeKind, is_for_workers
from dcf.core.lifecycle.inspection import is_ready
from dcf.errors import DcfError, StoreUnavailable, UnknownState
from dcf.ports import Deliverer, Undelivered
from dcf.runs.clock.lost_timers import set_timer
from dcf.runs.control_plane import ControlPlane
from dcf.runs.notifying import waiting_events
from dcf.runs.notifying.announcements import is_outdated, recipients
from dcf.runs.notifying.delivery_records import Target, announcement_of, outcome_name, outcome_of, target_of
from dcf.runs.notifying.prompt_delivery import DeliverAll, PromptDelivery
from dcf.runs.notifying.queues import Lanes
from dcf.runs.notifying.sender import Sender
from dcf.store.events.notified import NEVER_TOLD, PLANNER, Told, ToldRecords
from dcf.store.events.outbox import NOTHING_TOLD, Outbox, OutboxEntry, TellingOutcome
from dcf.values.digest import fingerprint
from dcf.values.json_text import Json, dump
from dcf.values.records import replace

_log = logging.getLogger(__name__)

STALLED_S: Final = 30.0
"""Seconds after which an outbox entry that its deliverer did not settle is taken over by another."""

_PAGE: Final = 100
_PAGE_OF_REMOTE: Final = 10
"""Entries taken at once for a remote platform: few, since each may take seconds, and others take over slow ones."""

_NO_ROOM_S: Final = 1.0
"""Seconds after which an entry for which a lane has no room is taken up again, by any process."""

ToRun: TypeAlias = Callable[[str, OutboxEntry], object]
"""Carries out an entry that is for another run and not for an agent, and removes it (`children/operations.py`)."""

ToAnybody: TypeAlias = Callable[[str, Sequence[OutboxEntry], Snapshot], object]
"""Notifies agents that wait for states that no agent is assigned to (`work/unassigned_operations.py`)."""


class Notifications:
    """Delivers the notifications in the outboxes of runs."""

    def __init__(
        self,
        plane: ControlPlane,
        outbox: Outbox,
        records: ToldRecords,
        platform: Deliverer,
        together: DeliverAll | None = None,
        people: Deliverer | None = None,
        *,
        to_run: ToRun,
        to_anybody: ToAnybody,
        lanes: Lanes | None = None,
    ) -> None:
        """Deliver through the platform; with `together` a page at a time, where that is one step for it.

        With `lanes`, each remote platform notifies its agents independently. A person is not an agent of a remote
        platform: recipients that it does not know are notified through `people`.
        """
        self._lanes = lanes
        self._at_once = None if together is None else PromptDelivery(self._lanes_of, together)
        self._plane = plane
        self._to_run = to_run
        self._to_anybody = to_anybody
        self._together = together
        self._outbox = outbox
        self._records = records
        self._sender = Sender(platform, together, people, self._lanes_of)
        self._page = _PAGE_OF_REMOTE if platform.is_remote else _PAGE
        self._name = f"relay-{secrets.token_hex(4)}"

    def tell_at_once(self, workflow_id: str, notices: Sequence[Notice], seen: Snapshot, writer: str) -> None:
        """Notify agents other than the writer of states that a commit made ready, before the outbox is delivered."""
        if self._at_once is not None:
            self._at_once.tell(workflow_id, notices, seen, writer)

    def notify_next(
        self, workflow_id: str, source: str | None, *, reason: str | None = None, payload: Json = None
    ) -> list[Target]:
        """Deliver the outbox. Return the outcomes, and those of each follower of `source` (None: of the start)."""
        if source is not None:
            self._plane.place(workflow_id, source)  # raises UnknownState before anything is delivered
        delivered = {target.state: target for target in self.deliver(workflow_id, payload=payload)}
        followers, snapshot = self._read_followers(workflow_id, source)
        others = [
            target for state, target in delivered.items() if state not in followers and _is_of_a_scope(state, source)
        ]
        word = reason or ("initial" if source is None else "upstream_done")
        return [
            delivered.get(state) or self._tell(workflow_id, state, snapshot, word, source, payload)
            for state in followers
            if state in delivered or state in snapshot.states
        ] + others

    def notify(self, workflow_id: str, state: str, *, reason: str, payload: Json = None) -> Target:
        """Notify the agent of one state again, or for the first time; set its timer, if Redis has lost it."""
        set_timer(self._plane, workflow_id, self._plane.path(workflow_id, state))
        snapshot = self._read(workflow_id, (state,))
        doc = snapshot.states.get(state)
        if doc is None:  # its Parallel or Map has not opened it yet
            return Target(state=state, agent_id=None, reason=reason, skipped_not_ready=True)
        entry = OutboxEntry(
            entry_id="",
            type=f"nudge-{snapshot.now}",
            state=state,
            epoch=doc.lease.epoch,
            source=None,
            reason=reason,
        )
        target = self._sender.send(workflow_id, entry, snapshot, payload)
        if target.sent:
            self._record(workflow_id, self._plane.path(workflow_id, state), entry, target, snapshot)
        return target

    def _record(self, workflow_id: str, path: str, entry: OutboxEntry, target: Target, snapshot: Snapshot) -> None:
        """Record that the agents of a ready state were notified once more, for views of the run."""
        if not is_ready(snapshot.existing_meta, snapshot.states[entry.state or path], snapshot.now):
            return
        before = self._records.read(workflow_id, (path,)).get(path, NEVER_TOLD)
        number = before.times(entry.epoch) + 1
        announcement = announcement_of(entry, target, snapshot.now, number)
        self._records.record(workflow_id, path, announcement.after(before.sent))

    def deliver(self, workflow_id: str, *, payload: Json = None) -> list[Target]:
        """Deliver a page of the outbox to its agents. Entries that no agent can take yet stay."""
        entries = self._outbox.take(workflow_id, self._name, self._page)
        return self._settle_all(workflow_id, entries, payload)

    def deliver_all(self, workflow_id: str) -> int:
        """Deliver all entries that are not taken, and a page of stalled ones. Return how many were handled."""
        done, is_more = 0, True
        while is_more:
            entries = self._outbox.take(workflow_id, self._name, self._page)
            done += self._hand_on(workflow_id, entries)
            is_more = len(entries) == self._page
        stalled = self._outbox.take_over(workflow_id, self._name, STALLED_S, self._page)
        return done + self._hand_on(workflow_id, stalled)

    def _hand_on(self, workflow_id: str, entries: list[OutboxEntry]) -> int:
        """Deliver entries, those to remote platforms in their lanes. Return how many were handled until now."""
        delivered, entries = self._settle_prompt(workflow_id, entries)
        done = len(delivered)
        entries = [entry for entry in entries if not self._is_for_run(workflow_id, entry)]
        if self._lanes is None or not entries:
            return done + len(self._settle_all(workflow_id, entries, None))
        snapshot = self._of_entries(workflow_id, entries)
        by_lane = self._by_lane(workflow_id, entries, snapshot)
        here = by_lane.pop(None)
        for kind, group in by_lane.items():
            handled, no_room = self._lanes.put(str(kind), workflow_id, group, self._settle_one)
            done += handled
            for entry in no_room:
                self._outbox.postpone(workflow_id, entry, self._name, STALLED_S - _NO_ROOM_S)
        return done + len(self._settle_current(workflow_id, here, snapshot, None))

    def _settle_one(self, workflow_id: str, entry: OutboxEntry) -> int:
        return len(self._settle_all(workflow_id, [entry], None))

    def take_leave(self, workflow_id: str) -> None:
        """Deliver the notifications of a run that is about to be deleted.

        Entries for other runs are carried out here even if a deliverer has taken them: it may no longer find the run.
        """
        self.deliver_all(workflow_id)
        for entry in self._outbox.left(workflow_id):
            self._is_for_run(workflow_id, entry)

    def _settle_all(self, workflow_id: str, entries: list[OutboxEntry], payload: Json) -> list[Target]:
        targets, entries = self._settle_prompt(workflow_id, entries)
        entries = [entry for entry in entries if not self._is_for_run(workflow_id, entry)]
        targets = targets if payload is None else []  # those agents got it without the payload
        if not entries:
            return targets
        return targets + self._settle_current(workflow_id, entries, self._of_entries(workflow_id, entries), payload)

    def _settle_prompt(
        self, workflow_id: str, entries: Sequence[OutboxEntry]
    ) -> tuple[list[Target], list[OutboxEntry]]:
        """Record and remove entries that were delivered right after the commit. Return those, and the other entries."""
        if self._at_once is None:
            return [], list(entries)
        handled: list[tuple[OutboxEntry, TellingOutcome]] = []
        targets, rest = list[Target](), list[OutboxEntry]()
        for entry in entries:
            take = self._at_once.take(workflow_id, entry)
            if take is None:
                rest.append(entry)
                continue
            targets.append(target_of(entry, *take.told[0], take.failed, others=take.told[1:]))
            handled.append((entry, self._outcome(workflow_id, entry, take.at, targets[-1])))
        if metrics.current is not None:
            metrics.current.notified([outcome_name(target) for target in targets])
        self._outbox.settle(workflow_id, handled)
        return targets, rest

    def _of_entries(self, workflow_id: str, entries: Sequence[OutboxEntry]) -> Snapshot:
        about = {entry.state or entry.about for entry in entries}
        return self._read(workflow_id, tuple(state for state in about if state is not None))

    def _by_lane(
        self, workflow_id: str, entries: Sequence[OutboxEntry], snapshot: Snapshot
    ) -> dict[str | None, list[OutboxEntry]]:
        """Return the entries by the lane of the agent that is first to be asked; those for None need no lane."""
        first = [next(iter(recipients(workflow_id, entry, snapshot)), None) for entry in entries]
        by_lane: dict[str | None, list[OutboxEntry]] = {None: []}
        for entry, lane in zip(entries, self._lanes_of(first), strict=True):
            by_lane.setdefault(lane, []).append(entry)
        return by_lane

    def _lanes_of(self, agents: Sequence[str | None]) -> Sequence[str | None]:
        return [None] * len(agents) if self._lanes is None else self._lanes.sort(agents)

    def _settle_current(
        self, workflow_id: str, entries: Sequence[OutboxEntry], snapshot: Snapshot, payload: Json
    ) -> list[Target]:
        """Remove outdated entries, and deliver the rest: to inboxes together, to remote platforms one by one."""
        outdated, current = list[OutboxEntry](), list[OutboxEntry]()
        for entry in entries:
            (outdated if is_outdated(entry, snapshot) else current).append(entry)
        self._outbox.settle(workflow_id, [(entry, NOTHING_TOLD) for entry in outdated])
        by_lane = self._by_lane(workflow_id, current, snapshot)
        alone = [entry for kind, group in by_lane.items() if kind or not self._together for entry in group]
        here = self._settle_together(workflow_id, by_lane[None], snapshot, payload) if self._together else []
        return here + [
            target for entry in alone for target in self._settle_together(workflow_id, [entry], snapshot, payload)
        ]

    def are_current(self, events: Sequence[Mapping[str, Json]]) -> list[bool]:
        """Return of each event that waited in an inbox whether it is still true; those of a run are read together."""
        return waiting_events.are_current(self._plane, events)

    def is_current(self, event: Mapping[str, Json]) -> bool:
        """Return True if an event that waited in an inbox is still true."""
        return waiting_events.is_current(self._plane, event)

    def _is_for_run(self, workflow_id: str, entry: OutboxEntry) -> bool:
        """Have done what an entry says that concerns another run; return False for one to an agent.

        If that fails, the entry stays for another try. Agents need not wait for that.
        """
        if entry.type not in TO_RUNS:
            return False
        try:
            self._to_run(workflow_id, entry)
        except StoreUnavailable:
            raise
        except DcfError as error:
            _log.warning("%s of run %s: %s: %s", entry.type, workflow_id, error.code, error.message)
        return True

    def told(self, workflow_id: str, states: Iterable[str]) -> Mapping[str, Told]:
        """Return how the agents of these states were notified, and what prevented it. For views of a run."""
        return self._records.read(workflow_id, states)

    def _read_followers(self, workflow_id: str, source: str | None) -> tuple[tuple[str, ...], Snapshot]:
        """Return the Tasks that may follow a state, and the documents of those that are open."""
        followers = self._followers(workflow_id, source)
        with suppress(UnknownState):
            snapshot = self._read(workflow_id, followers)
            if followers == self._followers(workflow_id, source):
                return followers, snapshot
        # The cached definition was of an earlier run of this name. Reading has replaced it.
        followers = self._followers(workflow_id, source)
        return followers, self._read(workflow_id, followers)

    def _followers(self, workflow_id: str, source: str | None) -> tuple[str, ...]:
        """Return the Tasks that may follow a state, as far as the definition alone gives their paths."""
        if source is None:
            return self._plane.run(workflow_id).definition.machine.task_successors(None)
        here = self._plane.place(workflow_id, source)
        task_successors = here.machine.task_successors(here.name)
        return tuple(inside(here.scope, path) for path in task_successors) if here.scope else task_successors

    def _settle_together(
        self, workflow_id: str, entries: Sequence[OutboxEntry], snapshot: Snapshot, payload: Json
    ) -> list[Target]:
        """Notify the agents of these entries, record the outcomes, and remove the entries that are done with."""
        targets = self._sender.send_all(workflow_id, entries, snapshot, payload)
        if metrics.current is not None:
            metrics.current.notified([outcome_name(target) for target in targets])
        handled: list[tuple[OutboxEntry, TellingOutcome]] = []
        unassigned: list[OutboxEntry] = []
        for entry, target in zip(entries, targets, strict=True):
            if target.agent_id is None and entry.state is not None:
                unassigned.append(entry)  # it stays, for agents that are assigned later
                continue
            outcome = self._outcome(workflow_id, entry, snapshot.now, target)
            if target.sent or target.agent_id is None or target.delivery.failure is Undelivered.UNKNOWN_AGENT:
                handled.append((entry, outcome))  # reminders try again later, when the agent may exist
            else:
                idle_s = max(0.0, STALLED_S - target.delivery.retry_after_s)
                self._outbox.postpone(workflow_id, entry, self._name, idle_s, outcome)
        self._outbox.settle(workflow_id, handled)
        ready = [entry for entry in unassigned if is_for_workers(entry.type)]
        if ready:
            self._to_anybody(workflow_id, ready, snapshot)
        return targets

    def _tell(
        self, workflow_id: str, state: str, snapshot: Snapshot, reason: str, source: str | None, payload: Json
    ) -> Target:
        """Return the outcome for a follower without an outbox entry: notified now or before, or not ready."""
        doc = snapshot.states[state]
        if not is_ready(snapshot.existing_meta, doc, snapshot.now):
            return Target(state=state, agent_id=None, reason=reason, skipped_not_ready=True)
        entry = OutboxEntry(
            entry_id="", type=NoticeKind.READY.value, state=state, epoch=doc.lease.epoch, source=source, reason=reason
        )
        results = self._sender.send(workflow_id, entry, snapshot, payload)
        if payload is None or not results.delivery.duplicate:
            return results
        # The event was delivered without the payload, so another event brings it.
        another = replace(entry, type=f"payload-{fingerprint(dump(payload))}x")
        return self._sender.send(workflow_id, another, snapshot, payload)

    def _read(self, workflow_id: str, states: tuple[str, ...]) -> Snapshot:
        return self._plane.read(workflow_id, states, whole_meta=False, with_data=False)

    def _outcome(self, workflow_id: str, entry: OutboxEntry, now: int, target: Target) -> TellingOutcome:
        """Return what to record of this entry."""
        about, recorded = entry.state or PLANNER, NEVER_TOLD
        if target.failed or entry.type != NoticeKind.READY.value:  # a first announcement comes after none
            recorded = self._records.read(workflow_id, (about,)).get(about, NEVER_TOLD)
        return outcome_of(entry, target, now, recorded)


def _is_of_a_scope(state: str | None, source: str | None) -> bool:
    """Return True if the definition alone does not tell this follower: it is in a scope, or follows a joined one."""
    return state is not None and ("/" in state or "/" in (source or ""))
