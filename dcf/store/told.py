"""How the agents of states were told of them, the latest of it: for whoever asks why a run stands.

Two fields of one hash for each state, what was sent last and what failed last, written by whoever delivers. Nothing is
decided by it but whether a failure is news.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Final

from dcf.store.connection import Command, Connections, Reply
from dcf.store.keys import RunKeys, encode_state
from dcf.values.json_text import dump, load

_SENT: Final = "sent:"
_FAILED: Final = "failed:"

PLANNER: Final = ""
"""Stands where the name of a state does, for what the planner is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Announcement:
    """A state was announced to an agent: for the `number`th time in the visit of this `epoch`, at server time `at`."""

    epoch: int
    number: int
    agent_id: str
    at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedAnnouncement:
    """An announcement that did not reach its agent: `reason` is an `Undelivered`, `error` says it in words.

    `known` are the reasons that the history tells of this visit, each with its agent.
    """

    epoch: int
    number: int
    agent_id: str
    at: int
    reason: str
    error: str
    known: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What is known of telling the agents of one state; both parts may be of an earlier visit, see their epochs."""

    sent: Announcement | None = None
    failed: FailedAnnouncement | None = None

    def times(self, epoch: int) -> int:
        """Count how often the state was announced, reached or not, in the visit of this epoch."""
        return max(
            (one.number for one in (self.sent, self.failed) if one is not None and one.epoch == epoch), default=0
        )

    def trouble(self, epoch: int) -> FailedAnnouncement | None:
        """Return why the last announcement in the visit of this epoch did not reach its agent; None if it did."""
        failed, sent = self.failed, self.sent
        if failed is None or failed.epoch != epoch:
            return None
        return None if sent is not None and sent.epoch == epoch and sent.at >= failed.at else failed


NEVER_TOLD: Final = Told()


def told_command(run: RunKeys, state: str, found: Announcement | FailedAnnouncement) -> Command:
    """Note an announcement."""
    field = _FAILED if isinstance(found, FailedAnnouncement) else _SENT
    return ("HSET", run.told, f"{field}{encode_state(state)}", dump(asdict(found)))


class ToldRecords:
    """The records of runs in Redis."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def read(self, workflow_id: str, states: Iterable[str]) -> dict[str, Told]:
        """Tell how the agents of these states were told of them; states that nobody was told of are left out."""
        names = list(dict.fromkeys(states))
        if not names:
            return {}
        fields = [f"{kind}{encode_state(name)}" for name in names for kind in (_SENT, _FAILED)]
        (replies,) = self._connections.send(("HMGET", RunKeys(workflow_id).told, *fields))
        return dict(_told(names, replies))


def _told(names: list[str], replies: list[Reply]) -> Iterator[tuple[str, Told]]:
    for name, sent, failed in zip(names, replies[::2], replies[1::2], strict=True):
        if sent is not None or failed is not None:
            yield name, Told(sent=_sent(sent), failed=_failed(failed))


def _sent(text: bytes | None) -> Announcement | None:
    return None if text is None else Announcement(**load(text))


def _failed(text: bytes | None) -> FailedAnnouncement | None:
    if text is None:
        return None
    found = load(text)
    return FailedAnnouncement(**{**found, "known": tuple(found["known"])})
