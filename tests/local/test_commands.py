"""Patterns of commands that may run on an agent's machine."""

from pathlib import Path

import pytest

from dcf.errors import InvalidArgument
from dcf.local.commands import allowed_by, words_of
from tests.support.tables import rows


@rows(
    "pattern, command, may",
    [
        ("pytest", "pytest", True),
        ("pytest", "pytest -q", False),
        ("pytest *", "pytest", True),
        ("pytest *", "pytest -q tests/x.py", True),
        ("pytest *", "pytest-x -q", False),
        ("pytest * --safe", "pytest -q --safe", True),
        ("pytest * --safe", "pytest -q --safe; rm", False),
        ("npm run test:*", "npm run test:unit", True),
        ("npm run test:*", "npm run deploy", False),
        ("echo 'a b'", "echo a\\ b", True),
        ("echo 'a b'", "echo a b", False),
        ("*", "rm -rf /", False),
    ],
)
def test_a_pattern_covers_every_word_of_a_command(pattern: str, command: str, *, may: bool) -> None:
    assert allowed_by([pattern], None).covers(words_of(command)) is may


def test_a_file_has_a_pattern_on_each_line(tmp_path: Path) -> None:
    (tmp_path / "allowed").write_text("# what may run\npytest *\n\n./check.sh\n")
    assert allowed_by(["true"], tmp_path / "allowed").patterns == (("true",), ("pytest", "*"), ("./check.sh",))
    with pytest.raises(InvalidArgument, match="cannot be read"):
        allowed_by([], tmp_path / "missing")
