"""The one query language of searches: every word must be there, and a "quoted phrase" as it stands. Pure.

Nothing in a query is an error. Signs that are in no word mean nothing, a quote that is not closed ends with the query,
and a name such as `foo-bar` or `snake_case` is a phrase of its words. Words are those of `tokens`.
"""

import re
from collections.abc import Sequence
from typing import Final

from dcf.core.text.tokens import words_in
from dcf.values.records import record

LONGEST_QUERY: Final = 1000
"""Characters of a query that are read."""

MOST_TERMS: Final = 16
"""Words of a query that are looked for; the others are left out."""

_PIECE: Final = re.compile(r'"([^"]*)"?|([^\s"]+)')


@record(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """What a text must have: `words`, each once, and `phrases`: several words one after the other.

    `is_given` is False for a query of nothing but blanks, which every text meets. One that was given and has no word
    is met by none.
    """

    words: tuple[str, ...] = ()
    phrases: tuple[tuple[str, ...], ...] = ()
    is_given: bool = False

    @property
    def finds_nothing(self) -> bool:
        """True if something was asked for that has no word in it."""
        return self.is_given and not self.words

    def score(self, found_by: "dict[str, int]", sequence: Sequence[str]) -> int | None:
        """Return the sum of the weights of its words in a text; None if the text does not meet it.

        This is what an index must answer, word by word (`store/text_index/index.py`).
        """
        if self.finds_nothing or not all(word in found_by for word in self.words):
            return None
        if not all(_has(sequence, phrase) for phrase in self.phrases):
            return None
        return sum(found_by[word] for word in self.words)


EVERYTHING: Final = TextQuery()
"""The query that every text meets."""


def read_query(text: str | None) -> TextQuery:
    """Read a query. Never raises: what has no word in it finds nothing, and no text at all finds everything."""
    given = (text or "")[:LONGEST_QUERY]
    words: dict[str, None] = {}
    phrases: dict[tuple[str, ...], None] = {}
    for quoted, bare in _PIECE.findall(given):
        term = tuple(words_in(quoted or bare))[: MOST_TERMS - len(words)]
        words |= dict.fromkeys(term)
        if len(term) > 1:
            phrases[term] = None
    return TextQuery(words=tuple(words), phrases=tuple(phrases), is_given=bool(given.strip()))


def _has(sequence: Sequence[str], phrase: tuple[str, ...]) -> bool:
    starts = range(len(sequence) - len(phrase) + 1)
    return any(tuple(sequence[start : start + len(phrase)]) == phrase for start in starts)
