"""Values of capabilities in the document of a state: what the engine asks of them, and who reads them. Pure.

A document is read with the values of all capabilities that are installed. A field that no capability of this process
reads stays in the document unchanged (`StateDoc.extra`). `core/extensions.py: Extensions.install` fills the tables.
"""

from collections.abc import Callable
from typing import ClassVar, Final, Protocol, Self, TypeAlias

from dcf.asl.steps import OpenTask
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.tables import Tables


class Holder(Protocol):
    """A document of a state, as its values see it."""

    @property
    def is_judged(self) -> bool:
        """True if its output waits for verdicts."""

    @property
    def waits_outside(self) -> bool:
        """True if it waits for something outside."""


class Attached:
    """A value of a capability in the document of a state, in the `field` of the document. It is a frozen record.

    A value that `ends_with_lease` is dropped when the state ends or is retried.
    """

    __slots__ = ()
    field: ClassVar[str]
    ends_with_lease: ClassVar[bool] = False

    def as_json(self) -> dict[str, Json]:
        """Return what the document says."""
        raise NotImplementedError

    def due_in(self, doc: Holder) -> int | None:  # noqa: ARG002 - for those that have a time
        """Return when the timer loop must check the state because of this value; None if it need not."""
        return None

    def healed(self, now: int) -> Self:  # noqa: ARG002 - for those that have times
        """Return it with times corrected that lie too far ahead since the clock stepped back."""
        return self

    def awaits_answer(self) -> bool:
        """Return True if somebody was asked about the state, so that it is not stuck until the answer is due."""
        return False

    def was_sent_back(self, doc: Holder) -> bool:  # noqa: ARG002 - for those that send back
        """Return True if the last holder may acquire the state again, without its token: its output was sent back."""
        return False

    @property
    def asked_first(self) -> tuple[str, ...]:
        """The people and groups that are notified when the state begins to wait for something outside."""
        return ()


Begun: TypeAlias = Callable[[OpenTask, int], Attached | None]
"""Returns the value with which a Task begins, at this time, to wait for something outside; None: it has none."""


@record(frozen=True, slots=True, kw_only=True)
class AttachedKind:
    """A kind of value: its field, who reads that (None for what is no such value), and how a Task that waits begins."""

    field: str
    read: Callable[[Json], Attached | None]
    begun: Begun | None = None


class AttachedKinds(Tables):
    """The kinds, in the order of their fields, which is that of the values of a document."""

    filled_by = "dcf.features.installed_decisions"
    kinds: tuple[AttachedKind, ...]
    fields: frozenset[str]
    begun: tuple[Begun, ...]


ATTACHED: Final = AttachedKinds()
