"""The explanations of open states by other capabilities: their types, and the table of those installed. Pure.

A diagnosis knows no capability whose states it explains. The table is complete before the first diagnosis: a process
that asks before raises. `features/installed_explanations.py` fills it.
"""

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from dcf.core.documents.model import StateDoc
from dcf.features.diagnosis.facts import Facts
from dcf.features.diagnosis.model import RunFinding
from dcf.values.records import record
from dcf.values.tables import Tables

Explain: TypeAlias = Callable[[str, StateDoc, Facts], RunFinding | None]
"""Returns why an open state, named by its path, is where it is. None: not because of this capability."""


@record(frozen=True, slots=True, kw_only=True)
class ExplainOffer:
    """The explanations that a capability offers.

    `asking` explains a state about which somebody was asked; an agent may hold it. `parking` explains a state that
    waits for a usage limit, and `outside` a Task that waits for something outside.
    """

    asking: Explain | None = None
    parking: Explain | None = None
    outside: Explain | None = None


class Explanations(Tables):
    """The explanations, those of the lowest capability first: verdicts come before questions."""

    filled_by = "dcf.features.installed_explanations"
    asking: tuple[Explain, ...]
    parking: tuple[Explain, ...]
    outside: tuple[Explain, ...]

    def install(self, offers: Iterable[ExplainOffer]) -> None:
        """Fill the table with the offers, which are in the order of the capabilities."""
        lowest_first = tuple(reversed(tuple(offers)))
        self.asking = tuple(offer.asking for offer in lowest_first if offer.asking is not None)
        self.parking = tuple(offer.parking for offer in lowest_first if offer.parking is not None)
        self.outside = tuple(offer.outside for offer in lowest_first if offer.outside is not None)


EXPLANATIONS: Final = Explanations()


def first_finding(explanations: Iterable[Explain], path: str, doc: StateDoc, facts: Facts) -> RunFinding | None:
    """Return the first finding of these explanations; None if none explains the state."""
    findings = (explain(path, doc, facts) for explain in explanations)
    return next((finding for finding in findings if finding is not None), None)
