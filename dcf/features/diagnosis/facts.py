"""The facts for a diagnosis: the open states of a run, the time, and the signs of timer loop, agents and deliveries.

Data only; `operations` reads it, `judging` and `states` judge it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Final

from dcf.core.documents.model import Meta, StateDoc
from dcf.core.listing.sweep_results import Trouble
from dcf.features.health.facts import PlatformTrouble
from dcf.values.instants import SECOND, from_text, to_text
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.spans import in_largest_unit

PATIENCE: Final = 10 * SECOND
"""How long what should happen at once may take: a delivery, or the clock's look at what is due."""

NAMED: Final = 5
"""States and agents that a finding names."""

_MAILBOX: Final = "mailbox"


@record(frozen=True, slots=True, kw_only=True)
class Telling:
    """The notifications to the agents of a state in this visit: the last one, and what failed since.

    `times` says how many each agent got.
    """

    times: Mapping[str, int] = field(default_factory=dict)
    agent_id: str | None = None
    at: int | None = None
    failed_agent_id: str | None = None
    failed_at: int | None = None
    failure: str | None = None
    error: str | None = None


NOT_TOLD: Final = Telling()


@record(frozen=True, slots=True, kw_only=True)
class LimitSign:
    """The limit of a parked state as its account has it: the words of the reporter, and the order of waiting.

    `ahead` states become ready before this one, of `waiting` states in all.
    """

    reason: str = ""
    ahead: int = 0
    waiting: int = 0


NO_SIGN: Final = LimitSign()

Signs = Mapping[tuple[str, int], LimitSign]
"""Signs by account and the time until which a state is parked."""


@record(frozen=True, slots=True, kw_only=True)
class Facts:
    """The facts for a diagnosis. Times are the server's, in microseconds.

    `states` has the open states that were read and the Parallel and Map states around them, which `around` names;
    `unread` counts further open ones. `due` is when the timer loop must look at a state. `seen` says when agents last
    called a tool. `looked_at` is when any timer loop looked last, `patience` how long it may take. `refusal` says why a
    small write was refused, `unreadable` what is wrong with the stored workflow. `platforms` are the kinds of agents'
    platforms, and `troubled` those that do not answer. `awaited` names the signals that states wait for. `untimed` are
    open states that must have a timer and have none. `signs` describe the limits of parked states.
    """

    workflow_id: str
    now: int
    meta: Meta
    document: Mapping[str, Json]
    states: Mapping[str, StateDoc] = field(default_factory=dict)
    around: frozenset[str] = frozenset()
    due: Mapping[str, int] = field(default_factory=dict)
    telling: Mapping[str, Telling] = field(default_factory=dict)
    seen: Mapping[str, int] = field(default_factory=dict)
    looked_at: int | None = None
    patience: int = PATIENCE
    refusal: Trouble | None = None
    platforms: Mapping[str, str] = field(default_factory=dict)
    troubled: Mapping[str, PlatformTrouble] = field(default_factory=dict)
    unreadable: str | None = None
    awaited: Mapping[str, str] = field(default_factory=dict)
    unread: int = 0
    untimed: frozenset[str] = frozenset()
    signs: Signs = field(default_factory=dict)

    @property
    def is_clock_silent(self) -> bool:
        """True if no clock has looked lately, so that nothing happens that is due."""
        return self.looked_at is None or self.now - self.looked_at > self.patience

    @property
    def paused_at(self) -> int | None:
        """When the run was paused; None if it is not."""
        return from_text(self.document.get("paused_at"))

    def shown(self, agent_id: str) -> str:
        """Return the agent for a sentence, with its platform if that is none of inboxes."""
        kind = self.platforms.get(agent_id, _MAILBOX)
        return agent_id if kind == _MAILBOX else f"{agent_id} (on {kind})"

    def told(self, path: str) -> Telling:
        """Return how the agents of this state were notified."""
        return self.telling.get(path, NOT_TOLD)


def ready_since(doc: StateDoc) -> int:
    """Return since when an open state could be taken. An epoch is the time at which the state was entered."""
    if doc.not_before is not None:
        return doc.not_before
    if doc.lease.token is not None:
        return doc.lease.expires_at or doc.lease.epoch
    return doc.lease.ts or doc.lease.epoch


def text(at: int | None) -> str | None:
    """Return an instant as documents write it."""
    return None if at is None else to_text(at)


def moment(at: int) -> str:
    """Return an instant for a sentence, to the second."""
    return f"{to_text(at)[:19]}Z"


def sighting(at: int | None) -> str:
    """Return when an agent was last seen, in words."""
    return "never seen" if at is None else f"last seen at {moment(at)}"


def lasting(micros: int) -> str:
    """Return a duration in its largest unit."""
    return in_largest_unit(micros // SECOND)


def listed(names: Iterable[str]) -> str:
    """Return names as a part of a sentence."""
    return " and ".join(names)
