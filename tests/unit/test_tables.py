"""A table is one test, whose failures name their rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.tables import rows


class Named:
    """The `subtests` of a test, which records the failures."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    @contextmanager
    def test(self, name: str) -> Iterator[None]:
        with pytest.raises((Exception, pytest.fail.Exception)):
            yield
        self.failed.append(name)


def test_every_row_runs_and_each_failure_names_its_row() -> None:
    seen: list[int] = []

    @rows("number, word", [(1, "a"), pytest.param(2, "b", id="second"), (3, "c")])
    def table(number: int, word: str) -> None:
        seen.append(number)
        assert number == 1, word

    named: Any = Named()
    table(subtests=named)
    assert seen == [1, 2, 3]
    assert named.failed == ["second", "3, 'c'"]


@pytest.mark.anyio
async def test_rows_of_an_asynchronous_test_are_awaited() -> None:
    @rows("number", [1, 2], ids=["one", "two"])
    async def table(number: int) -> None:
        assert number == 1

    named: Any = Named()
    await table(subtests=named)
    assert named.failed == ["two"]


def test_two_tables_make_every_pair_of_their_rows() -> None:
    pairs: list[tuple[int, str]] = []

    @rows("number", [1, 2])
    @rows("word", ["a", "b"])
    def table(number: int, word: str) -> None:
        pairs.append((number, word))

    table(subtests=Named())
    assert pairs == [(1, "a"), (1, "b"), (2, "a"), (2, "b")]


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(AssertionError, match="tests nothing"):
        rows("number", [])
