"""Words of a text, as searches see them: the same for stored texts and for queries. Pure.

A word is a run of letters and digits, in one form of Unicode and without regard to case. Whatever else stands between
words divides them, so `foo-bar`, `snake_case` and `a/b.py` are several words. A text is found by more than its words:
`camelCase` also by `camel` and by `case`, `C++` also by `c`, and each English word by its stem. In scripts that put no
spaces between words each character is a word.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Final

from dcf.core.text.stems import stem_of
from dcf.values.records import record

LONGEST_WORD: Final = 64
"""Characters of a word that count; the rest of a longer one is left out, in texts and in queries."""

MOST_WORDS: Final = 500
"""Different words under which one text is found; those that come later are left out."""

_MOST_PARTS: Final = 6
"""Most words in one camelCase; a run with more is no name, but data."""

_RUN: Final = re.compile(r"[^\W_]+\+\+(?![^\W_])|(?<![^\W_])[^\W\d_][+#](?![^\W_]|\+)|[^\W_]+")
"""A run of letters and digits, and the signs at its end that are part of a name: C++, F#."""

_UNSPACED: Final = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f]"
)
"""A character of Thai, Lao, Burmese, Khmer, Japanese or Chinese."""

_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z]+[0-9]*|[0-9]+")


@record(frozen=True, slots=True, kw_only=True)
class Words:
    """The stems of the words of a text in their order, and every word under which it is found, by its weight."""

    sequence: tuple[str, ...] = ()
    found_by: Mapping[str, int] = field(default_factory=dict)


def words_in(text: str) -> list[str]:
    """Return the words of a text in their order."""
    return [word for run in _runs(text) for word in _sequence(run)]


def read_words(texts: Sequence[tuple[str, int]], most: int = MOST_WORDS) -> Words:
    """Return the words of texts, each with its weight; a word in several texts has the largest weight.

    Give the most important text first: at most so many different words are taken, and their stems. An empty word in
    the sequence is the end of a text, so that no phrase reaches from one text into the next.
    """
    sequence: list[str] = []
    weights: dict[str, int] = {}
    for text, weight in texts:
        for run in _runs(text):
            known = [word for word in _variants(run) if word in weights or len(weights) < most]
            for word in known:
                weights[word] = max(weight, weights.get(word, 0))
            sequence += [stem_of(word) for word in _sequence(run) if word in weights]
        sequence.append("")
    for word, weight in tuple(weights.items()):
        stem = stem_of(word)
        weights[stem] = max(weight, weights.get(stem, 0))
    return Words(sequence=tuple(sequence), found_by=weights)


def _runs(text: str) -> Iterator[str]:
    """Yield the runs of letters and digits, with their case."""
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text)):
        run, start = match[0], 0
        for sign in _UNSPACED.finditer(run):
            if run[start : sign.start()]:
                yield run[start : sign.start()]
            yield sign[0]
            start = sign.end()
        if run[start:]:
            yield run[start:]


def _sequence(run: str) -> Iterator[str]:
    """Yield the one word that a run is in the order of the text; none if nothing is left of it."""
    word = _folded(run)
    if word:
        yield word


def _variants(run: str) -> Iterator[str]:
    yield from _sequence(run)
    bare = run.rstrip("+#")
    if bare != run:
        yield from _sequence(bare)
    parts = _HUMP.findall(bare) if bare.isascii() else []
    if 1 < len(parts) <= _MOST_PARTS and "".join(parts) == bare:
        yield from map(_folded, parts)


def _folded(run: str) -> str:
    return unicodedata.normalize("NFKC", run.casefold())[:LONGEST_WORD]
