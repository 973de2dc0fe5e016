"""Offers gates to the engine: an output counts only after the verdicts of its gates."""

from typing import Final

from dcf.core.documents.attached import AttachedKind
from dcf.core.extensions import Capability, CompletionStep
from dcf.features.gates.model import Submission, read_gated
from dcf.features.gates.submitting import through_gates, unless_judged
from dcf.features.gates.verdicts import look, overdue

GATES: Final = Capability(
    name="gates",
    completion=CompletionStep(applies=lambda definition: definition.is_gated, through=through_gates),
    holds=unless_judged,
    looks=look,
    endings={"gate": overdue},
    attached=AttachedKind(field=Submission.field, read=read_gated),
)
