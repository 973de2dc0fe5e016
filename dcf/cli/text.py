"""Escapes untrusted text for a terminal: outputs, errors and names come from models and from other programs."""

import json

from dcf.values.json_text import Json

_LONGEST = 200


def clean(value: object, longest: int = _LONGEST) -> str:
    """Return a value on one line, shortened if it is long.

    Line breaks and other blanks become spaces. Characters that a terminal would interpret or hide are replaced:
    control characters, and Unicode's format characters, which reorder text (U+202E) or are invisible.
    """
    text = str(value)[: longest + 1]
    shown = "".join(map(_printable, text))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def json_text(document: Json, *, indent: int | None = None) -> str:
    """Return JSON text with the same meaning and without characters that a terminal would interpret."""
    text = json.dumps(document, indent=indent, ensure_ascii=False, allow_nan=False)
    return "".join(
        character if is_harmless(character) else json.dumps(character, allow_nan=False)[1:-1] for character in text
    )


def _printable(character: str) -> str:
    if character.isprintable():
        return character
    return " " if character.isspace() else "\N{REPLACEMENT CHARACTER}"


def is_harmless(character: str) -> bool:
    """Return True for a character that a terminal shows and does not interpret, and for a line break."""
    return character.isprintable() or character == "\n"
