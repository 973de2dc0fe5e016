"""Turns a table into one test: each row is a subtest, so a failure names its row and the other rows still run.

Use `pytest.mark.parametrize` only where a row needs fixtures of its own.
"""

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import pytest

_Test = Callable[..., None]


def rows(names: str, table: Iterable[Any], *, ids: Iterable[str] | None = None) -> Callable[[_Test], _Test]:
    """Run a test once for each row of a table, within one test.

    Args:
        names: The test's arguments that a row fills, separated by commas, as in `pytest.mark.parametrize`.
        table: A tuple for each row, or the plain value where there is one name. A `pytest.param` may name its row.
        ids: The name of each row. Without it, a row is named by its values.
    """
    arguments = [name.strip() for name in names.split(",")]
    labels = list(ids) if ids is not None else None
    entries = [_entry(row, single=len(arguments) == 1) for row in table]
    assert entries, "a table without rows tests nothing"
    assert labels is None or len(labels) == len(entries), "each row needs one id"

    def decorate(test: _Test) -> _Test:
        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        needs_own = "subtests" not in signature.parameters
        added = [inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)] if needs_own else []

        @wraps(test)
        def run_rows(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
            shared = fixtures if needs_own else fixtures | {"subtests": subtests}
            for number, (label, values) in enumerate(entries):
                try:
                    test(**shared, **dict(zip(arguments, values, strict=True)))
                except (Exception, pytest.fail.Exception) as failure:
                    name = labels[number] if labels is not None else label
                    with subtests.test(name or ", ".join(map(_shown, values))):
                        raise failure  # noqa: TRY201 - a subtest is entered on failure only: it costs a millisecond

        run_rows.__signature__ = signature.replace(parameters=[*kept, *added])  # type: ignore[attr-defined]
        return run_rows

    return decorate


def _entry(row: Any, *, single: bool) -> tuple[str | None, tuple[Any, ...]]:
    """Return the id of a row, where it has one, and its values."""
    if isinstance(row, tuple) and hasattr(row, "marks"):  # what `pytest.param` returns
        assert not row.marks, "a row has no marks: write a test of its own"
        return row.id, tuple(row.values)  # type: ignore[attr-defined]
    return None, (row,) if single else tuple(row)


def _shown(value: Any) -> str:
    text = getattr(value, "__name__", None) or repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
