"""The stamp in the document of a state, and the book of stamps of a run. Data only."""

from operator import add
from typing import ClassVar, Final

from dcf.core.documents.attached import Attached, Holder
from dcf.core.documents.parts import Part, every_name
from dcf.core.documents.stored_values import count_of
from dcf.values.json_text import Json
from dcf.values.records import record


@record(frozen=True, slots=True, kw_only=True)
class Stamp(Attached):
    """The output waits for its stamp, after which a reminder is due; or `is_stamped`."""

    field: ClassVar[str] = "stamp"
    ends_with_lease: ClassVar[bool] = True

    due: int | None = None
    is_stamped: bool = False

    def as_json(self) -> dict[str, Json]:
        """Return what the document says."""
        return {"due": self.due, "stamped": self.is_stamped}

    def due_in(self, doc: Holder) -> int | None:
        """Return when a reminder is due; None if none is."""
        return self.due


def read_stamp(document: Json) -> Stamp | None:
    """Read what the document says; None for anything else."""
    if not isinstance(document, dict):
        return None
    return Stamp(due=count_of(document.get("due")) or None, is_stamped=document.get("stamped") is True)


BOOK: Final = Part[tuple[str, ...], tuple[str, ...], tuple[str, ...]](
    name="stamps", both=every_name, after=add, together=add
)
"""The lines that were written about stamps in a run."""
