"""The spans of a run, folded out of the events of its history. Pure.

The run is the root. Below it each attempt at a Task is a span, from its lease to its end, and so is each visit of
another state. Spans inside a Parallel or Map are below the visit of that state. An attempt that ended by a retry, a
release or a takeover is followed by the next attempt. Each span links to that of the state before it, since order is no
nesting.

Only fields of a short list become attributes: what agents and people write stays in the history.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import count
from typing import Final

from dcf.asl.state_paths import ancestors
from dcf.telemetry.ids import root_span_id_of, span_id_of
from dcf.values.instants import from_text
from dcf.values.json_text import Json
from dcf.values.records import record

Attribute = str | int | float | bool

_MICROSECOND: Final = 1000
_TOLD: Final = (
    "epoch", "attempt", "owner", "takeover", "forced", "ttl_s", "not_before", "retry", "error", "reminders", "gate",
    "passed", "verdict", "question", "signal", "number", "status", "caught_by", "by",
)  # fmt: skip
"""Fields of events that are exported."""

_USED: Final = {
    "tokens_in": "gen_ai.usage.input_tokens",
    "tokens_out": "gen_ai.usage.output_tokens",
    "tokens_cached": "gen_ai.usage.cache_read.input_tokens",
    "tokens_cache_written": "gen_ai.usage.cache_creation.input_tokens",
    "model": "gen_ai.request.model",
    "seconds": "dcf.usage.seconds",
    "cost": "dcf.usage.cost",
    "currency": "dcf.usage.currency",
}
"""Fields of a report of usage, and the attributes that they become: those of GenAI's conventions where it has one."""

_ENDS: Final = {
    "StateSucceeded": True,
    "StateCancelled": None,
    "StateFailed": False,
    "StateRetried": False,
    "LeaseReleased": None,
}
"""Events that end a span, and whether it then went well."""

_RUN_ENDS: Final = {
    "RunSucceeded": True,
    "RunFailed": False,
    "RunTimedOut": False,
    "RunCancelled": None,
    "RunClosed": None,
    "RunFinalized": None,
}
"""Events that end the run. The first one counts: what comes after it only puts the run away."""

_TAKEN_OVER: Final = "lease taken over"


class SpanOutcome(Enum):
    """How a span ended, in the words of OpenTelemetry."""

    UNSET = "unset"
    OK = "ok"
    ERROR = "error"


@record(frozen=True, slots=True, kw_only=True)
class SpanEvent:
    """Something that happened while a span was open; `at` is in nanoseconds."""

    name: str
    at: int
    attributes: Mapping[str, Attribute]


@record(frozen=True, slots=True, kw_only=True)
class RunSpan:
    """A span. Times are in nanoseconds. `parent` is None for the root only. `links` are ids of spans of the same run.

    `is_open`: it had not ended. Then its end is the time of the last event that was read.
    """

    span_id: int
    parent: int | None
    name: str
    start: int
    end: int
    is_open: bool
    outcome: SpanOutcome
    reason: str | None
    attributes: Mapping[str, Attribute]
    links: tuple[int, ...]
    events: tuple[SpanEvent, ...]


@dataclass(slots=True, kw_only=True)
class _Building:
    """A span while events are added to it; `is_attempt` is false for a visit without a lease so far."""

    span_id: int
    parent: int | None
    name: str
    start: int
    attributes: dict[str, Attribute]
    links: tuple[int, ...] = ()
    is_attempt: bool = False
    end: int | None = None
    outcome: SpanOutcome = SpanOutcome.UNSET
    reason: str | None = None
    events: list[SpanEvent] = field(default_factory=list)


def spans_of(workflow_id: str, workflow_name: str, events: Iterable[Mapping[str, Json]]) -> list[RunSpan]:
    """Return the spans that the events of a run describe, oldest first as `dcf runs events` prints them; root first.

    Events of unknown types are added to the span of their state, or of the run.
    """
    fold = _SpanFold(workflow_id, workflow_name)
    for event in events:
        fold.add(event)
    return fold.finished()


