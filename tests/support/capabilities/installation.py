"""Gives this process other capabilities for a while: one of the tests, or all but gates."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dcf.asl.tasks.extensions import LANGUAGE, LanguageOffer
from dcf.core.definitions.extensions import ENDS
from dcf.core.documents.attached import ATTACHED
from dcf.core.extensions import EXTENSIONS, Capability
from dcf.core.leasing.extensions import LEASING
from dcf.features.gates import capability, run_offers, syntax
from dcf.features.installed import offers
from dcf.runs import offers as of_runs
from dcf.runs.clock.duties import DUTIES
from dcf.store.extensions import LISTS, PARTS
from dcf.store.transaction import state_texts

TABLES: Final = (EXTENSIONS, LEASING, ATTACHED, ENDS, PARTS, LISTS, DUTIES, LANGUAGE)


@contextmanager
def own_tables() -> Iterator[None]:
    """Put the tables back in the end. Documents are read again after each change of the tables."""
    before = [dict(vars(table)) for table in TABLES]
    state_texts._records.clear()
    try:
        yield
    finally:
        for table, rows in zip(TABLES, before, strict=True):
            vars(table).clear()
            vars(table).update(rows)
        state_texts._records.clear()


@contextmanager
def without_gates() -> Iterator[None]:
    """Be a process that has every capability but gates."""
    with own_tables():
        EXTENSIONS.install(offer for offer in offers("capability", Capability) if offer is not capability.OFFER)
        of_runs.install(offer for offer in offers("run_offers", of_runs.RunOffer) if offer is not run_offers.OFFER)
        LANGUAGE.install(offer for offer in offers("syntax", LanguageOffer) if offer is not syntax.OFFER)
        yield
