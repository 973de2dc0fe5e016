"""Makes a timeline of a run from its history: for each state when it was ready, was worked on, or waited.

Pure: the web page, `dcf runs timeline` and the export for trace viewers show the timeline that is computed here. Its
only source is the history, which has no event for the end of a lease and not all renewals. If a lease has expired and
there was no takeover, the caller passes the time of its end. After a takeover, the earlier agent counts as lost from
the end of its last lease in the history, or from a later sign of life. A due retry is no event either: backing off ends
when the retry was due, or earlier if an agent was notified or leased the state.
"""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from dcf.asl.machine import Machine, Task
from dcf.asl.places import resolve
from dcf.values.instants import SECOND, from_text, seconds
from dcf.values.json_text import Json
from dcf.values.record_json.codec import RecordCodec, json_method
from dcf.values.records import record


class Phase(StrEnum):
    """The activity of a state in a span: ready for a lease, in work, waiting for its next attempt, lost, or waiting.

    `waiting` is everything else that holds it up: a time, a signal, a person, the states inside it, or its run, which
    has not been started, is paused or blocked.
    """

    READY = "ready"
    WORKING = "working"
    BACKING_OFF = "backing_off"
    LOST_LEASE = "lost_lease"
    WAITING = "waiting"


@record(frozen=True, slots=True, kw_only=True)
class Segment:
    """A span of a state's time, in server microseconds; `end` is None while it lasts. `outcome` is how work ended."""

    phase: Phase
    start: int
    end: int | None
    attempt: int | None = None
    agent: str | None = None
    outcome: str | None = None

    as_json = json_method(
        "phase start end lasted attempt agent outcome",
        named={"lasted": "seconds"},
        times="start end",
        left_out="defaults",
    )

    @property
    def lasted(self) -> float | None:
        """Seconds that it lasted; None while it does."""
        return None if self.end is None else seconds(self.end - self.start)


@record(frozen=True, slots=True, kw_only=True)
class StateTimes:
    """The segments of one state, in order. `outcome` is how it ended at last; None while it is open."""

    state: str
    segments: tuple[Segment, ...]
    outcome: str | None = None

    def seconds_in(self, phase: Phase, until: int) -> float:
        """Return how long it was in a phase, up to then."""
        spans = (
            (segment.start, until if segment.end is None else segment.end)
            for segment in self.segments
            if segment.phase is phase
        )
        return seconds(sum(max(0, end - start) for start, end in spans))


