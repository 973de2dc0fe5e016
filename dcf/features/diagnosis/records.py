"""Answers about why a run does not move, what happened in it, and all of it. Loads the standard library only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from dcf.values.json_text import Json
from dcf.verbs.records.runs import RunStatusName
from dcf.verbs.records.spread import SPREAD


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedRemedy:
    """A remedy: a sentence, and the call that does it (`tool`, `arguments`; `destroys` where it does)."""

    sentence: str
    call: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedCause:
    """One reason why a run does not move. `cause` is a stable code; `stuck`: somebody has to do something."""

    cause: str
    sentence: str
    remedy: SuggestedRemedy
    stuck: bool
    state: str | None = None
    since: datetime | None = None
    count: int = 1
    evidence: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedRun:
    """The obstacles of a run, stuck ones first; `stuck` is true where action is needed.

    Without findings nothing holds it up.
    """

    workflow_id: str
    run_status: RunStatusName | Literal["paused", "blocked"]
    stuck: bool
    at: datetime
    findings: tuple[ExplainedCause, ...] = ()
    unread_states: int = 0
    provenance: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvent:
    """Something that happened in a run. `id` orders events and is the cursor to continue from; `by` is who did it.

    `data` has more about the event, such as `agent_id`, `epoch` or `error`; in JSON these are fields of the event.
    """

    id: str
    at: datetime
    type: str
    state: str | None = None
    by: str | None = None
    data: Mapping[str, Json] = field(default_factory=dict, metadata=SPREAD)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEvents:
    """Events in the order asked for; `next_cursor` is set where there may be more."""

    workflow_id: str
    events: tuple[RunEvent, ...] = ()
    next_cursor: str | None = None
    provenance: Mapping[str, Json] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExport:
    """All of a run, for reading elsewhere: `head` has the run as a whole, the others its states, history and so on.

    Of `artifacts` short ones have their content, others say why not. A server answers it in pages.
    """

    workflow_id: str
    head: Mapping[str, Json] | None = None
    states: Mapping[str, Json] = field(default_factory=dict)
    events: tuple[Mapping[str, Json], ...] = ()
    journal: tuple[Mapping[str, Json], ...] = ()
    artifacts: tuple[Mapping[str, Json], ...] = ()
    next_cursor: str | None = None
    provenance: Mapping[str, Json] | None = None

    @property
    def document(self) -> dict[str, Json]:
        """The text that `dcf runs export` writes, and `dcf show --file` reads."""
        lists = {"events": self.events, "journal": self.journal, "artifacts": self.artifacts}
        parts = {name: [dict(part) for part in several] for name, several in lists.items()}
        return {**(self.head or {}), "states": dict(self.states), **parts}
