"""The latest notification of each state, and the latest failure, to explain why a run does not move.

Deliveries write two fields per state in one hash: what was sent last and what failed last. The only decision that
depends on them is whether a failure is new.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeVar

from dcf.store.connection.commands import Command, Reply
from dcf.store.connection.connections import Connections
from dcf.store.keys.parts import encode_state
from dcf.store.keys.table import RunKeys
from dcf.values.json_text import dump, load
from dcf.values.record_json.codec import RecordCodec
from dcf.values.records import record, replace

_SENT: Final = "sent:"
_FAILED: Final = "failed:"

Announced = TypeVar("Announced")
_TIDY: Final = "if redis.call('EXISTS', KEYS[1]) == 0 then redis.call('DEL', KEYS[2], KEYS[3], KEYS[4]) end"

PLANNER: Final = ""
"""Name used in place of a state's for notifications of the planner."""


@record(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A state was announced to an agent: for the `number`th time in the visit of this `epoch`, at server time `at`.

    `counts` is the number of announcements to each agent in this visit, with this one: several agents for a pool. A
    first announcement to a single agent has no counts.
    """

    epoch: int
    number: int
    agent_id: str
    at: int
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def by_agent(self) -> Mapping[str, int]:
        """How many announcements each agent got in this visit."""
        return self.counts or {self.agent_id: 1}

    def after(self, before: "Announcement | None") -> "Announcement":
        """Return this announcement with the counts of the one before it, if that was in the same visit."""
        if before is None or before.epoch != self.epoch:
            return self
        counts = Counter(before.by_agent)
        counts.update(self.by_agent)
        return replace(self, counts=dict(counts))


@record(frozen=True, slots=True, kw_only=True)
class FailedAnnouncement:
    """An announcement that did not reach its agent. `reason` is an `Undelivered`, `error` its text.

    `known` are the reasons already in the history for this visit, each with its agent.
    """

    epoch: int
    number: int
    agent_id: str
    at: int
    reason: str
    error: str
    known: tuple[str, ...] = ()


@record(frozen=True, slots=True, kw_only=True)
class Told:
    """Notifications about one state. Both parts may be of an earlier visit; see their epochs."""

    sent: Announcement | None = None
    failed: FailedAnnouncement | None = None

    def times(self, epoch: int) -> int:
        """Return how often the state was announced in the visit of this epoch, failures included."""
        return max(
            (attempt.number for attempt in (self.sent, self.failed) if attempt is not None and attempt.epoch == epoch),
            default=0,
        )

    def trouble(self, epoch: int) -> FailedAnnouncement | None:
        """Return why the last announcement in the visit of this epoch did not reach its agent; None if it did."""
        failed, sent = self.failed, self.sent
        if failed is None or failed.epoch != epoch:
            return None
        return None if sent is not None and sent.epoch == epoch and sent.at >= failed.at else failed


NEVER_TOLD: Final = Told()

_ANNOUNCEMENT: Final = RecordCodec(Announcement, strict=True, added="counts")
_FAILURE: Final = RecordCodec(FailedAnnouncement, strict=True)


def announcement_command(run: RunKeys, state: str, announcement: Announcement | FailedAnnouncement) -> Command:
    """Return the command that records an announcement."""
    if isinstance(announcement, FailedAnnouncement):
        field, document = _FAILED, _FAILURE.write(announcement)
    else:
        field, document = _SENT, _ANNOUNCEMENT.write(announcement)
    return ("HSET", run.told, f"{field}{encode_state(state)}", dump(document))


class ToldRecords:
    """The records of runs in Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self, workflow_id: str, states: Iterable[str]) -> dict[str, Told]:
        """Return how the agents of these states were notified. States without a notification are left out."""
        names = list(dict.fromkeys(states))
        if not names:
            return {}
        (replies,) = self._connections.send(("HMGET", RunKeys(workflow_id).told, *announcement_fields(names)))
        return read_announcements(names, replies)

    def record(self, workflow_id: str, state: str, announcement: Announcement) -> None:
        """Record an announcement without an entry of the outbox."""
        run = RunKeys(workflow_id)
        self._connections.send(("MULTI",), announcement_command(run, state, announcement), unless_gone(run), ("EXEC",))


def unless_gone(run: RunKeys) -> Command:
    """Return the command that removes the writes of a delivery if its run was deleted, or expired, in between."""
    return ("EVAL", _TIDY, 4, run.meta, run.events, run.told, run.outbox)


def announcement_fields(states: Sequence[str]) -> list[str]:
    """Return the fields of these states, each of which is given once."""
    return [f"{kind}{encode_state(name)}" for name in states for kind in (_SENT, _FAILED)]


def read_announcements(states: Sequence[str], replies: list[Reply]) -> dict[str, Told]:
    """Return what the values of `announcement_fields` say; states without a notification are left out."""
    return dict(_told(states, replies))


def _told(names: Sequence[str], replies: list[Reply]) -> Iterator[tuple[str, Told]]:
    for name, sent, failed in zip(names, replies[::2], replies[1::2], strict=True):
        if sent is not None or failed is not None:
            yield name, Told(sent=_read(_ANNOUNCEMENT, sent), failed=_read(_FAILURE, failed))


def _read(codec: RecordCodec[Announced], text: bytes | None) -> Announced | None:
    return None if text is None else codec.read(load(text))
