"""A text index: what it finds, in which order, in how many packets, and that nothing of an entry stays behind."""

import base64
import random
import uuid
from collections.abc import Iterator

import pytest

from dcf.core.text.entries import FacetFilter, Hit, SearchPage, TextEntry, TextSearch
from dcf.core.text.query import read_query
from dcf.core.text.tokens import Words, read_words
from dcf.errors import InvalidArgument
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.text_index import index as text_index
from dcf.store.text_index.index import Differs, Full, Stored, TextIndex
from dcf.values.records import replace
from tests.support.redis.counting import CountingPool
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows

SECOND = 1_000_000
NOW = 1_700_000_000 * SECOND
WORDS = ("apple", "pear", "plum", "fig", "quince")


@pytest.fixture
def name() -> str:
    return f"i{uuid.uuid4().hex[:8]}"


@pytest.fixture
def index(connections: Connections, name: str) -> TextIndex:
    return TextIndex(connections, name, most=10_000)


def entry(number: int, title: str, text: str = "", **facets: str | tuple[str, ...]) -> TextEntry:
    """The later of two entries has the larger number."""
    return TextEntry(
        entry_id=f"e{number:05}",
        at=NOW + number * SECOND,
        document={"n": number},
        words=read_words([(title, 4), (text, 1)]),
        facets={name: (value,) if isinstance(value, str) else value for name, value in facets.items()},
    )


def numbers(page: SearchPage[Hit]) -> list[int]:
    return [hit.document["n"] for hit in page.hits]


def found(index: TextIndex, text: str, *filters: FacetFilter, limit: int = 100) -> list[int]:
    return numbers(index.search(TextSearch(limit=limit, query=read_query(text), filters=filters)))


def pages(index: TextIndex, search: TextSearch) -> Iterator[SearchPage[Hit]]:
    cursor = None
    while True:
        page = index.search(
            TextSearch(limit=search.limit, query=search.query, filters=search.filters, cursor=cursor, offset=0)
        )
        yield page
        if page.next_cursor is None:
            return
        cursor = page.next_cursor


def test_an_entry_is_found_by_each_of_its_words_and_by_all_together(index: TextIndex) -> None:
    index.put(entry(1, "Lost update", "two writers"))
    index.put(entry(2, "Lost lease", "one writer"))
    assert found(index, "lost") == [2, 1]
    assert found(index, "LOST writers") == [2, 1]
    assert found(index, "LOST two") == [1]
    assert found(index, "lost nothing") == []


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("we use C++ here", "c++"),
        ("we use C++ here", "C"),
        ("the foo-bar module", "foo-bar"),
        ("the foo-bar module", "bar"),
        ("call snake_case()", "snake_case"),
        ("call camelCase()", "camel"),
        ("call camelCase()", "CAMELCASE"),
        ("see shop/store/text_index.py:12", "text_index.py"),
        ("die Straße", "STRASSE"),
        ("数据库很慢", "数据"),
        ('a said "hello world" twice', '"hello world"'),
    ],
)
def test_a_name_is_found_as_people_write_it(index: TextIndex, text: str, query: str) -> None:
    index.put(entry(1, text))
    assert found(index, query) == [1]


@rows("query", ["c++", "foo-bar", '"', '"open', "AND OR NOT", "a:b", "(", "*", "{}[]|~", "' OR 1=1 --", "%"])
def test_search_raises_on_c_plus_plus(index: TextIndex, query: str) -> None:
    """No query is an error, whatever signs are in it."""
    index.put(entry(1, "nothing of this kind"))
    assert found(index, query) == []


