"""State documents as text, and the records of those that this process wrote or read lately, found by their text.

A worker that completes what it claimed reads a document that its own process wrote. Reading is pure: the same text is
always the same record, so it is parsed once. Whether the text is still in Redis, only Redis says. When there are too
many, all are thrown away.
"""

from typing import Final

from dcf.core.documents.codec import read_state, write_state
from dcf.core.documents.model import StateDoc
from dcf.values.json_text import dump_bytes, load

_MOST: Final = 1024
_LONGEST: Final = 4096
"""Bytes of the longest document that is kept: with many predecessors one may be far longer."""

_records: Final[dict[bytes, StateDoc]] = {}


def read_text(text: bytes) -> StateDoc | None:
    """Return the record of a document by its text; None where that is null, or no JSON, as a hand may have left it."""
    record = _records.get(text)
    if record is None:
        try:
            document = load(text)
        except ValueError:
            return None
        if document is None:
            return None
        record = read_state(document)
        _keep(text, record)
    return record


def write_text(doc: StateDoc) -> bytes:
    """Return the text of a record, and keep the record for the next read of the same text."""
    text = dump_bytes(write_state(doc))
    if doc.lease.ts is None or doc.lease.expires_at is not None:  # else the reader works an expiry out
        _keep(text, doc)
    return text


def _keep(text: bytes, doc: StateDoc) -> None:
    if len(_records) >= _MOST:
        _records.clear()
    if len(text) <= _LONGEST:
        _records[text] = doc
