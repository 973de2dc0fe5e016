r"""Names that people read (of states, workflows, agents, keys, tags): without invisible characters. Pure.

Invisible and bidirectional characters make one name look like another, in a list, a log or a model's context. Ids
(`identifiers`) are ASCII and need no such check. An emoji of one character may be used; an emoji that joins several
characters (U+200D) may not.
"""

import unicodedata
from typing import Final

from dcf.values.text_pieces import clip

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode's categories of control, format, surrogate, private and unassigned characters, and of line separators."""

_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
"""Letters and marks that show nothing."""


def hidden_in(name: str) -> str | None:
    """Return the first character of a name that cannot be seen, as `U+202E`; None if there is none."""
    if name.isascii() and name.isprintable():
        return None
    return next((f"U+{ord(character):04X}" for character in name if _is_hidden(character)), None)


def escaped(name: str, limit: int = 80) -> str:
    r"""Return a name for a message: cut, and what cannot be seen written as `\u202e`."""
    return "".join(_escape(character) if _is_hidden(character) else character for character in clip(name, limit))


def _is_hidden(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _HIDDEN


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"  # noqa: PLR2004 - four digits or eight
