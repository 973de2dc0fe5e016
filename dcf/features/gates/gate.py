"""Gates: what must be checked before the output of a Task counts. Data only; `syntax` reads them.

A gate is judged by dcf itself (`schema`), by a command that a helper on an agent's machine runs (`command`), by another
agent (`review`) or by a person (`person`).
"""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

from dcf.asl.tasks.askees import Askees
from dcf.values.json_text import Json
from dcf.values.record_json.codec import json_method
from dcf.values.records import record

GateKind: TypeAlias = Literal["schema", "command", "review", "person"]
Then: TypeAlias = Literal["fail", "block", "ask"]

KINDS: Final[tuple[GateKind, ...]] = ("schema", "command", "review", "person")
THENS: Final[tuple[Then, ...]] = ("fail", "block", "ask")

GATE_FAILED: Final = "DCF.GateFailed"
"""ASL error of a state whose output failed a gate as often as it may."""

DEFAULT_ATTEMPTS: Final = 3
_WAITS: Final[dict[GateKind, int | None]] = {"schema": None, "command": 600, "review": 3600, "person": None}
"""Seconds until a gate without a verdict counts as unavailable, by its kind; a person takes the time that they need."""


@record(frozen=True, slots=True, kw_only=True)
class Gate:
    """One check. After `max_attempts` failures the consequence is `then`: the state fails, or people are asked.

    `reviewers` are the agents that may judge it, `people` the persons and groups; none means any. `timeout_s` is the
    limit of a command, and how long a verdict is waited for. The author of the output judges only if
    `author_may_review` (of a command never), and overrides only if `author_may_override`.
    """

    name: str
    kind: GateKind
    criteria: tuple[str, ...] = ()
    command: str | None = None
    timeout_s: int | None = None
    reviewers: tuple[str, ...] = ()
    people: Askees = Askees()
    schema: Mapping[str, Json] | bool | None = None
    max_attempts: int = DEFAULT_ATTEMPTS
    then: Then = "fail"
    author_may_review: bool = False
    author_may_override: bool = False

    @property
    def waits_s(self) -> int | None:
        """Seconds to wait for a verdict; None: without a limit."""
        return _WAITS[self.kind] if self.timeout_s is None else self.timeout_s

    as_json = json_method(
        "name kind criteria command timeout_s reviewers people.listed schema max_attempts then author_may_review "
        "author_may_override",
        named={"people.listed": "people"},
        left_out="defaults",
    )