@rows(
    ("query", "numbers_found"),
    [
        ("injections", [2, 1]),
        ("INJECT", [2, 1]),
        ("sanit*", [3, 1]),
        ("sanitiz*", [3]),
        ("sql OR xss", [3, 1]),
        ("injection NOT sql", [2]),
        ("NOT sql", [3, 2]),
        ('"user inputs"', [1]),
        ('"user inp"*', [1]),
        ("(sql OR ldap) AND injection", [2, 1]),
        ("sql OR ldap AND query", [2, 1]),
        ("not xss", []),
        ("sql AND", [1]),
        ("OR sql )", [1]),
        ("zzz*", []),
    ],
)
def test_words_are_found_in_every_form_and_joined_by_operators(
    index: TextIndex, query: str, numbers_found: list[int]
) -> None:
    index.put(entry(1, "SQL injection", "User input is not sanitary."), replaces="any")
    index.put(entry(2, "Injected LDAP", "The query is built of names."), replaces="any")
    index.put(entry(3, "XSS", "Output must be sanitized."), replaces="any")
    got = found(index, query)
    assert sorted(got, reverse=True) == numbers_found


def test_what_an_older_version_stored_is_found_as_it_was(index: TextIndex) -> None:
    """Its words are not by their stems, and neither is their order."""
    old = Words(sequence=("", "lost", "updates", ""), found_by={"lost": 1, "updates": 1})
    index.put(replace(entry(1, ""), words=old))
    for query in ("updates", "lost updates", '"lost updates"', "updates OR nothing", "updates NOT nothing"):
        assert found(index, query) == [1], query


def test_a_word_of_which_there_is_no_entry_has_no_beginning(
    index: TextIndex, connections: Connections, name: str
) -> None:
    index.put(entry(1, "sanitized"))
    index.put(entry(2, "sanitary"))
    words = f"cp:idx:text:{{{name}}}:words"
    (stored,) = connections.send(("ZRANGE", words, "0", "-1"))
    assert stored == [b"sanit", b"sanitari", b"sanitary", b"sanitized"]
    index.put(entry(2, "apple"), replaces=1)
    index.remove("e00001")
    (stored,) = connections.send(("ZRANGE", words, "0", "-1"))
    assert stored == [b"appl", b"apple"]
    assert found(index, "sanit*") == []


def test_a_phrase_is_found_as_it_stands_and_not_over_the_end_of_a_text(index: TextIndex) -> None:
    index.put(entry(1, "red apple", "pie"))
    index.put(entry(2, "apple red", "pie"))
    assert found(index, '"red apple"') == [1]
    assert found(index, "red-apple") == [1]
    assert found(index, '"apple pie"') == []


def test_the_best_come_first_and_of_equals_the_newest(index: TextIndex) -> None:
    index.put(entry(1, "apple", "plum"))
    index.put(entry(2, "pear", "apple"))
    index.put(entry(3, "plum", "apple"))
    page = index.search(TextSearch(limit=10, query=read_query("apple")))
    assert [(hit.document["n"], hit.score) for hit in page.hits] == [(1, 4), (3, 1), (2, 1)]


def test_filters_are_joined_by_and_their_values_by_or(index: TextIndex) -> None:
    index.put(entry(1, "apple", project="p", tag=("a", "b")))
    index.put(entry(2, "apple", project="q", tag=("b",)))
    index.put(entry(3, "apple", project="p", tag=("c",)))
    either = FacetFilter(facet="tag", values=("a", "b"), is_disjoint=False)
    assert found(index, "", either) == [2, 1]
    assert found(index, "", either, FacetFilter(facet="project", values=("p",))) == [1]
    assert found(index, "apple", FacetFilter(facet="project", values=("p", "q"))) == [3, 2, 1]
    assert found(index, "", FacetFilter(facet="project", values=())) == []
    assert found(index, "", FacetFilter(facet=None, values=("apple", "pear"))) == [3, 2, 1]


def test_a_changed_entry_is_found_by_what_it_says_now(index: TextIndex) -> None:
    index.put(entry(1, "apple", status="active"))
    changed = entry(1, "pear", status="old")
    assert index.put(changed) == Differs(), "a new entry must be new"
    assert index.put(changed, replaces=7) == Differs()
    assert index.put(changed, replaces=1) is None
    assert found(index, "apple") == []
    assert found(index, "pear", FacetFilter(facet="status", values=("old",))) == [1]
    assert found(index, "", FacetFilter(facet="status", values=("active",))) == []


