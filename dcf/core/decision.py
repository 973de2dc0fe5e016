"""What a decision reads and what it wants changed, in the words of a run, not of Redis.

A decision is a pure function `Snapshot -> Decision`. The store turns `Changes` into one transaction; because the
function has no effects it may be run again whenever the transaction loses its race.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from dcf.asl.steps import Entry
from dcf.core.json_text import Json
from dcf.core.model import Meta, StateDoc, StateInput

Answer_co = TypeVar("Answer_co", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """What a decision looks at.

    `states` are watched, and so is meta: a change of either before the commit makes the decision run again. Inputs
    and outputs need no watch, since only the holder of a watched state writes them. `agents` names the states
    whose assignment is needed; `open_states` asks for a page of the run's open states, offset and length (watched
    as a set). `timers` names the states whose due time is looked up.
    """

    states: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    entries: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    timers: tuple[str, ...] = ()
    open_states: tuple[int, int] | None = None
    whole_meta: bool = False
    audit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What was found, and the server's time in microseconds. What does not exist is absent.

    `inputs` are what workers see, `entries` what entering the states fixed.
    """

    now: int
    meta: Meta | None = None
    states: Mapping[str, StateDoc] = field(default_factory=dict)
    inputs: Mapping[str, Json] = field(default_factory=dict)
    entries: Mapping[str, Entry] = field(default_factory=dict)
    outputs: Mapping[str, Json] = field(default_factory=dict)
    timers: Mapping[str, int] = field(default_factory=dict)
    meta_document: Mapping[str, Json] | None = None
    audit: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, for the run's history. `data` must be small and free of tokens."""

    type: str
    state: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A notification owed: `type` says why, `state` who is to be woken (None: the planner)."""

    type: str
    state: str | None
    epoch: int
    source: str | None = None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """Everything one transaction writes, together or not at all.

    `meta_document` replaces meta, `meta` patches single fields of it. `timers` maps a state to the server time at
    which the clock should next look at it; None takes it off.
    """

    meta_document: Mapping[str, Json] | None = None
    meta: Mapping[str, Json] = field(default_factory=dict)
    definition: Json = None
    states: Mapping[str, StateDoc] = field(default_factory=dict)
    inputs: Mapping[str, StateInput] = field(default_factory=dict)
    outputs: Mapping[str, Json] = field(default_factory=dict)
    audit: Mapping[str, Json] | None = None
    events: tuple[Event, ...] = ()
    notices: tuple[Notice, ...] = ()
    timers: Mapping[str, int | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Generic[Answer_co]):
    """The answer, and what must be written for it to be true; no changes means that nothing is written.

    `repeats` marks the reply to a request that was applied before: it too is given only once the write is safe.
    """

    answer: Answer_co
    changes: Changes | None = None
    repeats: bool = False
