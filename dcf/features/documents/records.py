"""The answers of the verbs of single JSON documents. Imports the standard library only, since clients read it too."""

from collections.abc import Mapping
from dataclasses import dataclass

from dcf.values.json_text import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedDocument:
    """The value at `path` as it is now; `doc_json` is all of a small document."""

    success: bool
    redis_key: str
    path: str
    value_json: str | None = None
    length: int | None = None
    doc_json: str | None = None
    changed: bool = False
    repeated: bool = False
    hint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadDocument:
    """The value as JSON text; `found` is false where nothing is at the path."""

    success: bool
    redis_key: str
    path: str
    found: bool = False
    value_json: str | None = None
    length: int | None = None
    provenance: Mapping[str, Json] | None = None
    next_cursor: int | None = None