@record(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A row for each state, in the order in which they were first heard of; `end` is None while the run is not over."""

    start: int
    last: int
    end: int | None
    rows: tuple[StateTimes, ...]

    as_json = json_method(
        "start end last rows",
        named={"last": "last_event", "rows": "states"},
        times="start end last",
        codecs={"rows": RecordCodec(StateTimes, "state outcome segments", shown=True)},
    )


_WORKED: Final = frozenset({None, "Task"})
"""Kinds of states that agents lease; all others wait without an agent."""

_OVER: Final = frozenset({"RunSucceeded", "RunFailed", "RunCancelled", "RunTimedOut", "RunClosed", "RunFinalized"})
_ENDS: Final[Mapping[str, str]] = {
    "StateSucceeded": "succeeded",
    "StateFailed": "failed",
    "StateCancelled": "cancelled",
}
_WAITS: Final[Mapping[str, tuple[Phase, str]]] = {
    "StateRetried": (Phase.BACKING_OFF, "failed"),
    "CallbackAwaited": (Phase.WAITING, "handed_on"),
    "StateReopened": (Phase.WAITING, "reopened"),
}
"""The phase after an event that ends the work on a state, and the outcome of that work."""

_BY_OTHERS: Final = frozenset({"StateResolved", "StateConcluded"})
_SETTLED: Final[Mapping[str, str]] = {"output": "succeeded", "skip": "skipped"}

_HOLDS: Final[Mapping[str, str]] = {"RunCreated": "start", "RunPaused": "pause", "RunBlocked": "block"}
_FREES: Final[Mapping[str, str]] = {"RunStarted": "start", "RunResumed": "pause", "RunUnblocked": "block"}
_SIGNS_OF_LIFE: Final = frozenset({"LeaseRenewed", "StateUpdated", "TaskHeartbeat", "TaskLogged", "ArtifactPut"})
_CALLS: Final = frozenset({"NotificationSent", "StateReminded"})


def timeline(
    events: Iterable[Mapping[str, Json]],
    kinds: Mapping[str, str | None] | None = None,
    expired: Mapping[str, int] | None = None,
) -> Timeline | None:
    """Return the timeline of a run by its events, oldest first; None if there are none.

    `kinds` are those of the states by path (`kind_in`): they tell states that agents take from Wait, Map and others.
    `expired` says when the leases ended that are over now, by the path of their state.
    """
    fold = _TimelineFold(kinds or {})
    for event in events:
        at = from_text(event.get("at"))
        if at is not None:  # an export that somebody changed by hand
            fold.take(event, at)
    for state, ended in (expired or {}).items():
        fold.lose(state, ended)
    return fold.result()


def kind_in(machine: Machine, path: str) -> str | None:
    """Return the Type of a state, or what a Task waits for that no agent takes; None if the workflow has no such state.

    The document of a state tells it only while the state waits.
    """
    try:
        state = resolve(machine, path).state
    except KeyError:
        return None
    waits_as = None if not isinstance(state, Task) or state.served_by.is_worked else state.served_by.waits_as
    return waits_as or state.kind()


class _Track:
    """The segments of one state while its history is read."""

    def __init__(self, state: str) -> None:
        self.state = state
        self.done: list[Segment] = []
        self.open: Segment | None = None
        self.heard = 0
        self.ttl = 0
        self.lease_end = 0
        self.due: int | None = None
        self.epoch = 0
        self.outcome: str | None = None
        self.is_idle = False

    def begin(self, phase: Phase, at: int, *, attempt: int | None = None, agent: str | None = None) -> None:
        """Begin a segment, which ends the one before it."""
        self.end(at)
        self.open = Segment(phase=phase, start=at, end=None, attempt=attempt, agent=agent)
        self.heard, self.outcome, self.is_idle, self.due = at, None, False, None

    def end(self, at: int, outcome: str | None = None) -> None:
        """End the segment that is open, if there is one."""
        if self.open is None:
            return
        now, self.open = self.open, None
        worked = outcome if now.phase is Phase.WORKING else None
        end = max(at, now.start)
        if end > now.start or now.phase is Phase.WORKING:
            self.done.append(
                Segment(phase=now.phase, start=now.start, end=end, attempt=now.attempt, agent=now.agent, outcome=worked)
            )

    def lease(self, event: Mapping[str, Json], at: int) -> None:
        """Note that a lease begins or is renewed. Older histories do not have its length."""
        ttl_s = event.get("ttl_s")
        self.ttl = ttl_s * SECOND if isinstance(ttl_s, int) else self.ttl
        self.lease_end = at + self.ttl

    def lost_since(self, at: int) -> int:
        """Return since when the agent was lost whose state another took over then.

        If that was within the last lease known, a later one was shorter: then since the agent was heard of last.
        """
        return max(self.heard, self.lease_end) if self.lease_end <= at else self.heard

    def wait(self, event: Mapping[str, Json], at: int) -> None:
        """Begin to wait, or to back off."""
        phase, outcome = _WAITS[str(event.get("type"))]
        self.end(at, outcome)
        self.begin(phase, at)
        epoch = event.get("epoch")
        self.epoch = epoch if isinstance(epoch, int) else 0
        self.due = from_text(event.get("not_before")) if phase is Phase.BACKING_OFF else None

    def is_called(self, epoch: Json) -> bool:
        """Return True if a message to agents says that the next try may begin: not a late one about an earlier try."""
        is_off = self.open is not None and self.open.phase is Phase.BACKING_OFF
        return is_off and isinstance(epoch, int) and epoch >= self.epoch

    def lose(self, at: int) -> None:
        """Let the agent that works on it be lost since then."""
        if self.open is not None and self.open.phase is Phase.WORKING:
            at = max(at, self.open.start)
            self.end(at, "lost_lease")
            self.begin(Phase.LOST_LEASE, at)

    def row(self) -> StateTimes:
        """Return the finished row."""
        still = () if self.open is None else (self.open,)
        return StateTimes(state=self.state, segments=(*self.done, *still), outcome=self.outcome)


class _TimelineFold:
    """Takes the events of a run one by one."""

    def __init__(self, kinds: Mapping[str, str | None]) -> None:
        self._kinds = kinds
        self._tracks: dict[str, _Track] = {}
        self._held: set[str] = set()
        self._start: int | None = None
        self._last = 0
        self._end: int | None = None

    def result(self) -> Timeline | None:
        """Return the timeline of what was taken."""
        if self._start is None:
            return None
        for track in self._tracks.values():
            self._pass_due(track, self._last)
        rows = tuple(track.row() for track in self._tracks.values())
        return Timeline(start=self._start, last=self._last, end=self._end, rows=rows)

    def lose(self, state: str, at: int) -> None:
        """Record that the lease of a state expired at this time, without a takeover."""
        if state in self._tracks:
            self._tracks[state].lose(at)

    def take(self, event: Mapping[str, Json], at: int) -> None:
        """Take the next event."""
        self._start = at if self._start is None else self._start
        self._last = max(self._last, at)
        state = event.get("state")
        if isinstance(state, str) and event.get("type") not in _OVER:
            self._of_state(self._track(state), event, at)
        else:
            self._of_run(event, at)

    def _track(self, state: str) -> _Track:
        return self._tracks.setdefault(state, _Track(state))

    def _of_run(self, event: Mapping[str, Json], at: int) -> None:
        type_name = str(event.get("type"))
        for track in self._tracks.values():
            self._pass_due(track, at)
        if type_name in _OVER:
            self._end = at if self._end is None else self._end
            for track in self._tracks.values():
                track.end(at, "cancelled")
        elif type_name in _HOLDS:
            self._held.add(_HOLDS[type_name])
        elif type_name in _FREES and event.get("still_blocked") is not True:
            self._held.discard(_FREES[type_name])
        elif type_name == "RunRetried":
            self._end, self._held = None, set()
        elif type_name == "StatesSkipped":
            for name in event.get("states") or ():
                self._track(str(name)).outcome = "skipped"
        if self._end is None:
            self._redo_idle(at)

    def _redo_idle(self, at: int) -> None:
        """Let the states that agents may take be ready or waiting, as the run stands."""
        for track in self._tracks.values():
            if track.is_idle and track.open is not None and track.open.phase is not self._idle_phase:
                self._idle(track, at)

    @property
    def _idle_phase(self) -> Phase:
        return Phase.WAITING if self._held else Phase.READY

    def _idle(self, track: _Track, at: int) -> None:
        track.begin(self._idle_phase, at)
        track.is_idle = True

    def _pass_due(self, track: _Track, at: int) -> None:
        """Let a state that backed off be ready, or wait, from when its next try was due, if that was by then."""
        if track.due is not None and track.open is not None and track.due <= at:
            self._enter(track, track.due)

    def _of_state(self, track: _Track, event: Mapping[str, Json], at: int) -> None:
        type_name = str(event.get("type"))
        self._pass_due(track, at)
        if type_name == "StateEntered":
            self._enter(track, at)
        elif type_name == "LeaseAcquired":
            _acquire(track, event, at)
        elif type_name == "LeaseReleased":
            track.end(at, "released")
            self._idle(track, at)
        elif type_name in _ENDS:
            track.end(at, _ENDS[type_name])
            track.outcome = _ENDS[type_name]
        elif type_name in _BY_OTHERS:
            self._settle(track, str(event.get("how")), at)
        elif type_name in _WAITS:
            track.wait(event, at)
        elif type_name in _SIGNS_OF_LIFE:
            track.heard = max(track.heard, at)
            if type_name == "LeaseRenewed":
                track.lease(event, at)
        elif type_name in _CALLS and track.is_called(event.get("epoch")):
            self._idle(track, at)

    def _settle(self, track: _Track, how: str, at: int) -> None:
        """Record that a caller other than the holder ended or assigned the state.

        After an error, the later events of the history show the effects.
        """
        track.end(at, "resolved")
        if how == "assign":
            self._idle(track, at)
        elif how in _SETTLED:
            track.outcome = _SETTLED[how]

    def _enter(self, track: _Track, at: int) -> None:
        if self._kinds.get(track.state) in _WORKED:
            self._idle(track, at)
        else:
            track.begin(Phase.WAITING, at)


def _acquire(track: _Track, event: Mapping[str, Json], at: int) -> None:
    """Begin an attempt; if it takes over, the earlier agent was lost before."""
    if event.get("takeover") is True:
        track.lose(track.lost_since(at))
    attempt, owner = event.get("attempt"), event.get("owner")
    track.begin(
        Phase.WORKING,
        at,
        attempt=attempt if isinstance(attempt, int) else None,
        agent=owner if isinstance(owner, str) else None,
    )
    track.ttl = 0
    track.lease(event, at)
