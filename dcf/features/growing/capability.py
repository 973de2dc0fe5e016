"""Offers to the engine how the units of a run that grows follow each other."""

from typing import Final

from dcf.core.completing.transition import Claimant, Transition
from dcf.core.definitions.extensions import EndReads
from dcf.core.definitions.model import Definition
from dcf.core.documents.decision import More, Snapshot
from dcf.core.documents.parts import WHOLE
from dcf.core.extensions import Capability, Flow
from dcf.features.growing import progress
from dcf.features.growing.counts import GROWTH
from dcf.features.growing.model import Units
from dcf.values.refusal import Refusal


def _unless_children(snapshot: Snapshot, state: str) -> Refusal | None:
    return progress.unless_children(snapshot.part(GROWTH), state)


def _follow(
    step: Transition, snapshot: Snapshot, definition: Definition, state: str, claimant: Claimant | None
) -> More | None:
    assert isinstance(definition.units, Units), "the engine asks for runs that grow"
    return progress.follow(step, snapshot, definition.units, state, claimant)


OFFER: Final = Capability(
    end_reads=EndReads(
        applies=lambda definition: definition.units is not None, parts=lambda _, __: GROWTH.wanted(WHOLE)
    ),
    flow=Flow(unless_open=_unless_children, succeeded=progress.succeeded, failed=progress.failed, follow=_follow),
)