def test_nothing_of_a_removed_entry_stays_in_redis(index: TextIndex, name: str, beside: Connections) -> None:
    index.put(entry(1, "apple pear", "plum", tag=("a", "b")))
    assert index.remove("e00001")
    assert not index.remove("e00001")
    assert index.get("e00001")[0] is None
    assert beside.send(("KEYS", f"*{name}*"))[0] == []
    assert beside.send(("HGET", "cp:idx:docs", f"cp:idx:text:{{{name}}}:entry:e00001"))[0] is None


def test_a_full_index_takes_changes_and_nothing_new(connections: Connections, name: str) -> None:
    index = TextIndex(connections, name, most=1)
    assert index.put(entry(1, "apple")) is None
    assert index.put(entry(2, "pear")) == Full(most=1)
    assert index.put(entry(1, "plum"), replaces=1) is None
    assert found(index, "pear") == []


def test_an_entry_whose_time_is_over_goes_by_itself(connections: Connections, name: str, beside: Connections) -> None:
    index = TextIndex(connections, name, most=10, expires=True)
    now = index.now()
    for number, until in ((1, now - SECOND), (2, now + 3600 * SECOND)):
        short = entry(number, "apple")
        index.put(TextEntry(entry_id=short.entry_id, at=now, document=short.document, words=short.words, until=until))
    assert found(index, "apple") == [2]
    assert index.get("e00001")[0] is None
    assert len(beside.send(("KEYS", f"cp:idx:text:{{{name}}}:entry:*"))[0]) == 1


def test_offset_without_limit(index: TextIndex) -> None:
    """An offset works alone, also beyond the end."""
    for number in range(10):
        index.put(entry(number, "apple"))
    for text in ("", "apple"):
        text_query = read_query(text)
        assert numbers(index.search(TextSearch(limit=4, offset=3, query=text_query))) == [6, 5, 4, 3]
        assert numbers(index.search(TextSearch(limit=4, offset=8, query=text_query))) == [1, 0]
        assert numbers(index.search(TextSearch(limit=4, offset=80, query=text_query))) == []


def test_an_offset_goes_beyond_a_block_of_candidates(index: TextIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "BLOCK", 3)
    for number in range(20):
        index.put(entry(number, "apple", kind="even" if number % 2 == 0 else "odd", all="x"))
    even = (FacetFilter(facet="kind", values=("even",)), FacetFilter(facet="all", values=("x",)))
    assert numbers(index.search(TextSearch(limit=3, offset=5, filters=even))) == [8, 6, 4]


_PLAIN = ("", "apple", "apple pear", '"apple pear"', "plum apple pear", '"', "apples AND pears", "p*", '"apple pe"*')
_BOOLEAN = (
    *("apple OR pear", "apple NOT pear", "NOT fig", "(apple OR pear) plum", "apple OR (pear NOT plum)", "fi* OR plums"),
    *(
        '"apple pear" OR fig',
        "(apple AND pear) OR (plum NOT fig)",
        'quince NOT ("plum fig" OR pear)',
        "NOT (fig OR p*)",
    ),
)


@pytest.mark.parametrize("block", [3, 7, 1000])
@pytest.mark.parametrize("seed", range(6))
def test_pages_show_each_entry_once_whatever_the_size_of_a_block(
    index: TextIndex, monkeypatch: pytest.MonkeyPatch, block: int, seed: int
) -> None:
    """An index finds the entries that `TextQuery.score` accepts."""
    monkeypatch.setattr(text_index, "BLOCK", block)
    chance = random.Random(seed)
    entries = [_drawn(chance, number) for number in range(60)]
    for entry in entries:
        index.put(entry)
    for text in (*_PLAIN, *_BOOLEAN):
        for filters in ((), (FacetFilter(facet="tag", values=("a", "b"), is_disjoint=False),)):
            search = TextSearch(limit=chance.choice([1, 4, 50]), query=read_query(text), filters=filters)
            _compare(list(pages(index, search)), search, entries, whole=block >= len(entries))


