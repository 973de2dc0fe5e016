"""The table of parts of a run that installed capabilities read before a state ends. Pure.

`core/extensions.py: Extensions.install` fills it.
"""

from collections.abc import Callable
from typing import Final

from dcf.core.definitions.model import Definition
from dcf.core.documents.parts import Parts, wanted_of
from dcf.values.records import record
from dcf.values.tables import Tables


@record(frozen=True, slots=True, kw_only=True)
class EndReads:
    """Parts of the run that are read before a state ends, by its path, in runs of definitions to which this applies."""

    applies: Callable[[Definition], bool]
    parts: Callable[[Definition, str], Parts]


class EndExtensions(Tables):
    """The table, in the order of the capabilities."""

    filled_by = "dcf.features.installed_decisions"
    reads: tuple[EndReads, ...]


ENDS: Final = EndExtensions()


def parts_to_end(definition: Definition, path: str) -> Parts:
    """Return what must be read of parts of the run before a state ends.

    The definition keeps the rows that apply to it (`Definition.end_reads`).
    """
    reads = definition.end_reads
    if reads is None:
        reads = tuple(row.parts for row in ENDS.reads if row.applies(definition))
        object.__setattr__(definition, "end_reads", reads)
    together: Parts = {}
    for parts in reads:
        together = wanted_of(together, parts(definition, path))
    return together
