"""What capabilities offer to decisions of the engine: types, and the tables of what is installed. Pure.

The engine meets a capability only as a row of these tables. They are complete before the first call: whoever asks
before raises, so that no process ignores a capability in silence. `features/installed.py` fills them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final, Never, TypeAlias

from dcf.core.completing.updates import Update
from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Owed, Updated
from dcf.core.documents.decision import Decision, More, Snapshot
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.usage import UsageReport
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

Written: TypeAlias = Decision[Updated | Refusal | More]
"""The decision on a write of a holder."""

Settle: TypeAlias = Callable[[Update], Written]
"""Applies a completion, or a failure in its place."""

Through: TypeAlias = Callable[[Snapshot, Definition, Settle, Update], Written]
"""Applies a completion, now or later, by what is given to settle it."""

Charging: TypeAlias = Callable[[Snapshot, str, UsageReport, Callable[[Snapshot], Written]], Written]
"""Decides on a write that reports usage for a state, and adds the charge."""

Hold: TypeAlias = Callable[[str, StateDoc], Refusal | None]
"""Refuses other writes of a holder, and the release of its lease, while something of the state is being decided."""

Look: TypeAlias = Callable[[Snapshot, str, StateDoc], Decision[Owed] | None]
"""Decides what to do about an open state whose timer is due. None: nothing that this capability knows of is due."""

Ending: TypeAlias = Callable[[Snapshot, str, Definition, Mapping[str, Json]], Decision[RunStatus | More | None]]
"""Does with a state, without a write of its holder, what the clock found due. None: that is no longer the case."""


@record(frozen=True, slots=True, kw_only=True)
class CompletionStep:
    """What completions go through in runs of the definitions to which it applies."""

    applies: Callable[[Definition], bool]
    through: Through


@record(frozen=True, slots=True, kw_only=True)
class Capability:
    """What a capability offers to decisions. `endings` are by what the clock found due (`Owed.fired`)."""

    name: str
    completion: CompletionStep | None = None
    charging: Charging | None = None
    holds: Hold | None = None
    looks: Look | None = None
    endings: Mapping[str, Ending] = field(default_factory=dict)


class Extensions:
    """The tables of what is installed. Each has the order of the capabilities: a completion meets the first one first.

    There is one for a process. An attribute that is read before `install` was called raises.
    """

    completions: tuple[CompletionStep, ...]
    charging: Charging | None
    holds: tuple[Hold, ...]
    looks: tuple[Look, ...]
    endings: Mapping[str, Ending]

    def install(self, capabilities: Iterable[Capability]) -> None:
        """Fill the tables. Raise ValueError if two capabilities offer what there is only one of."""
        installed = tuple(capabilities)
        endings = [ending for capability in installed for ending in capability.endings.items()]
        charging = [capability.charging for capability in installed if capability.charging is not None]
        if len(charging) > 1 or len(dict(endings)) < len(endings):
            raise ValueError("Two capabilities offer the same: there is one ending of a kind, and one charge.")
        self.completions = tuple(one.completion for one in installed if one.completion is not None)
        self.charging = charging[0] if charging else None
        self.holds = tuple(one.holds for one in installed if one.holds is not None)
        self.looks = tuple(one.looks for one in installed if one.looks is not None)
        self.endings = dict(endings)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Never:
            """Raise: the tables are not filled."""
            raise RuntimeError(f"No capability is installed yet ('{name}'): import dcf.features.installed first.")


EXTENSIONS: Final = Extensions()


def steps_of(definition: Definition) -> tuple[Through, ...]:
    """Return what completions in runs of this definition go through, innermost first; worked out once for each."""
    steps = tuple(step.through for step in reversed(EXTENSIONS.completions) if step.applies(definition))
    object.__setattr__(definition, "steps", steps)
    return steps
