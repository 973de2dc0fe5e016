"""The query language and the words of texts: what is a word, what a query wants, and that none is an error."""

from hypothesis import given
from hypothesis import strategies as st

from dcf.core.text.query import EVERYTHING, LONGEST_QUERY, MOST_TERMS, TextQuery, read_query
from dcf.core.text.tokens import LONGEST_WORD, MOST_WORDS, read_words, words_in
from tests.support.tables import rows


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
    assert set(read_words([(text, 1)]).found_by) == found_by


def test_a_word_in_several_texts_has_the_largest_weight() -> None:
    assert read_words([("apple", 1), ("apple pear", 4)]).found_by == {"apple": 4, "pear": 4}


def test_a_text_is_found_by_so_many_words_and_no_more() -> None:
    words = read_words([(" ".join(f"w{number}" for number in range(MOST_WORDS + 7)), 1)])
    assert len(words.found_by) == MOST_WORDS
    assert f"w{MOST_WORDS}" not in words.found_by
    assert max(map(len, words.sequence)) <= len(f"w{MOST_WORDS}")


def test_of_a_long_word_the_beginning_counts_on_both_sides() -> None:
    long = "x" * (LONGEST_WORD + 50)
    assert read_words([(long, 1)]).found_by == {"x" * LONGEST_WORD: 1}
    assert read_query(long).words == ("x" * LONGEST_WORD,)


@rows(
    ("text", "query"),
    [
        (None, EVERYTHING),
        ("", EVERYTHING),
        ("  ", EVERYTHING),
        ("+++", TextQuery(is_given=True)),
        ("Lost update", TextQuery(words=("lost", "update"), is_given=True)),
        ('"lost update" now', TextQuery(words=("lost", "update", "now"), phrases=(("lost", "update"),), is_given=True)),
        ('"open', TextQuery(words=("open",), is_given=True)),
        ("foo-bar", TextQuery(words=("foo", "bar"), phrases=(("foo", "bar"),), is_given=True)),
        ("a a A", TextQuery(words=("a",), is_given=True)),
        ("x AND NOT y", TextQuery(words=("x", "and", "not", "y"), is_given=True)),
    ],
)
def test_a_query_wants_words_and_phrases(text: str | None, query: TextQuery) -> None:
    assert read_query(text) == query


@given(st.text(max_size=300))
def test_no_query_is_an_error_and_a_text_is_found_by_itself(text: str) -> None:
    query = read_query(text)
    assert len(query.words) <= MOST_TERMS
    words = read_words([(text, 1)])
    found = query.score(dict(words.found_by), words.sequence)
    assert (found is None) == query.finds_nothing


def test_a_query_is_read_up_to_its_limit() -> None:
    assert read_query("x" * LONGEST_QUERY + " beyond").words == ("x" * LONGEST_WORD,)
    assert len(read_query(" ".join(f"w{number}" for number in range(100))).words) == MOST_TERMS