def _drawn(chance: random.Random, number: int) -> TextEntry:
    title, text = (" ".join(chance.choices(WORDS, k=chance.randint(0, 4))) for _ in range(2))
    return entry(number // 2 * 2 + number % 2, title, text, tag=tuple(chance.sample("abc", chance.randint(0, 2))))


def _compare(got: list[SearchPage[Hit]], search: TextSearch, entries: list[TextEntry], *, whole: bool) -> None:
    scored = {
        entry.document["n"]: search.query.score(dict(entry.words.found_by), entry.words.sequence) for entry in entries
    }
    expected = [
        (score, entry.document["n"])
        for entry in entries
        if (score := scored[entry.document["n"]]) is not None
        and all(set(entry.facets.get(f.facet or "", ())) & set(f.values) for f in search.filters)
    ]
    shown = [(hit.score, int(hit.document["n"])) for page in got for hit in page.hits]
    assert sorted(shown) == sorted(expected)
    if whole or not search.query.words or (len(search.query.words) == 1 and not search.filters):
        assert shown == sorted(expected, reverse=True)
    totals = {(page.total, page.exact) for page in got}
    assert len(totals) == 1
    ((total, exact),) = totals
    assert total == len(expected) if exact else total <= len(expected)
    assert exact or not whole


def test_a_cursor_belongs_to_its_search(index: TextIndex) -> None:
    for number in range(5):
        index.put(entry(number, "apple"))
    cursor = index.search(TextSearch(limit=2, query=read_query("apple"))).next_cursor
    with pytest.raises(InvalidArgument, match="other arguments"):
        index.search(TextSearch(limit=2, query=read_query("pear"), cursor=cursor))
    for wrong in ("x", "", "a b", "ÿ", (cursor or "")[:40], "A" * 1000):
        with pytest.raises(InvalidArgument):
            index.search(TextSearch(limit=2, query=read_query("apple"), cursor=wrong))


@rows(("place", "word"), [(1, "many"), (1, "-1"), (2, "x"), (3, "x"), (4, "x"), (7, ""), (10, "")])
def test_a_cursor_that_was_changed_is_not_one_of_its_search(index: TextIndex, place: int, word: str) -> None:
    for number in range(5):
        index.put(entry(number, "apple"))
    cursor = index.search(TextSearch(limit=2, query=read_query("apple"))).next_cursor or ""
    parts = base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode().split(" ")
    parts[place] = word
    changed = base64.urlsafe_b64encode(" ".join(parts).encode()).decode().rstrip("=")
    with pytest.raises(InvalidArgument, match="not one that an answer"):
        index.search(TextSearch(limit=2, query=read_query("apple"), cursor=changed))


def test_entries_of_the_same_moment_are_paged_too(index: TextIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_index, "BLOCK", 4)
    for number in range(20):
        item = entry(number, "apple", tag="a", other="b")
        index.put(
            TextEntry(entry_id=item.entry_id, at=NOW, document=item.document, words=item.words, facets=item.facets)
        )
    filters = (FacetFilter(facet="tag", values=("a",)), FacetFilter(facet="other", values=("b",)))
    for text in ("", "apple"):
        search = TextSearch(limit=3, query=read_query(text), filters=filters)
        assert [n for page in pages(index, search) for n in numbers(page)] == list(range(19, -1, -1))


def at_one_time(entry_id: str, number: int, *, at: int = NOW) -> TextEntry:
    """Return an entry with the same time as all others, and an id without its number."""
    return replace(entry(number, "apple", "pear", tag=("a", "b"), other="x"), entry_id=entry_id, at=at)


def orders(index: TextIndex) -> set[tuple[int, ...]]:
    """Return the orders in which all ways to search show the entries of `at_one_time`."""
    by_tags = FacetFilter(facet="tag", values=("a", "b"), is_disjoint=False)
    filters = ((), (by_tags,), (by_tags, FacetFilter(facet="other", values=("x",))))
    texts = ("", "apple", "pear", "apple pear", '"apple"')
    searches = [TextSearch(limit=2, query=read_query(text), filters=some) for text in texts for some in filters]
    return {tuple(n for page in pages(index, search) for n in numbers(page)) for search in searches}


def test_entries_of_one_millisecond_are_shown_newest_first(index: TextIndex) -> None:
    for number, entry_id in enumerate("czmab"):
        index.put(at_one_time(entry_id, number))
    assert orders(index) == {(4, 3, 2, 1, 0)}


def test_an_entry_that_is_put_later_comes_first_although_the_clock_went_back(index: TextIndex) -> None:
    for number, entry_id in enumerate("czmab"):
        index.put(at_one_time(entry_id, number, at=NOW - number * SECOND))
    assert orders(index) == {(4, 3, 2, 1, 0)}


def test_a_changed_entry_keeps_its_position_while_its_time_stays(index: TextIndex) -> None:
    for number, entry_id in enumerate("czmab"):
        index.put(at_one_time(entry_id, number))
    index.put(replace(at_one_time("z", 1), revision=2), replaces=1)
    assert orders(index) == {(4, 3, 2, 1, 0)}
    index.put(replace(at_one_time("z", 1, at=NOW + 1), revision=3), replaces=2)
    assert orders(index) == {(1, 4, 3, 2, 0)}


def test_entries_of_an_earlier_release_stay_before_new_ones(index: TextIndex, name: str, beside: Connections) -> None:
    """Earlier releases wrote no time into the entry, and several entries had the same position."""
    for number, entry_id in enumerate("ba"):
        index.put(at_one_time(entry_id, number))
    for list_, weight in (("all", 0), ("w:apple", 4), ("w:pear", 1), ("f:tag:a", 0), ("f:tag:b", 0), ("f:other:x", 0)):
        key, score = f"cp:idx:text:{{{name}}}:{list_}", weight * 2**42 + NOW // 1000
        beside.send(("ZADD", key, "XX", score, "a", score, "b"))
    for entry_id in "ab":
        beside.send(("HDEL", f"cp:idx:text:{{{name}}}:entry:{entry_id}", "at"))
    index.put(replace(at_one_time("a", 1), revision=2), replaces=1)
    assert orders(index) == {(0, 1)}, "an entry of an earlier release keeps its position too"
    index.put(at_one_time("0", 2))
    index.put(at_one_time("z", 3))
    assert orders(index) == {(3, 2, 0, 1)}


@pytest.mark.parametrize("text", ["", "apple", "apple pear"])
def test_entries_that_come_between_two_pages_hide_none_and_repeat_none(
    index: TextIndex, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr(text_index, "BLOCK", 3)
    both = FacetFilter(facet="tag", values=("a", "b"))
    for number in range(10):
        index.put(entry(number, "apple pear", tag="ab"[number % 2]))
    going = pages(index, TextSearch(limit=2, query=read_query(text), filters=(both,)))
    shown = numbers(next(going))
    for number in range(10, 40):
        index.put(entry(number, "apple pear", tag="a"))
    assert shown + [n for page in going for n in numbers(page)] == list(range(9, -1, -1))


def test_an_entry_is_read_with_its_revision(index: TextIndex) -> None:
    index.put(entry(1, "apple"))
    assert index.get("e00001")[0] == Stored(revision=1, document={"n": 1})


@rows("size", [30, 300])
def test_a_page_of_a_search_is_one_packet_however_many_entries_there_are(
    server: RestrictedRedis, name: str, size: int
) -> None:
    with_pool = CountingPool(open_pool(server.url))
    index = TextIndex(Connections(with_pool), name, most=1000)
    for number in range(size):
        index.put(entry(number, "apple pear", tag="a"))
    for text in ("", "apple", '"apple pear"'):
        search = TextSearch(limit=20, query=read_query(text), filters=(FacetFilter(facet="tag", values=("a",)),))
        first = index.search(search)
        with with_pool.counted() as packets:
            index.search(search)
            index.search(TextSearch(limit=20, query=search.query, filters=search.filters, cursor=first.next_cursor))
        assert [len(packet) for packet in packets] == [1, 1]
    with_pool.disconnect()