class _SpanFold:
    """The spans of the events so far, and the latest span by state."""

    def __init__(self, workflow_id: str, workflow_name: str) -> None:
        self._workflow_id = workflow_id
        self._name = workflow_name
        self._spans: dict[int, _Building] = {}
        self._first: _Building | None = None
        self._latest: dict[str, _Building] = {}
        self._now = 0

    def add(self, event: Mapping[str, Json]) -> None:
        """Take the next event."""
        self._now = max(self._now, (from_text(event.get("at")) or 0) * _MICROSECOND)
        root = self._root()
        type_, state = event["type"], event.get("state")
        if type_ in _RUN_ENDS or state is None:
            self._run(root, event)
        elif type_ == "StateEntered":
            self._enter(state, event)
        elif type_ == "LeaseAcquired":
            self._lease(state, event)
        else:
            self._happen(state, event)

    def finished(self) -> list[RunSpan]:
        """Return the spans. Open spans of an ended run end with the run."""
        over = None if self._first is None else self._first.end
        return [self._shown(span, over) for span in self._spans.values()]

    def _root(self) -> _Building:
        if self._first is None:
            named: dict[str, Attribute] = {"dcf.run.id": self._workflow_id, "dcf.workflow.name": self._name}
            name, span_id = f"run {self._name}", root_span_id_of(self._workflow_id)
            self._first = _Building(span_id=span_id, parent=None, name=name, start=self._now, attributes=named)
            self._spans[span_id] = self._first
        return self._first

    def _run(self, root: _Building, event: Mapping[str, Json]) -> None:
        """Add what happened to the run as a whole. A run that is retried after its end is open again."""
        root.events.append(self._told(event))
        if event["type"] == "RunRetried":
            root.end, root.outcome, root.reason = None, SpanOutcome.UNSET, None
        elif event["type"] in _RUN_ENDS and root.end is None:
            self._end(root, well=_RUN_ENDS[event["type"]], reason=event.get("error"))

    def _enter(self, state: str, event: Mapping[str, Json]) -> None:
        before = self._latest.get(event.get("source") or "")
        self._open(state, event, () if before is None else (before.span_id,))

    def _lease(self, state: str, event: Mapping[str, Json]) -> None:
        """Begin an attempt. The first one is the span of the visit; a later one links to the attempt before."""
        before = self._latest.get(state)
        if before is None:
            self._open(state, event, ()).is_attempt = True
        elif before.end is None and not before.is_attempt:
            del self._spans[before.span_id]
            begun = self._open(state, event, before.links)
            begun.attributes["dcf.wait_ms"] = (self._now - before.start) // (_MICROSECOND * 1000)
            begun.events[:0] = before.events
            begun.is_attempt = True
        else:
            if before.end is None:
                before.events.append(SpanEvent(name="LeaseTakenOver", at=self._now, attributes=_attributes(event)))
                self._end(before, well=False, reason=_TAKEN_OVER)
            self._open(state, event, (before.span_id,)).is_attempt = True

    def _happen(self, state: str, event: Mapping[str, Json]) -> None:
        """Add what happened to the span of the state, and end that if it says so."""
        type_, span = event["type"], self._latest.get(state)
        if span is None or span.end is not None:
            if type_ not in _ENDS:
                self._root().events.append(self._told(event))
                return
            before = self._latest.get(event.get("source") or "")
            span = self._open(state, event, () if before is None else (before.span_id,))
        span.events.append(self._told(event))
        _use(span.attributes, event.get("usage"))
        if type_ in _ENDS:
            self._end(span, well=_ENDS[type_], reason=event.get("error"))

    def _open(self, state: str, event: Mapping[str, Json], links: tuple[int, ...]) -> _Building:
        attributes = {"dcf.run.id": self._workflow_id, "dcf.state": state, **_attributes(event)}
        building = _Building(
            span_id=self._new_id(state, event.get("epoch") or 0),
            parent=self._around(state),
            name=state,
            start=self._now,
            attributes=attributes,
            links=links,
        )
        self._spans[building.span_id] = building
        self._latest[state] = building
        return building

    def _new_id(self, state: str, epoch: int) -> int:
        tried = (span_id_of(self._workflow_id, state, epoch, again) for again in count())
        return next(span_id for span_id in tried if span_id not in self._spans)

    def _around(self, state: str) -> int:
        """Return the span around a state: the nearest Parallel or Map whose visit was seen, or the run."""
        known = (self._latest[ancestor] for ancestor in reversed(_ancestors(state)) if ancestor in self._latest)
        return next(known, self._root()).span_id

    def _end(self, building: _Building, *, well: bool | None, reason: str | None) -> None:
        building.end = self._now
        if well is not None:
            building.outcome = SpanOutcome.OK if well else SpanOutcome.ERROR
        building.reason = None if well else reason

    def _told(self, event: Mapping[str, Json]) -> SpanEvent:
        return SpanEvent(name=event["type"], at=self._now, attributes=_attributes(event))

    def _shown(self, building: _Building, over: int | None) -> RunSpan:
        return RunSpan(
            span_id=building.span_id,
            parent=building.parent,
            name=building.name,
            start=building.start,
            end=next(at for at in (building.end, over, self._now) if at is not None),
            is_open=building.end is None and over is None,
            outcome=building.outcome,
            reason=building.reason,
            attributes=building.attributes,
            links=building.links,
            events=tuple(building.events),
        )


def _attributes(event: Mapping[str, Json]) -> dict[str, Attribute]:
    attributes = ((f"dcf.{name}", event.get(name)) for name in _TOLD)
    return {name: value for name, value in attributes if isinstance(value, str | int | float | bool)}


def _use(attributes: dict[str, Attribute], usage: Json) -> None:
    """Add what a holder reported as used up to the attributes of its attempt, under the names of the conventions."""
    if not isinstance(usage, Mapping):
        return
    attributes["gen_ai.operation.name"] = "invoke_agent"
    if "dcf.owner" in attributes:
        attributes["gen_ai.agent.id"] = attributes["dcf.owner"]
    attributes |= {
        attribute: usage[name] for name, attribute in _USED.items() if isinstance(usage.get(name), int | float | str)
    }
    every = (usage.get(name) for name in ("tokens_in", "tokens_cached", "tokens_cache_written"))
    attributes[_USED["tokens_in"]] = sum(tokens for tokens in every if isinstance(tokens, int))  # as GenAI counts input


def _ancestors(state: str) -> Sequence[str]:
    try:
        return ancestors(state)
    except KeyError:  # a path of a version that wrote them otherwise
        return ()
