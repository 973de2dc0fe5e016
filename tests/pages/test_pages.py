"""Pages are short, their links and anchors lead somewhere, and the index of docs has all of them."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from deploy.reference.pages import PAGES
from tests.support.pages import DOCS, NAMES
from tests.support.paths import ROOT
from tests.support.tables import rows

MOST_FILES: Final = 20
MOST_WORDS: Final = 1500
MOST_WORDS_OF_CONTRIBUTING: Final = 1200


def prose(page: Path) -> str:
    """The text without code, in which brackets are no links."""
    return re.sub(r"(`+)[^`]+\1", "", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))


def targets(page: Path) -> Iterator[tuple[Path, str]]:
    """The files and anchors to which a page links."""
    text = page.read_text("utf-8")
    result = [*re.findall(r"\]\(([^)\s]+)\)", prose(page)), *re.findall(r'(?:src|srcset)="([^"]+)"', text)]
    for link in result:
        if not re.match(r"[a-z+.-]+:", link):
            name, _, anchor = link.partition("#")
            yield (page.parent / name).resolve() if name else page, anchor


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return frozenset(map(slug, re.findall(r"^#+ (.+)$", text, re.MULTILINE)))


def slug(heading: str) -> str:
    letters = [letter for letter in heading.lower() if letter in " -_" or unicodedata.category(letter)[0] in "LN"]
    return "".join(letters).replace(" ", "-")


@rows("name", NAMES)
def test_every_link_of_a_page_leads_somewhere(name: str) -> None:
    page = ROOT / name
    for target, anchor in targets(page):
        assert target.exists(), f"{name} links to {target}"
        assert not anchor or anchor in anchors(target), f"{name} links to {anchor} in {target.name}"


def test_the_index_has_every_page_of_docs_once() -> None:
    linked = [target for target, _ in targets(DOCS / "README.md")]
    decisions = set((DOCS / "decisions").rglob("*.md")) - {DOCS / "decisions" / "README.md"}
    pages = set(DOCS.rglob("*.md")) - {DOCS / "README.md"} - decisions
    assert {path for path in linked if path.is_relative_to(DOCS)} == pages
    assert len(linked) == len(set(linked))


def test_the_list_of_decisions_has_each_once() -> None:
    linked = [target for target, _ in targets(DOCS / "decisions" / "README.md")]
    decisions = set((DOCS / "decisions").rglob("*.md")) - {DOCS / "decisions" / "README.md"}
    assert decisions <= set(linked)
    assert len(linked) == len(set(linked))


def test_a_folder_of_pages_has_at_most_20_files() -> None:
    folders = [DOCS, *(path for path in DOCS.rglob("*") if path.is_dir())]
    counts = {str(folder.relative_to(ROOT)): sum(path.is_file() for path in folder.iterdir()) for folder in folders}
    assert {name: count for name, count in counts.items() if count > MOST_FILES} == {}


def words_of(name: str) -> int:
    return len((ROOT / name).read_text("utf-8").split())


def test_a_page_that_people_write_has_at_most_1500_words() -> None:
    derived = {f"docs/reference/{name}" for name in PAGES}
    written = [name for name in NAMES if name.startswith("docs/") and name not in derived]
    counts = {name: words_of(name) for name in written if not name.startswith("docs/decisions/")}
    assert {name: count for name, count in counts.items() if count > MOST_WORDS} == {}


def test_the_page_for_contributors_has_at_most_1200_words() -> None:
    assert words_of("CONTRIBUTING.md") <= MOST_WORDS_OF_CONTRIBUTING


def test_links_are_found() -> None:
    assert (DOCS / "guides" / "flows.md", "") in list(targets(ROOT / "README.md"))
    assert (DOCS / "guides" / "python-functions.md", "the-context") in list(targets(ROOT / "README.md"))
    assert slug("What `dcf run` does, 2 ways") == "what-dcf-run-does-2-ways"
