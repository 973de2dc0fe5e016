"""The check of wording: which places in prose, messages and names it takes for hard to read, and which not."""

from pathlib import Path

from deploy.wording.counting import places_in, rate
from deploy.wording.rules import sentences, without_markup
from tests.support.tables import rows


def problems_in(folder: Path, name: str, text: str) -> list[tuple[int, str, str]]:
    """The line, the kind of text and the kind of problem of each place."""
    file = folder / name
    file.write_text(text, "utf-8")
    return [(place.line, place.kind, place.reason.kind) for place in places_in(file)]


MARKDOWN = """# Nobody

A run goes on.

```sh
nobody  # code is not prose
```

`nobody` is code, [a link](https://nobody) is not an address.

| name | meaning |
|---|---|
| run | it stands in Redis |

<!-- nobody -->
> nobody
"""


def test_markdown_is_read_without_code_comments_and_quotes(tmp_path: Path) -> None:
    assert sorted(problems_in(tmp_path, "page.md", MARKDOWN)) == [
        (1, "heading", "word"),
        (3, "prose", "word"),
        (13, "cell", "word"),
    ]


PYTHON = '''"""What nobody reads."""

# It is told once.
LIMIT = 3  # nosec


def test_of(found, count):
    """Return it.

    Args:
        count: Is over.

        >>> nobody()
    """
    raise ValueError(f"Nobody has {count} of these.", help="beside it")


option(help="Look at it beside the door.", name="nobody is told")
'''


def test_python_is_read_in_docstrings_comments_messages_and_names(tmp_path: Path) -> None:
    assert sorted(problems_in(tmp_path, "module.py", PYTHON)) == [
        (1, "docstring", "clause for a noun"),
        (1, "docstring", "word"),
        (3, "comment", "word"),
        (7, "name", "vague name"),
        (11, "docstring", "word"),
        (15, "message", "word"),
        (18, "message", "word"),
    ]


def test_a_name_of_a_test_has_a_limit_and_a_line_can_be_left_out(tmp_path: Path) -> None:
    name = f"test_{'x' * 80}"
    assert problems_in(tmp_path, "a.py", f"def {name}() -> None: ...\n") == [(1, "test", "long test name")]
    assert problems_in(tmp_path, "b.py", f"def {name}() -> None: ...  # plain: ignore\n") == []


LONG = f"A run {'and a run ' * 12}ends."
TWO = "A run of a workflow ends; then its output is stored; then the planner of the run is notified."


@rows(
    ("text", "problems"),
    [
        (LONG, ["long sentence"]),
        (TWO, ["semicolons"]),
        ("Whoever starts a run pays.", ["clause for a noun", "word"]),
        ("Who is asked?", []),
        ("There is nobody there.", ["word"]),
        ("Look for one who may.", ["word", "word"]),
        ("A run ends. It has an output.", []),
        ("It gives back what it holds in hand.", ["word", "word"]),
    ],
)
def test_problems_of_a_sentence(tmp_path: Path, text: str, problems: list[str]) -> None:
    assert [problem for _, _, problem in problems_in(tmp_path, "page.md", text)] == problems


def test_sentences_end_before_a_capital_and_not_after_an_abbreviation() -> None:
    text = "See e.g. Redis. It stores runs (cf. Lua.). Then 3 follow"
    assert list(sentences(text)) == ["See e.g. Redis.", "It stores runs (cf. Lua.).", "Then 3 follow"]


def test_code_counts_as_one_word() -> None:
    assert without_markup("Call `a b c` and `d`, [the page](x.md) **now**.") == "Call CODE and CODE, the page now."


def test_the_rate_counts_places_by_lines(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("nobody\n" + "\n" * 499, "utf-8")
    assert rate(tmp_path) == 2
