"""Telling agents what they may do: owed notifications are delivered, the clock is looked at, runs are retired.

A notification is a hint, acquire decides. Nothing here must happen for a run to stay correct, only for it to move;
any number of copies may run at once.
"""

import logging
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from zlib import crc32

from dcf.asl.state_paths import inside
from dcf.core.decision import Event, Snapshot
from dcf.core.inspection import is_ready
from dcf.errors import DcfError, NotFound, StoreUnavailable
from dcf.ports import Deliverer, Delivery
from dcf.runs.control_plane import ControlPlane
from dcf.store.index import RunIndex
from dcf.store.outbox import Attention, Outbox, OutboxEntry
from dcf.store.runs import RunStore
from dcf.values.instants import to_text
from dcf.values.json_text import Json

_log = logging.getLogger(__name__)

_STALLED_S = 30.0
"""An entry that its deliverer did not settle for this long is taken over."""

_RETRY_S = 2.0
"""What an agent did not take, being busy or away, is offered again after this."""

_NOT_DELIVERED = Delivery()


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A state whose agent was, or should be, told."""

    state: str | None
    agent_id: str | None
    reason: str
    sent: bool = False
    skipped_not_ready: bool = False
    delivery: Delivery = _NOT_DELIVERED


class Notifications:
    """Delivers what runs owe."""

    def __init__(
        self, plane: ControlPlane, store: RunStore, index: RunIndex, outbox: Outbox, platform: Deliverer
    ) -> None:
        self._plane = plane
        self._store = store
        self._index = index
        self._outbox = outbox
        self._platform = platform
        self._name = f"relay-{secrets.token_hex(4)}"

    def notify_next(
        self, workflow_id: str, source: str | None, *, reason: str | None = None, payload: Json = None
    ) -> list[Target]:
        """Deliver what is owed, and say of it and of each follower of `source` (None: the start) what became of it."""
        followers = self._followers(workflow_id, source)
        delivered = {target.state: target for target in self.deliver(workflow_id, payload=payload)}
        others = [
            target for state, target in delivered.items() if state not in followers and _is_of_a_scope(state, source)
        ]
        snapshot = self._plane.read(workflow_id, followers)
        word = reason or ("initial" if source is None else "upstream_done")
        return [
            delivered.get(state) or self._tell(workflow_id, state, snapshot, word, source, payload)
            for state in followers
            if state in delivered or state in snapshot.states
        ] + others

    def notify(self, workflow_id: str, state: str, *, reason: str, payload: Json = None) -> Target:
        """Wake the agent of one state again, whether or not it was told before."""
        snapshot = self._plane.read(workflow_id, (state,))
        doc = snapshot.states.get(state)
        if doc is None:  # it stands in a scope that has not opened it
            return Target(state=state, agent_id=None, reason=reason, skipped_not_ready=True)
        entry = OutboxEntry(
            entry_id="",
            type=f"nudge-{snapshot.now}",
            state=state,
            epoch=doc.lease.epoch,
            source=None,
            reason=reason,
        )
        return self._send(workflow_id, entry, snapshot, payload)

    def deliver(self, workflow_id: str, *, payload: Json = None, stalled: bool = False) -> list[Target]:
        """Hand every owed notification to its agent; entries nobody can take yet stay owed."""
        entries = self._outbox.take(workflow_id, self._name)
        if stalled:
            entries += self._outbox.take_over(workflow_id, self._name, _STALLED_S)
        if not entries:
            return []
        states = tuple({entry.state for entry in entries if entry.state is not None})
        snapshot = self._plane.read(workflow_id, states)
        targets = []
        for entry in entries:
            target = self._settle(workflow_id, entry, snapshot, payload)
            if target is not None:
                targets.append(target)
        return targets

    def pulse(self) -> int:
        """One tick of the clock over all live runs; how many things were done."""
        return sum(map(self._try_tick, self._index.live()))

    def _try_tick(self, workflow_id: str) -> int:
        """One tick of one run; what is wrong with its documents must not stop the clock of the others."""
        try:
            return self._tick(workflow_id)
        except StoreUnavailable:
            raise
        except DcfError as error:
            _log.warning("pulse: run %s: %s: %s", workflow_id, error.code, error.message)
            return 0
        except Exception:  # noqa: BLE001 - a defect met in one run must not stop the clock of the others
            _log.exception("pulse: run %s", workflow_id)
            return 0

    def _tick(self, workflow_id: str) -> int:
        attention = self._outbox.attention(workflow_id)
        if not attention.exists:
            self._index.retire(workflow_id)
            return 0
        done = 0
        if attention.is_running and attention.is_timed_out:
            self._plane.time_out(workflow_id)
            done += 1
        for state in attention.due if attention.is_running else ():
            self._look(workflow_id, state)
            done += 1
        if done or attention.owed:
            done += len(self.deliver(workflow_id, stalled=True))
        if not attention.is_running and not attention.owed:
            self._retire(workflow_id, attention)
        return done

    def _look(self, workflow_id: str, state: str) -> None:
        """Look at one state; what is wrong with its documents must not keep the clock from the others."""
        try:
            self._plane.look(workflow_id, state)
        except (StoreUnavailable, NotFound):
            raise
        except DcfError as error:
            _log.warning("pulse: %s of run %s: %s: %s", state, workflow_id, error.code, error.message)

    def _retire(self, workflow_id: str, attention: Attention) -> None:
        """Take a finished run off the clock; if it is to expire, it does so from its finalization on."""
        if attention.retention_s is not None:
            if not attention.is_final:
                return  # stays listed; finalizing closes what is left open
            self._expire(workflow_id, attention.retention_s)
        elif not attention.is_final:
            self._plane.skip_unreached(workflow_id)  # again, should whoever ended the run have died before it did
        self._index.retire(workflow_id)

    def _expire(self, workflow_id: str, retention_s: int) -> None:
        states, scopes, branches = self._plane.inside(workflow_id)
        paths = self._plane.run(workflow_id).definition.paths
        self._outbox.expire(workflow_id, (*paths, *states), (*paths, *scopes), branches, retention_s)

    def _followers(self, workflow_id: str, source: str | None) -> tuple[str, ...]:
        """List the Tasks that may come after a state, as far as the definition alone tells their paths."""
        if source is None:
            return self._plane.run(workflow_id).definition.machine.task_successors(None)
        here = self._plane.place(workflow_id, source)
        found = here.machine.task_successors(here.name)
        return tuple(inside(here.scope, path) for path in found) if here.scope else found

    def _settle(self, workflow_id: str, entry: OutboxEntry, snapshot: Snapshot, payload: Json) -> Target | None:
        if _is_stale(entry, snapshot):
            self._outbox.settle(workflow_id, entry, None)
            return None
        target = self._send(workflow_id, entry, snapshot, payload)
        if target.agent_id is None and entry.state is not None:
            return target
        if target.delivery.error is not None:
            self._outbox.postpone(workflow_id, entry, self._name, _STALLED_S - _RETRY_S)
        else:
            event = Event(type="NotificationSent", state=entry.state, data=_told(entry, target))
            self._outbox.settle(workflow_id, entry, event if target.sent else None)
        return target

    def _tell(
        self, workflow_id: str, state: str, snapshot: Snapshot, reason: str, source: str | None, payload: Json
    ) -> Target:
        """Tell a follower for which nothing was owed any more: it was told before, or is not ready."""
        doc = snapshot.states[state]
        assert snapshot.meta is not None, "read() raises for a run that does not exist"
        if not is_ready(snapshot.meta, doc, snapshot.now):
            return Target(state=state, agent_id=None, reason=reason, skipped_not_ready=True)
        entry = OutboxEntry(
            entry_id="", type="state_ready", state=state, epoch=doc.lease.epoch, source=source, reason=reason
        )
        return self._send(workflow_id, entry, snapshot, payload)

    def _send(self, workflow_id: str, entry: OutboxEntry, snapshot: Snapshot, payload: Json) -> Target:
        event_id = f"{workflow_id}:{entry.state or 'run'}:{entry.epoch}:{entry.type}"
        agent_id = _recipient(entry, snapshot, event_id)
        if agent_id is None:
            return Target(state=entry.state, agent_id=None, reason=entry.reason)
        event = self._event(workflow_id, entry, event_id, snapshot.now, payload)
        delivery = self._platform.deliver(agent_id, event_id, event)
        return Target(
            state=entry.state,
            agent_id=agent_id,
            reason=entry.reason,
            sent=delivery.error is None,
            delivery=delivery,
        )

    def _event(
        self, workflow_id: str, entry: OutboxEntry, event_id: str, now: int, payload: Json
    ) -> Mapping[str, Json]:
        """Make the seed's event, with an id by which receivers drop repetitions."""
        keys = self._store.keys(workflow_id)
        event: dict[str, Json] = {
            "type": "workflow_event",
            "event_id": event_id,
            "workflow_id": workflow_id,
            "target_state": entry.state,
            "source_state": entry.source,
            "reason": entry.reason,
            "payload": {} if payload is None else payload,
            "ts": to_text(now),
            "control_plane": {"meta_key": keys.meta},
        }
        if entry.state is None:
            return event | {"type": "run_finished", "reason": "run_finished", "status": entry.reason}
        event["control_plane"] |= {
            "state_key": keys.state(entry.state),
            "input_key": keys.input(entry.state),
            "output_key": keys.output(entry.state),
        }
        return event


