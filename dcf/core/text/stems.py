"""The stem of an English word, under which its forms are one: `inject` of injection, injections and injected. Pure.

Names keep their form: words with digits, signs or letters beyond ASCII have no stem but themselves.
"""

from functools import lru_cache
from typing import Final

_SHORTEST: Final = 3
"""Letters of a word that has a form without an ending."""

_SURE: Final = 3
"""Fewest letters of a stem, without its last one, that every form of its word has; shorter ones may be irregular."""


@lru_cache(maxsize=16_384)
def stem_of(word: str) -> str:
    """Return the stem of a word in lower case; the word itself if it is no word of English letters."""
    if len(word) < _SHORTEST or not word.isascii() or not word.isalpha():
        return word
    from snowballstemmer.english_stemmer import EnglishStemmer  # noqa: PLC0415 - 40 modules, for the first text alone

    stemmer = EnglishStemmer()  # it has the word in itself while it works, so threads need one each
    return str(stemmer.stemWord(word))


def beginning_of(word: str) -> str:
    """Return a text that every form of a word contains, to search for; empty if none is known."""
    stem = stem_of(word)
    if stem == word and not word.isalpha():
        return word.rstrip("+#") if word.isascii() else ""
    return stem[:-1] if len(stem) > _SURE and word.isascii() else ""
