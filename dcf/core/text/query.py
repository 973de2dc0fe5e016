"""The one query language of searches: words, "phrases", prefix*, AND, OR, NOT and parentheses. Pure.

Words without an operator between them must all be in the text. NOT binds tighter than AND, and AND tighter than OR;
operators are written in capitals. No query is an error. Signs outside of words and operators without an operand are
ignored. A quote that is not closed ends with the query. A name such as `foo-bar` is a phrase of its words. Words are
those of `tokens`, in any form that has the same stem.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, TypeAlias

from dcf.core.text.stems import stem_of
from dcf.core.text.tokens import words_in
from dcf.values.json_text import Json
from dcf.values.records import record

LONGEST_QUERY: Final = 1000
"""Characters of a query that are read."""

MOST_TERMS: Final = 16
"""Words of a query that are looked for; the others are left out."""

_DEEPEST: Final = 8
"""Parentheses in one another that are read; those inside mean nothing."""

_PIECE: Final = re.compile(r'"(?P<quoted>[^"]*)"?(?P<star>\*?)|(?P<sign>[()])|(?P<bare>[^\s"()]+)')
_OPERATORS: Final = frozenset({"AND", "OR", "NOT"})


@record(frozen=True, slots=True, kw_only=True)
class Term:
    """One word, or several one after the other. With `is_prefix` the last one is the beginning of a word."""

    words: tuple[str, ...]
    is_prefix: bool = False

    @property
    def whole(self) -> tuple[str, ...]:
        """Its words without the one that is only a beginning."""
        return self.words[:-1] if self.is_prefix else self.words

    @property
    def is_phrase(self) -> bool:
        """True if its words must follow each other."""
        return len(self.words) > 1

    @property
    def sequences(self) -> tuple[str, ...]:
        """Its words in the forms that a text may have: stems, and whole words, which older versions stored."""
        ends = (self.words[-1],) if self.is_prefix else ()
        stems = (*map(stem_of, self.whole), *ends)
        return tuple(dict.fromkeys(_spaced(words, is_open=self.is_prefix) for words in (stems, self.words)))

    def weight(self, found_by: Mapping[str, int], sequence: str) -> int | None:
        """Return the sum of the weights of its words in a text; None if the text does not have it."""
        if self.is_phrase and not any(phrase in sequence for phrase in self.sequences):
            return None
        weights = [
            max((found_by[form] for form in forms_of(word) if form in found_by), default=None) for word in self.whole
        ]
        if self.is_prefix:
            began = [weight for word, weight in found_by.items() if word.startswith(self.words[-1])]
            weights.append(max(began, default=None))
        known = [weight for weight in weights if weight is not None]
        return sum(known) if len(known) == len(weights) else None


@record(frozen=True, slots=True)
class AllOf:
    """A text matches if it matches every part."""

    parts: "tuple[Expression, ...]"


@record(frozen=True, slots=True)
class AnyOf:
    """A text matches if it matches at least one part."""

    parts: "tuple[Expression, ...]"


@record(frozen=True, slots=True)
class Without:
    """A text matches if it does not match the part."""

    part: "Expression"


Expression: TypeAlias = Term | AllOf | AnyOf | Without


@record(frozen=True, slots=True, kw_only=True)
class TextQuery:
    """The condition of a search on a text.

    `is_given` is False for a query of blanks alone, which every text matches. No text matches a query that has other
    signs but no word.
    """

    expression: Expression | None = None
    is_given: bool = False

    @property
    def finds_nothing(self) -> bool:
        """True if the query is not blank but has no word."""
        return self.is_given and self.expression is None

    @property
    def terms(self) -> tuple[Term, ...]:
        """The terms that a text is found by, each once: not those behind NOT."""
        return () if self.expression is None else tuple(dict.fromkeys(_positive(self.expression)))

    @property
    def words(self) -> tuple[str, ...]:
        """The words that a text is found by, each once."""
        return tuple(dict.fromkeys(word for term in self.terms for word in term.words))

    @property
    def needed(self) -> tuple[str, ...]:
        """Words that every text has that meets it, where that can be said without evaluating it."""
        parts = self.expression.parts if isinstance(self.expression, AllOf) else (self.expression,)
        return tuple(word for part in parts if isinstance(part, Term) for word in part.whole)

    def score(self, found_by: Mapping[str, int], sequence: Sequence[str]) -> int | None:
        """Return the sum of the weights of its words in a text; None if the text does not meet it.

        Of alternatives the best counts. This is what an index must answer (`store/text_index/index.py`).
        """
        if self.expression is None:
            return None if self.is_given else 0
        return weight_of(self.expression, found_by, _spaced(sequence))


EVERYTHING: Final = TextQuery()
"""The query that every text meets."""


def read_query(text: str | None) -> TextQuery:
    """Read a query. Never raises: a query without a word has no results, and an empty query finds everything."""
    read_text = (text or "")[:LONGEST_QUERY]
    return TextQuery(expression=_Reader(read_text).read(), is_given=bool(read_text.strip()))


def weight_of(expression: Expression, found_by: Mapping[str, int], sequence: str) -> int | None:
    """Return the weight of an expression in a text; None if the text does not meet it."""
    if isinstance(expression, Term):
        return expression.weight(found_by, sequence)
    if isinstance(expression, Without):
        return None if weight_of(expression.part, found_by, sequence) is not None else 0
    weights = [weight_of(part, found_by, sequence) for part in expression.parts]
    known = [weight for weight in weights if weight is not None]
    if isinstance(expression, AnyOf):
        return max(known, default=None)
    return sum(known) if len(known) == len(weights) else None


def forms_of(word: str) -> tuple[str, ...]:
    """Return the words under which texts with a word are found: its stem, and itself in what older versions stored."""
    return tuple(dict.fromkeys((stem_of(word), word)))


def as_json(expression: Expression | None) -> Json:
    """Return an expression as JSON, which tells it from others."""
    if isinstance(expression, Term):
        return [*expression.words, expression.is_prefix]
    if isinstance(expression, Without):
        return {"not": as_json(expression.part)}
    if expression is None:
        return None
    return {"all" if isinstance(expression, AllOf) else "any": [as_json(part) for part in expression.parts]}


def _positive(expression: Expression) -> Iterator[Term]:
    if isinstance(expression, Term):
        yield expression
    elif isinstance(expression, AllOf | AnyOf):
        for part in expression.parts:
            yield from _positive(part)


def _spaced(words: Sequence[str], *, is_open: bool = False) -> str:
    """Return words as text in which a phrase is found as a whole: blanks stand around each."""
    return f" {' '.join(words)}{'' if is_open else ' '}"


class _Reader:
    """Reads one query, piece by piece."""

    def __init__(self, text: str) -> None:
        self._pieces = [_piece(match) for match in _PIECE.finditer(text)]
        self._at = 0
        self._depth = 0
        self._words: set[str] = set()

    def read(self) -> Expression | None:
        """Return the expression of the pieces; a closing parenthesis without an opening one is ignored."""
        parts: list[Expression | None] = []
        while self._at < len(self._pieces):
            parts.append(self._alternatives())
            self._at += 1  # a closing parenthesis too many
        return _all_of(parts)

    def _alternatives(self) -> Expression | None:
        parts = [self._together()]
        while self._takes("OR"):
            parts.append(self._together())
        alternatives = tuple(dict.fromkeys(part for part in parts if part is not None))
        return AnyOf(alternatives) if len(alternatives) > 1 else alternatives[0] if alternatives else None

    def _together(self) -> Expression | None:
        parts = [self._difference()]
        while self._takes("AND"):
            parts.append(self._difference())
        return _all_of(parts)

    def _difference(self) -> Expression | None:
        parts = [self._row()]
        while self._takes("NOT"):
            part = self._row()
            parts += [] if part is None else [Without(part)]
        return _all_of(parts)

    def _row(self) -> Expression | None:
        parts: list[Expression | None] = []
        while self._at < len(self._pieces):
            piece = self._pieces[self._at]
            if piece in _OPERATORS or piece == ")":
                break
            self._at += 1
            if piece == "(":
                parts.append(self._group())
            elif isinstance(piece, tuple):
                parts.append(self._term(*piece))
        return _all_of(parts)

    def _group(self) -> Expression | None:
        if self._depth == _DEEPEST:
            return None  # the parenthesis is ignored: its content is read as part of the text around it
        self._depth += 1
        inner = self._alternatives()
        self._depth -= 1
        self._takes(")")
        return inner

    def _term(self, text: str, is_prefix: bool) -> Term | None:
        words = tuple(words_in(text))[: MOST_TERMS - len(self._words)]
        self._words.update(words)
        return Term(words=words, is_prefix=is_prefix) if words else None

    def _takes(self, piece: str) -> bool:
        is_next = self._at < len(self._pieces) and self._pieces[self._at] == piece
        self._at += is_next
        return is_next


def _piece(match: re.Match[str]) -> str | tuple[str, bool]:
    """Return an operator, a parenthesis, or a text with whether a star follows it."""
    bare = match["bare"]
    if bare is None:
        return match["sign"] or (match["quoted"], bool(match["star"]))
    return bare if bare in _OPERATORS else (bare, bare.endswith("*"))


def _all_of(parts: Sequence[Expression | None]) -> Expression | None:
    """Return what meets all parts, each once; parts of parts stand side by side."""
    flat: dict[Expression, None] = {}
    for part in parts:
        flat |= dict.fromkeys(part.parts if isinstance(part, AllOf) else () if part is None else (part,))
    return AllOf(tuple(flat)) if len(flat) > 1 else next(iter(flat), None)
