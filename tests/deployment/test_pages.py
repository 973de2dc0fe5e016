"""What pages name exists: every relative link and anchor in Markdown, every command, and the index of docs."""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

from dcf.cli.command_group import command_of
from dcf.cli.command_table import rows as listed_commands
from tests.support.paths import ROOT
from tests.support.tables import rows

DOCS: Final = ROOT / "docs"
TOP: Final = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "lab/README.md")
PAGES: Final = sorted([*(ROOT / name for name in TOP), *DOCS.rglob("*.md")])
MOST_FILES: Final = 20
NAMES: Final = [str(page.relative_to(ROOT)) for page in PAGES]


def prose(page: Path) -> str:
    """The text without code, in which brackets are no links."""
    return re.sub(r"(`+)[^`]+\1", "", re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL))


def targets(page: Path) -> Iterator[tuple[Path, str]]:
    """The files and anchors to which a page links."""
    text = page.read_text("utf-8")
    found = [*re.findall(r"\]\(([^)\s]+)\)", prose(page)), *re.findall(r'(?:src|srcset)="([^"]+)"', text)]
    for link in found:
        if not re.match(r"[a-z+.-]+:", link):
            name, _, anchor = link.partition("#")
            yield (page.parent / name).resolve() if name else page, anchor


@cache
def anchors(page: Path) -> frozenset[str]:
    """The anchors of headings, as GitHub makes them."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return frozenset(map(slug, re.findall(r"^#+ (.+)$", text, re.MULTILINE)))


def slug(heading: str) -> str:
    kept = [letter for letter in heading.lower() if letter in " -_" or unicodedata.category(letter)[0] in "LN"]
    return "".join(kept).replace(" ", "-")


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


def commands(page: Path) -> Iterator[list[str]]:
    """The words of each command of dcf in the shell blocks of a page, without `dcf`."""
    for block in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            shown = re.match(r"(?:[A-Z_]+=\S+ )*dcf (\w.*)", line.partition(" #")[0])
            if shown is not None:
                yield re.split(r"\s+", shown[1].strip())


@rows("name", NAMES)
def test_every_command_of_a_page_exists_with_its_options(name: str) -> None:
    listed = {row.full_name: row for row in listed_commands()}
    for command, *words in commands(ROOT / name):
        declared: Any = command_of(listed.get(" ".join([command, *words[:1]])) or listed[command])
        options = {option for parameter in declared.params for option in (*parameter.opts, *parameter.secondary_opts)}
        named = {word for word in words if re.match(r"--\w", word)}
        assert named - {"--context"} <= options, f"dcf {command} {' '.join(words)}"


def test_commands_are_found() -> None:
    assert ["runs", "pause", "RUN"] in list(commands(DOCS / "guides" / "runs.md"))
    assert sum(len(list(commands(page))) for page in PAGES) > 100


def test_links_are_found() -> None:
    assert (DOCS / "guides" / "flows.md", "") in list(targets(ROOT / "README.md"))
    assert (DOCS / "guides" / "python-functions.md", "the-context") in list(targets(ROOT / "README.md"))
    assert slug("What `dcf run` does, 2 ways") == "what-dcf-run-does-2-ways"
