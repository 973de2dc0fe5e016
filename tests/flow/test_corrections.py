"""A scripted model writes flows: right, misspelt, with what no flow has. It gets the text of the error, and no more."""

import textwrap
from pathlib import Path
from typing import Any, Final

import pytest

from dcf import testing
from tests.flow.agreement import load
from tests.flow.scripted_author import GaveUp, correct
from tests.support.command_line import call

MOST_ROUNDS: Final = 4
URLS: Final = ["ab", "cde"]
HEAD: Final = """from dataclasses import dataclass
from typing import Any

from dcf import Rejected, agent, each, flow, human, parallel, task


@dataclass
class Page:
    url: str
    words: int


@task
def fetch(url: str) -> Page:
    return Page(url, len(url))


@flow
def digest(urls: list[str]) -> Any:
"""

RIGHT: Final = [
    ("pages = [fetch(url) for url in urls]\nreturn sum(page.words for page in pages)", 5),
    ("total = 0\nfor url in urls:\n    page = fetch(url)\n    total += page.words\nreturn total", 5),
    ("first, last = parallel(fetch(urls[0]), fetch(urls[1]))\nreturn [first.words, last.words]", [2, 3]),
    ("words = urls[:1]\nwords += ['x']\nwords.append(urls[1])\nreturn words", ["ab", "x", "cde"]),
    ("return urls[1].split('d')", ["c", "e"]),
]
MISSPELT: Final = [
    ("pages = [fetch(urll=url) for url in urls]\nreturn len(pages)", 2),
    ("page = fetch(urls[0])\nreturn page.wrods", 2),
    ("pages = [fetch(url) for url in urls]\nreturn len(pagse)", 2),
    ("page = fetsh(urls[0])\nreturn page.words", 2),
    ("answer = human('Publish?', too=['alice'], name='Approve')\nreturn answer.choice", "approve"),
    ("draft = agent('writer', 'Write.', urls, output=Page, name='Write')\nreturn draft.wrds", 7),
    ("return urls[0].uper()", "AB"),
    ("if len(urls) < 2:\n    raise Rejectd('few')\nelse:\n    page = fetch(urls[0])\nreturn page.words", 2),
    ("page = fetch(urll=urls[0])\nsize = page.words\nsizes = [size, len(page.url)]\nreturn sum(sizes)", 4),
]
UNSUPPORTED: Final = [
    ("seen = {'a': 1}\nseen['b'] = len(urls)\nreturn seen", {"a": 1, "b": 2}),
    (
        "seen: dict[str, int] = {}\nfor url in urls:\n    page = fetch(url)\n    seen[url] = page.words\nreturn seen",
        {"ab": 2, "cde": 3},
    ),
    ("page = fetch(urls[0])\nwith open('FOLDER/out', 'w') as file:\n    file.write(page.url)\nreturn page.words", 2),
    ("double = lambda n: n * 2\npage = fetch(urls[0])\nreturn double(page.words)", 4),
    ("page = fetch(urls[0])\nreturn (page.url, page.words)", ["ab", 2]),
    ("page = fetch(urls[0])\nreturn {page.words}", [2]),
    ("import random\nn = random.randint(6, 6)\nreturn n", 6),
    ("seen = {'a': 1}\nseen['a'] += len(urls)\nreturn seen", {"a": 3}),
    ("seen = {'a': 1}\nseen.update({'b': len(urls)})\nreturn seen", {"a": 1, "b": 2}),
    ("page = fetch(urls[0])\nreturn '%s: %d' % (page.url, page.words)", "ab: 2"),
    ("page = fetch(urls[0])\nreturn '{}: {}'.format(page.url, page.words)", "ab: 2"),
    ("sizes = []\nfor url in urls:\n    page = fetch(url)\n    sizes.append(page.words)\nreturn sum(sizes)", 5),
]
OUTSIDE: Final = [
    (HEAD.replace("@task\n", "") + "    page = fetch(urls[0])\n    return page.words\n", 2),
    (HEAD.replace(" agent,", " agnet,") + "    page = fetch(urls[0])\n    return page.words\n", 2),
    (HEAD + "    page = await fetch(urls[0])\n    return page.words\n", 2),
    (HEAD.replace("urls: list[str]", "urls") + "    pages = [fetch(url) for url in urls]\n    return len(pages)\n", 2),
]
"""What is wrong outside of the body, or for Python already: no @task, a misspelt import, an await, no type."""

PEOPLE_AND_AGENTS: Final = {"Approve": {"choice": "approve"}, "Write": {"url": "x", "words": 7}}


def corrected(text: str, folder: Path) -> tuple[str, int]:
    """Let the author correct a file until it is valid; return it, and how often it was wrong."""
    path = folder / "flow.py"
    for rounds in range(MOST_ROUNDS + 1):
        path.write_text(text, "utf-8")
        judged = call("validate", path)
        if judged.exit_code == 0:
            return text, rounds
        text = correct(text, judged.stderr)
    raise AssertionError(judged.stderr)


def output_of(text: str, folder: Path) -> Any:
    """Run a flow in virtual time, with a person and an agent where it asks for them."""
    path = folder / f"corrected_{abs(hash(text))}.py"
    path.write_text(text, "utf-8")
    answers = {name: answer for name, answer in PEOPLE_AND_AGENTS.items() if f"'{name}'" in text}
    story = testing.run(load(path).digest, {"urls": URLS}, answers=answers)
    assert story.status == "succeeded", story
    return story.output


def written(body: str, folder: Path) -> str:
    return HEAD + textwrap.indent(body.replace("FOLDER", str(folder)), "    ") + "\n"


@pytest.mark.parametrize(("body", "output"), RIGHT)
def test_a_right_flow_is_valid_at_once(tmp_path: Path, body: str, output: Any) -> None:
    text, rounds = corrected(written(body, tmp_path), tmp_path)
    assert (rounds, output_of(text, tmp_path)) == (0, output)


@pytest.mark.parametrize(("body", "output"), MISSPELT)
def test_a_misspelt_name_is_corrected_in_a_round(tmp_path: Path, body: str, output: Any) -> None:
    text, rounds = corrected(written(body, tmp_path), tmp_path)
    assert (rounds, output_of(text, tmp_path)) == (1, output)


@pytest.mark.parametrize(("body", "output"), UNSUPPORTED)
def test_what_no_flow_has_is_written_as_the_error_says(tmp_path: Path, body: str, output: Any) -> None:
    text, rounds = corrected(written(body, tmp_path), tmp_path)
    assert rounds in range(1, MOST_ROUNDS + 1)
    assert output_of(text, tmp_path) == output


@pytest.mark.parametrize(("text", "output"), OUTSIDE)
def test_what_is_wrong_outside_of_the_body_is_corrected_there(tmp_path: Path, text: str, output: Any) -> None:
    text, rounds = corrected(text, tmp_path)
    assert (rounds, output_of(text, tmp_path)) == (1, output)


def test_the_author_knows_nothing_but_the_error() -> None:
    with pytest.raises(GaveUp):
        correct(written("return fetch(urll='a')", Path()), "flow.py is not valid.\n")
