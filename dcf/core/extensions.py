"""The offers of capabilities to decisions of the engine: types, and the tables of installed offers. Pure.

The engine meets a capability only as a row of these tables. They are complete before the first call: a read
before that raises, so that no process ignores a capability in silence. `features/installed_decisions.py` fills them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Final, TypeAlias, TypeVar

from dcf.asl.steps import Advance
from dcf.core.completing.transition import Claimant, Transition
from dcf.core.completing.updates import Update
from dcf.core.definitions.extensions import ENDS, EndExtensions, EndReads
from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Updated
from dcf.core.documents.attached import ATTACHED, AttachedKind, AttachedKinds
from dcf.core.documents.decision import Decision, More, Snapshot
from dcf.core.documents.model import RunStatus
from dcf.core.documents.parts import Parts, wanted_of
from dcf.core.documents.usage import UsageReport
from dcf.core.leasing.extensions import LEASING, Hold, LeaseExtensions, Look
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.values.tables import Tables

Offer = TypeVar("Offer")

Written: TypeAlias = Decision[Updated | Refusal | More]
"""The decision on a write of a holder."""

Settle: TypeAlias = Callable[[Update], Written]
"""Applies a completion, or a failure in its place."""

Through: TypeAlias = Callable[[Snapshot, Definition, Settle, Update], Written]
"""Applies a completion, now or later, with the function that settles it."""

Charging: TypeAlias = Callable[[Snapshot, str, UsageReport, Callable[[Snapshot], Written]], Written]
"""Decides on a write that reports usage for a state, and adds the charge."""

Ending: TypeAlias = Callable[[Snapshot, str, Definition, Mapping[str, Json]], Decision[RunStatus | More | None]]
"""Handles a due timer of a state, without a write of its holder. None: the timer is no longer due."""


@record(frozen=True, slots=True, kw_only=True)
class CompletionStep:
    """A step of each completion in runs of the definitions to which it applies."""

    applies: Callable[[Definition], bool]
    through: Through


@record(frozen=True, slots=True, kw_only=True)
class Flow:
    """The order of the units of an open run, which replaces the transitions of the language.

    `unless_open` refuses the end of a state that open states depend on. `succeeded` and `failed` return how a state
    ended. `follow` writes the changes of the states that follow, or asks for more documents.
    """

    unless_open: Callable[[Snapshot, str], Refusal | None]
    succeeded: Callable[[str, Json], Advance]
    failed: Callable[[str, str | None, str | None], Advance]
    follow: Callable[[Transition, Snapshot, Definition, str, Claimant | None], More | None]


@record(frozen=True, slots=True, kw_only=True)
class Capability:
    """The offers of a capability to decisions. `endings` are by what the clock found due (`Owed.fired`).

    `look_reads` and `end_reads` are what is read of parts of the run for the looks, and before a state ends.
    """

    completion: CompletionStep | None = None
    charging: Charging | None = None
    flow: Flow | None = None
    holds: Hold | None = None
    looks: Look | None = None
    look_reads: Parts = field(default_factory=dict)
    end_reads: EndReads | None = None
    endings: Mapping[str, Ending] = field(default_factory=dict)
    attached: AttachedKind | None = None


class Extensions(Tables):
    """The tables of installed capabilities, in their order: a completion meets the first one first.

    Those of `leasing`, of what is `attached` to states and of what `ends` read are filled with them.
    """

    filled_by = "dcf.features.installed_decisions"
    leasing: LeaseExtensions
    attached: AttachedKinds
    ends: EndExtensions

    completions: tuple[CompletionStep, ...]
    charging: Charging
    flow: Flow
    endings: Mapping[str, Ending]

    def __init__(self, leasing: LeaseExtensions, attached: AttachedKinds, ends: EndExtensions) -> None:
        self.leasing = leasing
        self.attached = attached
        self.ends = ends

    def install(self, capabilities: Iterable[Capability]) -> None:
        """Fill the tables. Raise ValueError if two capabilities offer what there is only one of."""
        installed = tuple(capabilities)
        endings = [ending for capability in installed for ending in capability.endings.items()]
        if len(dict(endings)) < len(endings):
            raise ValueError("Two capabilities offer the same: there is one ending of a kind.")
        kinds = [capability.attached for capability in installed if capability.attached is not None]
        if len({kind.field for kind in kinds}) < len(kinds):
            raise ValueError("Two capabilities attach a value to states under the same field.")
        self.completions = tuple(capability.completion for capability in installed if capability.completion is not None)
        self.charging = _single(capability.charging for capability in installed)
        self.flow = _single(capability.flow for capability in installed)
        self.endings = dict(endings)
        self.leasing.holds = tuple(item.holds for item in installed if item.holds is not None)
        self.leasing.looks = tuple(item.looks for item in installed if item.looks is not None)
        self.leasing.look_reads = {}
        for capability in installed:
            self.leasing.look_reads = wanted_of(self.leasing.look_reads, capability.look_reads)
        self.ends.reads = tuple(item.end_reads for item in installed if item.end_reads is not None)
        self.attached.kinds = tuple(sorted(kinds, key=lambda kind: kind.field))
        self.attached.fields = frozenset(kind.field for kind in kinds)
        self.attached.begun = tuple(kind.begun for kind in self.attached.kinds if kind.begun is not None)


def _single(offers: Iterable[Offer | None]) -> Offer:
    """Return what one capability offers; raise ValueError if none does, or several do."""
    present = [offer for offer in offers if offer is not None]
    if len(present) != 1:
        raise ValueError(f"{len(present)} capabilities offer the same: the engine needs one.")
    return present[0]


EXTENSIONS: Final = Extensions(LEASING, ATTACHED, ENDS)


def steps_of(definition: Definition) -> tuple[Through, ...]:
    """Return what completions in runs of this definition go through, innermost first; worked out once for each."""
    steps = tuple(step.through for step in reversed(EXTENSIONS.completions) if step.applies(definition))
    object.__setattr__(definition, "steps", steps)
    return steps
