"""The site has every page with links that lead within it, and the pictures of concepts are as they are described."""

import re
from pathlib import Path

import pytest

from deploy.pictures.concepts import PICTURES
from deploy.pictures.drawing import draw
from deploy.site.staging import contents, stage
from tests.support.paths import ROOT


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "docs"
    stage(ROOT, folder)
    return folder


def test_every_relative_link_of_the_site_leads_to_a_file_of_the_site(staged: Path) -> None:
    pages = sorted(staged.rglob("*.md"))
    assert len(pages) > len(list((ROOT / "docs").rglob("*.md")))
    links = [(page, link) for page in pages for link in re.findall(r"\]\(([^)\s#:]+)[^):]*\)", page.read_text("utf-8"))]
    assert [(page.name, link) for page, link in links if not (page.parent / link).exists()] == []


def test_a_link_that_leaves_the_pages_is_shown_as_its_words(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# Read me", "utf-8")
    (tmp_path / "docs" / "a.md").write_text("[table](../code.py) [start](../README.md#read-me) [b](#b)", "utf-8")
    stage(tmp_path, tmp_path / "site")
    assert (tmp_path / "site" / "a.md").read_text("utf-8") == "table [start](project/README.md#read-me) [b](#b)"


def test_the_contents_are_the_tables_of_the_index() -> None:
    index = "# Pages\n\n## Start\n\n| page | says |\n|---|---|\n| [A](a.md) | x |\n\n## More\n\n| [B](b.md) | y |\n"
    assert contents(index) == [{"Start": [{"A": "a.md"}]}, {"More": [{"B": "b.md"}]}]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_drawn_as_it_is_described(name: str) -> None:
    assert (ROOT / "docs" / "concepts" / "pictures" / f"{name}.svg").read_text("utf-8") == draw(PICTURES[name])