def _recipient(entry: OutboxEntry, snapshot: Snapshot, event_id: str) -> str | None:
    """One agent: the planner, the assigned one, or one of the pool, another for another event."""
    if entry.state is None:
        planner = (snapshot.meta_document or {}).get("planner_agent_id")
        return planner if isinstance(planner, str) else None
    assert snapshot.meta is not None, "read() raises for a run that does not exist"
    pool = snapshot.meta.assigned(entry.state)
    return pool[crc32(event_id.encode()) % len(pool)] if pool else None


def _is_of_a_scope(state: str | None, source: str | None) -> bool:
    """Tell whether no definition could name this follower: it stands in a scope, or follows one that was joined."""
    return state is not None and ("/" in state or "/" in (source or ""))


def _is_stale(entry: OutboxEntry, snapshot: Snapshot) -> bool:
    """Whether the state, or the whole run, has moved on since the entry was written."""
    if entry.state is None:
        return False
    doc, meta = snapshot.states.get(entry.state), snapshot.meta
    return doc is None or meta is None or doc.lease.epoch != entry.epoch or not is_ready(meta, doc, snapshot.now)


def _told(entry: OutboxEntry, target: Target) -> dict[str, Json]:
    return {"agent": target.agent_id, "reason": entry.reason, "epoch": entry.epoch}
