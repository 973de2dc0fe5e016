"""Turns a table into one test: each row is a subtest, so a failure names its row and the other rows still run.

Use `pytest.mark.parametrize` only where a row needs fixtures of its own.
"""

import inspect
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from itertools import product
from typing import Any

import pytest

_Test = Callable[..., Any]


@dataclass(frozen=True)
class _Row:
    label: str
    values: Mapping[str, Any]


@dataclass(frozen=True)
class _Table:
    test: _Test
    rows: tuple[_Row, ...]


def rows(
    names: str | Sequence[str], table: Iterable[Any], *, ids: Callable[[Any], str | None] | Iterable[str] | None = None
) -> Callable[[_Test], _Test]:
    """Run a test once for each row of a table, within one test. Two tables on a test make each pair of their rows.

    Args:
        names: The test's arguments that a row fills, as in `pytest.mark.parametrize`.
        table: A tuple for each row, or the plain value where there is one name. A `pytest.param` may name its row.
        ids: The name of each row, or what makes it from a value. Without it, a row is named by its values.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    made = [_row(arguments, row, ids if callable(ids) else _shown) for row in table]
    if ids is not None and not callable(ids):
        made = [_Row(label, row.values) for label, row in zip(ids, made, strict=True)]
    assert made, "a table without rows tests nothing"

    def decorate(test: _Test) -> _Test:
        below = getattr(test, "table", _Table(test, (_Row("", {}),)))
        pairs = [
            _Row(", ".join(filter(None, (outer.label, inner.label))), {**outer.values, **inner.values})
            for outer, inner in product(made, below.rows)
        ]
        return _one_test(_Table(below.test, tuple(pairs)))

    return decorate


def _one_test(table: _Table) -> _Test:
    @wraps(table.test)
    def run_rows(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
        for row in table.rows:
            with _named(row, subtests):
                table.test(**fixtures, **row.values)

    @wraps(table.test)
    async def await_rows(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
        for row in table.rows:
            with _named(row, subtests):
                await table.test(**fixtures, **row.values)

    signature = inspect.signature(table.test)
    fixtures = [parameter for name, parameter in signature.parameters.items() if name not in table.rows[0].values]
    subtests = inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)
    test = await_rows if inspect.iscoroutinefunction(table.test) else run_rows
    vars(test).update(__signature__=signature.replace(parameters=[*fixtures, subtests]), table=table)
    return test


@contextmanager
def _named(row: _Row, subtests: pytest.Subtests) -> Iterator[None]:
    """Report a failure as that of a subtest. Entering one for a passing row would take a millisecond."""
    try:
        yield
    except (Exception, pytest.fail.Exception, pytest.skip.Exception) as failure:
        with subtests.test(row.label):
            raise failure  # noqa: TRY201 - raised within the subtest, which reports it


def _row(arguments: Sequence[str], row: Any, name_of: Callable[[Any], str | None]) -> _Row:
    label, values = None, (row,) if len(arguments) == 1 else tuple(row)
    if hasattr(row, "marks"):  # what `pytest.param` returns
        assert not row.marks, "a row has no marks: write a test of its own"
        label, values = row.id, tuple(row.values)
    label = label or ", ".join(str(name_of(value) or _shown(value)) for value in values)
    return _Row(label, dict(zip(arguments, values, strict=True)))


def _shown(value: Any) -> str:
    try:
        return str(getattr(value, "__name__", None) or reprlib.repr(value))
    except ValueError:  # an integer of more digits than Python writes
        return type(value).__name__
