"""Offers to the engine what is due while people are asked: to ask others too, to take a default choice."""

from typing import Final

from dcf.core.documents.attached import AttachedKind
from dcf.core.extensions import Capability
from dcf.features.people.answering import time_out
from dcf.features.people.escalation import look
from dcf.features.people.model import Asking, begun, read_asked

OFFER: Final = Capability(
    looks=look,
    endings={"timed_out": time_out},
    attached=AttachedKind(field=Asking.field, read=read_asked, begun=begun),
)
