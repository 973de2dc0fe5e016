"""The result of a diagnosis: why a run does not move, in words and as facts, and the one remedy. Data only.

`judging` makes the findings; every interface shows them in its own words, without additions.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum

from dcf.values.json_text import Json
from dcf.values.record_json.codec import json_method
from dcf.values.records import record
from dcf.verbs.wording.steps import marked


class Cause(StrEnum):
    """Why a run, or one of its states, is where it is. The codes are stable."""

    STORE_REFUSES_WRITES = "store_refuses_writes"
    DEFINITION_UNKNOWN = "definition_unknown"
    PAUSED = "paused"
    BLOCKED = "blocked"
    KILLED_PROCESS = "killed_process"
    NOT_STARTED = "not_started"
    CLOCK_ABSENT = "clock_absent"
    CLOCK_LATE = "clock_late"
    TIMER_LOST = "timer_lost"
    NOBODY_ASSIGNED = "nobody_assigned"
    NOT_NOTIFIED = "not_notified"
    DELIVERY_FAILED = "delivery_failed"
    NOT_TAKEN = "not_taken"
    LEASE_EXPIRED = "lease_expired"
    KEEPS_FAILING = "keeps_failing"
    LEASE_HELD = "lease_held"
    ACCOUNT_CLOSED = "account_closed"
    RETRY_DUE = "retry_due"
    TIMER_DUE = "timer_due"
    WAITING_FOR_CALLBACK = "waiting_for_callback"
    WAITING_FOR_PERSON = "waiting_for_person"
    WAITING_FOR_SIGNAL = "waiting_for_signal"
    WAITING_FOR_CHILD = "waiting_for_child"
    WAITING_FOR_VERDICT = "waiting_for_verdict"
    WAITING_FOR_ANSWER = "waiting_for_answer"
    WAITING_FOR = "waiting_for"
    NOTHING_OPEN = "nothing_open"
    NOT_FINALIZED = "not_finalized"


@record(frozen=True, slots=True, kw_only=True)
class Remedy:
    """A remedy: a sentence, and the call of a verb that does it."""

    sentence: str
    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON; a call that destroys says so."""
        return {"sentence": self.sentence, "call": marked({"tool": self.tool, "arguments": dict(self.arguments)})}


@record(frozen=True, slots=True, kw_only=True)
class RunFinding:
    """One cause. `since` is the server's time in microseconds, None if the documents do not tell.

    `stuck`: nothing can happen without help; False for a wait that ends automatically, such as a timer. A finding
    on several states of one name, such as the iterations of a Map, has the first of them, and `count` says how many.
    """

    cause: Cause
    sentence: str
    remedy: Remedy
    stuck: bool
    state: str | None = None
    since: int | None = None
    evidence: Mapping[str, Json] = field(default_factory=dict)
    count: int = 1

    as_json = json_method("cause sentence state count since stuck evidence remedy", times="since")
