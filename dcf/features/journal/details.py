"""The fields of each kind of journal entry in addition to its text, checked and put into their usual form. Pure.

Known fields must have their type; further ones are kept as they are, within the bound of an entry. Everything that is
wrong is said at once.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, TypeAlias

from dcf.errors import InvalidArgument
from dcf.features.journal.model import MOST_DETAILS, EntryKind
from dcf.values.json_text import Json, byte_length, load, without_nulls

LEVELS: Final = ("debug", "info", "warn", "error")
MOST_PROGRESS: Final = 100
_MOST_LISTED: Final = 50
_WORD: Final = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")

Check: TypeAlias = Callable[[Json], str | None]
"""Function that returns what is wrong with a value, None if nothing is."""


def checked_details(kind: EntryKind, details: Mapping[str, Json]) -> dict[str, Json]:
    """Return the details in their usual form; raise InvalidArgument with all that is wrong with them."""
    values = without_nulls(details)
    if kind is EntryKind.DECISION and isinstance(values.get("options"), str):
        values["options"] = _as_list(str(values["options"]))
    wrong = [*_wrong(kind, values)]
    if wrong:
        raise InvalidArgument(f"details_json of a {kind}: {' '.join(wrong)}", f"Send {_EXAMPLES[kind]}.")
    if byte_length(values) > MOST_DETAILS:
        raise InvalidArgument(
            f"details_json has more than {MOST_DETAILS} bytes.", "Keep what is long in a state's output or an artifact."
        )
    return values


def _wrong(kind: EntryKind, document: Mapping[str, Json]) -> Iterator[str]:
    for name, check in _FIELDS[kind].items():
        why = check(document[name]) if name in document else None
        if why is not None:
            yield f"'{name}' {why}."
    missing = [name for name in _NEEDED.get(kind, ()) if name not in document]
    if missing:
        yield f"'{missing[0]}' is missing."


def _as_list(text: str) -> Json:
    """Return the list that a text has as JSON, else the text."""
    try:
        document: Json = load(text)
    except ValueError:
        return text
    return document if isinstance(document, list) else text


def _is_text(value: Json) -> str | None:
    return None if isinstance(value, str) and value.strip() else "is not a text"


def _is_texts(value: Json) -> str | None:
    is_texts = isinstance(value, list) and all(isinstance(item, str) for item in value) and len(value) <= _MOST_LISTED
    return None if is_texts else f"is not a list of at most {_MOST_LISTED} texts"


def _is_word(value: Json) -> str | None:
    return None if isinstance(value, str) and _WORD.match(value) else "is not a name of small letters, digits and '_'"


def _is_level(value: Json) -> str | None:
    return None if value in LEVELS else f"is none of {', '.join(LEVELS)}"


def _is_progress(value: Json) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return None if is_number and 0 <= value <= MOST_PROGRESS else f"is not a number from 0 to {MOST_PROGRESS}"


_FIELDS: Final[Mapping[EntryKind, Mapping[str, Check]]] = {
    EntryKind.LOG: {"level": _is_level, "layer": _is_word},
    EntryKind.DECISION: {
        "category": _is_word,
        "question": _is_text,
        "options": _is_texts,
        "chosen": _is_text,
        "reasoning": _is_text,
        "trade_offs": _is_text,
    },
    EntryKind.MILESTONE: {"progress": _is_progress},
    EntryKind.ISSUE: {"type": _is_word, "resolution": _is_text},
    EntryKind.NOTE: {},
    EntryKind.HANDOFF: {"to": _is_text, "next_steps": _is_texts},
}

_NEEDED: Final[Mapping[EntryKind, tuple[str, ...]]] = {EntryKind.DECISION: ("chosen",)}

_EXAMPLES: Final[Mapping[EntryKind, str]] = {
    EntryKind.LOG: '{"level": "warn"}',
    EntryKind.DECISION: '{"question": "Which?", "options": ["A", "B"], "chosen": "A", "reasoning": "It is smaller."}',
    EntryKind.MILESTONE: '{"progress": 50}',
    EntryKind.ISSUE: '{"type": "unclear_requirement", "resolution": "what you did meanwhile"}',
    EntryKind.NOTE: "{}",
    EntryKind.HANDOFF: '{"to": "pricing-1", "next_steps": ["check the totals"]}',
}
