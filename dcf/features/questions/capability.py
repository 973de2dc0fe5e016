"""Offers to the engine that questions about a state which were not answered in time are given up."""

from typing import Final

from dcf.core.documents.attached import AttachedKind
from dcf.core.documents.parts import WHOLE
from dcf.core.extensions import Capability
from dcf.features.questions.model import TALK, Questioned, read_questioned
from dcf.features.questions.unanswered import look

OFFER: Final = Capability(
    looks=look,
    look_reads=TALK.wanted(WHOLE),
    attached=AttachedKind(field=Questioned.field, read=read_questioned),
)
