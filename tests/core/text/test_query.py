"""The query language and the words of texts: what is a word, what a query wants, and that none is an error."""

from hypothesis import assume, given
from hypothesis import strategies as st

from dcf.core.text.query import (
    EVERYTHING,
    LONGEST_QUERY,
    MOST_TERMS,
    AllOf,
    AnyOf,
    Expression,
    Term,
    TextQuery,
    Without,
    read_query,
)
from dcf.core.text.stems import beginning_of, stem_of
from dcf.core.text.tokens import LONGEST_WORD, MOST_WORDS, read_words, words_in
from tests.support.tables import rows

_NO_SIGNS = str.maketrans('"()*', "    ")
"""Leaves out what is more than words."""


@rows(
    ("text", "words"),
    [
        ("", []),
        ("... !? --- +++", []),
        ("Two words", ["two", "words"]),
        ("C++, F# and c++11", ["c++", "f#", "and", "c", "11"]),
        ("foo-bar snake_case a.b/c", ["foo", "bar", "snake", "case", "a", "b", "c"]),
        ("it ends+ here#", ["it", "ends", "here"]),
        ("ﬁle STRASSE straße", ["file", "strasse", "strasse"]),
        ("数据 and データ", ["数", "据", "and", "デ", "ー", "タ"]),
        ("\ud800x", ["x"]),
    ],
)
def test_a_text_is_divided_into_words(text: str, words: list[str]) -> None:
    assert words_in(text) == words


@rows(
    ("text", "found_by"),
    [
        ("camelCase", {"camelcase", "camel", "case"}),
        ("HTTPServer2", {"httpserver2", "http", "server2"}),
        ("C++", {"c++", "c"}),
        ("GitHub", {"github", "git", "hub"}),
        ("aBcDeFgHiJkLmNoPq", {"abcdefghijklmnopq"}),
    ],
)
def test_a_name_is_also_found_by_its_parts(text: str, found_by: set[str]) -> None:
    assert set(read_words([(text, 1)]).found_by) == found_by | {stem_of(word) for word in found_by}


def test_a_word_in_several_texts_has_the_largest_weight() -> None:
    assert read_words([("fig", 1), ("fig pear", 4)]).found_by == {"fig": 4, "pear": 4}


def test_a_word_is_found_by_its_stem_and_stands_by_it_in_the_order_of_a_text() -> None:
    words = read_words([("lost updates", 2)])
    assert words.found_by == {"lost": 2, "updates": 2, "updat": 2}
    assert words.sequence == ("lost", "updat", "")


def test_a_text_is_found_by_so_many_words_and_no_more() -> None:
    words = read_words([(" ".join(f"w{number}" for number in range(MOST_WORDS + 7)), 1)])
    assert len(words.found_by) == MOST_WORDS
    assert f"w{MOST_WORDS}" not in words.found_by
    assert max(map(len, words.sequence)) <= len(f"w{MOST_WORDS}")


def test_of_a_long_word_the_beginning_counts_on_both_sides() -> None:
    long = "x" * (LONGEST_WORD + 50)
    assert read_words([(long, 1)]).found_by == {"x" * LONGEST_WORD: 1}
    assert read_query(long).words == ("x" * LONGEST_WORD,)


def word(text: str) -> Term:
    return Term(words=(text,))


def beginning(text: str) -> Term:
    return Term(words=(text,), is_prefix=True)


A, B, C, D = map(word, "abcd")


@rows(
    ("text", "expression"),
    [
        ("+++", None),
        ("AND OR NOT ( )", None),
        ("Lost update", AllOf((word("lost"), word("update")))),
        ('"lost update" now', AllOf((Term(words=("lost", "update")), word("now")))),
        ('"open', word("open")),
        ("foo-bar", Term(words=("foo", "bar"))),
        ("a a A", A),
        ("a AND b", AllOf((A, B))),
        ("a and b", AllOf((A, word("and"), B))),
        ("a OR b", AnyOf((A, B))),
        ("a b OR c", AnyOf((AllOf((A, B)), C))),
        ("a OR b AND c", AnyOf((A, AllOf((B, C))))),
        ("a NOT b", AllOf((A, Without(B)))),
        ("a AND NOT b", AllOf((A, Without(B)))),
        ("a NOT b c", AllOf((A, Without(AllOf((B, C)))))),
        ("NOT a", Without(A)),
        ("(a OR b) c", AllOf((AnyOf((A, B)), C))),
        ("a (b", AllOf((A, B))),
        ("a) b", AllOf((A, B))),
        ("a OR", A),
        ("OR a", A),
        ("a OR a", A),
        ("sanit*", beginning("sanit")),
        ('"lost up"*', Term(words=("lost", "up"), is_prefix=True)),
        ("*", None),
        ("a*b", Term(words=("a", "b"))),
        ("(" * 100 + "a OR b" + ")" * 100, AnyOf((A, B))),
    ],
)
def test_a_query_is_read_by_precedence(text: str, expression: Expression | None) -> None:
    assert read_query(text) == TextQuery(expression=expression, is_given=True)


@rows("text", [None, "", "  "])
def test_a_query_of_blanks_is_met_by_every_text(text: str | None) -> None:
    assert read_query(text) == EVERYTHING
    assert EVERYTHING.score({}, ()) == 0


@rows(
    ("query", "score"),
    [
        ("injections", 4),
        ("inject input", 5),
        ("xss OR input", 1),
        ("xss OR input OR sql", 4),
        ("sql NOT xss", 4),
        ("sql NOT input", None),
        ('"sql injections"', 8),
        ('"injection sql"', None),
        ("inp*", 1),
        ('"user inp"*', 2),
        ("NOT xss", 0),
    ],
)
def test_a_text_is_weighed_by_what_it_was_found_by(query: str, score: int | None) -> None:
    words = read_words([("SQL injection", 4), ("of user input", 1)])
    assert read_query(query).score(words.found_by, words.sequence) == score


@rows(
    ("word", "stem"),
    [
        ("injections", "inject"),
        ("tokens", "token"),
        ("c++", "c++"),
        ("utf8", "utf8"),
        ("größen", "größen"),
        ("is", "is"),
    ],
)
def test_only_english_words_have_a_stem(word: str, stem: str) -> None:
    assert stem_of(word) == stem


@given(st.from_regex(r"[a-z]{1,12}", fullmatch=True))
def test_every_word_has_the_letters_by_which_its_forms_are_looked_for(word: str) -> None:
    assert beginning_of(word) in word


@given(st.text(max_size=300))
def test_no_query_is_an_error_and_a_text_is_found_by_itself(text: str) -> None:
    assume(not {"AND", "OR", "NOT"} & {*text.translate(_NO_SIGNS).split()})
    query = read_query(text.translate(_NO_SIGNS))
    assert len(query.words) <= MOST_TERMS
    words = read_words([(text, 1)])
    score = query.score(dict(words.found_by), words.sequence)
    assert (score is None) == query.finds_nothing


@given(st.lists(st.sampled_from(["a", "b*", '"', "(", ")", "AND", "OR", "NOT", "c d", "*", "+"]), max_size=40))
def test_no_row_of_operators_is_an_error(pieces: list[str]) -> None:
    query = read_query(" ".join(pieces))
    words = read_words([("a b c d", 1)])
    assert query.score(words.found_by, words.sequence) is None or not query.finds_nothing


def test_a_query_is_read_up_to_its_limit() -> None:
    assert read_query("x" * LONGEST_QUERY + " beyond").words == ("x" * LONGEST_WORD,)
    assert len(read_query(" ".join(f"w{number}" for number in range(100))).words) == MOST_TERMS
