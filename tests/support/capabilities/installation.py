"""Gives this process other capabilities for a while: one of the tests, or all but gates."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from dcf.asl.tasks.extensions import LANGUAGE
from dcf.core.definitions.extensions import ENDS
from dcf.core.documents.attached import ATTACHED
from dcf.core.extensions import EXTENSIONS
from dcf.core.leasing.extensions import LEASING
from dcf.core.listing.checks import ListKind
from dcf.features.gates.model import RECORDS
from dcf.features.installed import CAPABILITIES
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
        EXTENSIONS.install(capability for capability in CAPABILITIES if capability.name != "gates")
        PARTS.install(row for part, row in PARTS.rows.items() if part is not RECORDS)
        LISTS.install(lists for lists in LISTS.states if lists.kind is not ListKind.GATES)
        fields = [field for field in LANGUAGE.fields.values() if field.name != "Gates"]
        LANGUAGE.install(fields=fields, resources=LANGUAGE.resources.values(), gates_of_run=None)
        yield
