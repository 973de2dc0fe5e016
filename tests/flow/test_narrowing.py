"""A test of a field or key narrows it, until its name gets another value."""

import textwrap
from pathlib import Path
from typing import Any

import pytest

from dcf import testing
from dcf.flow.refusals import InvalidFlow
from tests.flow.agreement import load
from tests.support.tables import rows

PRELUDE = """
from dataclasses import dataclass
from typing import NotRequired, TypedDict
from dcf import flow, task

@dataclass
class Page:
    words: int
    title: str | None = None

class Row(TypedDict):
    n: int | None
    note: NotRequired[str]

@task
def page(title: str | None) -> Page:
    return Page(1, title)

@flow
def main(row: Row, rows: list[Row], title: str | None = None) -> object:
    p = page(title)
"""
ROWS = [{"n": None}, {"n": 4, "note": "x"}, {"n": 5}]


def flow_of(body: str, folder: Path) -> Any:
    path = folder / f"narrowed_{abs(hash(body))}.py"
    path.write_text(PRELUDE + textwrap.indent(body, "    ") + "\n", "utf-8")
    return load(path).main


@rows(
    ("body", "output"),
    [
        ("if p.title is not None:\n    return p.title.upper()\nreturn 0", "AB"),
        ("if p.title is None:\n    return 0\nreturn p.title.upper()", "AB"),
        ("if p.title:\n    return p.title + 'c'\nreturn 0", "abc"),
        ("if p.title == 'ab':\n    return p.title.upper()\nreturn 0", "AB"),
        ("if row['n'] is not None and row['n'] > 3:\n    return row['n'] + 1\nreturn 0", 5),
        ("if not (row['n'] is None or row['n'] < 3):\n    return row['n'] + 1\nreturn 0", 5),
        ("return p.title.upper() if p.title is not None else ''", "AB"),
        ("return [r['n'] + 1 for r in rows if r['n'] is not None]", [5, 6]),
        ("return [r['n'] + 1 for r in rows if r['n'] is not None if r['n'] > 4]", [6]),
        ("return {str(r['n']): r['n'] + 1 for r in rows if r['n']}", {"4": 5, "5": 6}),
        ("if 'note' in row:\n    return row['note'] + '!'\nreturn 0", "x!"),
        ("if 'note' not in row:\n    return 0\nreturn row['note'].upper()", "X"),
        ("if rows[1]['n'] is not None:\n    return rows[1]['n'] + 1\nreturn 0", 5),
        ("c = 0\nwhile row['n'] is not None and c < 2:\n    c += row['n']\nreturn c", 4),
    ],
)
def test_a_tested_part_is_known(tmp_path: Path, body: str, output: Any) -> None:
    run_input = {"row": {"n": 4, "note": "x"}, "rows": ROWS, "title": "ab"}
    assert testing.run(flow_of(body, tmp_path), run_input).output == output


@rows(
    "body",
    [
        "if p.title is not None:\n    p = page(None)\n    return p.title.upper()\nreturn 0",
        "if p.title is None:\n    return p.title.upper()\nreturn 0",
        "if p.title is not None or title:\n    return p.title.upper()\nreturn 0",
        "if p.title is not None:\n    page('a')\nreturn p.title.upper()",
        "if p.title is not None:\n    for c in range(2):\n        x = p.title.upper()\n        p = page(x)\nreturn 0",
        "return [p.title.upper() for p in [p] if title] if p.title is not None else 0",
        "if row['n'] is not None:\n    row = rows[0]\n    return row['n'] + 1\nreturn 0",
    ],
)
def test_a_part_of_another_value_is_not_known(tmp_path: Path, body: str) -> None:
    with pytest.raises(InvalidFlow, match="None"):
        testing.run(flow_of(body, tmp_path), {"row": {"n": 4}, "rows": ROWS})
