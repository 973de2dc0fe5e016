"""How a query is put to the script that searches: groups of lists, phrases, and a program where these do not suffice.

An entry must be on one list of every group. Words, phrases and alternatives of words are groups. Whatever else a query
says is a program that is evaluated for each candidate, and the groups are then conditions that follow from it.
"""

from collections.abc import Iterator, Sequence

from dcf.core.text.entries import FacetFilter, TextSearch
from dcf.core.text.query import AllOf, AnyOf, Expression, Term, Without, forms_of
from dcf.store.text_index import keys as text_keys
from dcf.values.records import record

Words = tuple[str | int, ...]

_MOST_CLAUSES = 16
"""Groups that follow from a program; fewer of them are conditions as well."""


@record(frozen=True, slots=True, kw_only=True)
class Asked:
    """The part of the script's arguments that has the query.

    `is_counted`: the entries that are found are as many as the lists of the only group have.
    """

    groups: tuple[tuple[str, tuple[str, ...]], ...]
    phrases: tuple[str, ...] = ()
    terms: tuple[Term, ...] = ()
    program: str = ""
    is_counted: bool = False

    @property
    def arguments(self) -> Words:
        """The arguments as the script reads them."""
        words: list[str | int] = [len(self.groups)]
        for kind, lists in self.groups:
            words += [kind, len(lists), *lists]
        words += [len(self.phrases), *self.phrases, len(self.terms)]
        for term in self.terms:
            words += _written(term)
        return (*words, self.program)


def asked_of(search: TextSearch) -> Asked:
    """Return how a search is put to the script."""
    filters = [_filtered(facet_filter) for facet_filter in search.filters]
    expression = search.query.expression
    parts = expression.parts if isinstance(expression, AllOf) else () if expression is None else (expression,)
    if all(map(_is_plain, parts)):
        of_words = [("words", lists) for part in parts for lists in _lists(part)]
        phrases = tuple(dict.fromkeys(_sequences(part) for part in parts if isinstance(part, Term) and part.is_phrase))
        groups = tuple(dict.fromkeys([*of_words, *filters])) or (("facet", ("all",)),)
        may_be_added = all(map(_may_be_added, search.filters)) and all(_is_one_list(lists) for _, lists in of_words)
        return Asked(groups=groups, phrases=phrases, is_counted=len(groups) == 1 and not phrases and may_be_added)
    assert expression is not None, "a query without words is plain"
    terms = tuple(dict.fromkeys(_terms(expression)))
    following = [("words", lists) for lists in _conditions(expression)]
    groups = tuple(dict.fromkeys([*following, *filters])) or (("facet", ("all",)),)
    return Asked(groups=groups, terms=terms, program=" ".join(_steps(expression, terms)))


def _is_plain(part: Expression) -> bool:
    """Return True for a part that groups and phrases say whole."""
    if isinstance(part, AnyOf):
        return all(isinstance(part, Term) and not part.is_phrase for part in part.parts)
    return isinstance(part, Term)


def _lists(part: Expression) -> Iterator[tuple[str, ...]]:
    """Yield the lists of each word of a plain part; those of alternatives are one group."""
    if isinstance(part, Term):
        yield from _lists_of_words(part)
    elif isinstance(part, AnyOf):
        yield tuple(dict.fromkeys(name for part in part.parts for lists in _lists(part) for name in lists))


def _lists_of_words(term: Term) -> Iterator[tuple[str, ...]]:
    for word in term.whole:
        yield tuple(map(text_keys.word, forms_of(word)))
    if term.is_prefix:
        yield (text_keys.beginning(term.words[-1]),)


def _conditions(expression: Expression) -> list[tuple[str, ...]]:
    """Return groups of lists of which every entry that meets the expression is on one each. There may be none."""
    if isinstance(expression, Term):
        return list(_lists_of_words(expression))
    if isinstance(expression, Without):
        return []
    every = [_conditions(part) for part in expression.parts]
    if isinstance(expression, AllOf):
        return [lists for conditions in every for lists in conditions][:_MOST_CLAUSES]
    if not all(every):
        return []
    first = [min(conditions, key=len) for conditions in every]
    return [tuple(dict.fromkeys(name for lists in first for name in lists))]


def _terms(expression: Expression) -> Iterator[Term]:
    if isinstance(expression, Term):
        yield expression
    elif isinstance(expression, Without):
        yield from _terms(expression.part)
    else:
        for part in expression.parts:
            yield from _terms(part)


def _steps(expression: Expression, terms: Sequence[Term]) -> Iterator[str]:
    """Yield the program: each term by its number, and after its parts what joins them."""
    if isinstance(expression, Term):
        yield f"t{terms.index(expression) + 1}"
    elif isinstance(expression, Without):
        yield from _steps(expression.part, terms)
        yield "!"
    else:
        for part in expression.parts:
            yield from _steps(part, terms)
        yield f"{'&' if isinstance(expression, AllOf) else '|'}{len(expression.parts)}"


def _written(term: Term) -> Words:
    words: list[str | int] = [_sequences(term) if term.is_phrase else "", len(term.words)]
    for lists in _lists_of_words(term):
        words += [len(lists), *lists]
    return tuple(words)


def _sequences(term: Term) -> str:
    return "\n".join(term.sequences)


def _filtered(facet_filter: FacetFilter) -> tuple[str, tuple[str, ...]]:
    if facet_filter.facet is None:
        return "words", tuple(text_keys.word(form) for value in facet_filter.values for form in forms_of(value))
    return "facet", tuple(text_keys.facet(facet_filter.facet, value) for value in facet_filter.values)


def _may_be_added(facet_filter: FacetFilter) -> bool:
    """Return True if the entries of a filter are as many as its lists have together."""
    if facet_filter.facet is None:
        return len(facet_filter.values) == 1 and _is_one_list(forms_of(facet_filter.values[0]))
    return len(facet_filter.values) == 1 or facet_filter.is_disjoint


def _is_one_list(lists: Sequence[str]) -> bool:
    return len(lists) == 1 and not text_keys.is_beginning(lists[0])
