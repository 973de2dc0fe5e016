"""Offers gates to the engine: an output counts only after the verdicts of its gates."""

from typing import Final

from dcf.core.definitions.extensions import EndReads
from dcf.core.definitions.model import Definition
from dcf.core.documents.attached import AttachedKind
from dcf.core.documents.parts import Parts
from dcf.core.extensions import Capability, CompletionStep
from dcf.features.gates.model import RECORDS, Submission, read_gated
from dcf.features.gates.submitting import through_gates, unless_judged
from dcf.features.gates.verdicts import look, overdue


def _records_of(definition: Definition, path: str) -> Parts:
    return RECORDS.wanted((path,)) if definition.gates_of(path) else {}


OFFER: Final = Capability(
    completion=CompletionStep(applies=lambda definition: definition.is_gated, through=through_gates),
    holds=unless_judged,
    looks=look,
    end_reads=EndReads(applies=lambda definition: definition.is_gated, parts=_records_of),
    endings={"gate": overdue},
    attached=AttachedKind(field=Submission.field, read=read_gated),
)
