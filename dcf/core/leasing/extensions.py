"""The offers of capabilities to decisions about leases and timers: types, and the tables of installed offers. Pure.

`core/extensions.py: Extensions.install` fills the tables.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from dcf.core.documents.answers import Owed
from dcf.core.documents.decision import Decision, Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.parts import Parts
from dcf.values.refusal import Refusal
from dcf.values.tables import Tables

Hold: TypeAlias = Callable[[str, StateDoc], Refusal | None]
"""Refuses other writes of a holder, and the release of its lease, while something of the state is being decided."""

Look: TypeAlias = Callable[[Snapshot, str, StateDoc], Decision[Owed] | None]
"""Decides what to do about an open state whose timer is due. None: nothing that this capability knows of is due."""


class LeaseExtensions(Tables):
    """The tables, in the order of the capabilities. `look_reads` is what the looks need of parts of the run."""

    filled_by = "dcf.features.installed_decisions"
    holds: tuple[Hold, ...]
    looks: tuple[Look, ...]
    look_reads: Parts


LEASING: Final = LeaseExtensions()
