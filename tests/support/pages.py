"""The pages of the project, and the blocks of code on them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tests.support.paths import ROOT

DOCS: Final = ROOT / "docs"
_OUTSIDE: Final = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "lab/README.md")
PAGES: Final = sorted([*(ROOT / name for name in _OUTSIDE), *DOCS.rglob("*.md"), *ROOT.glob("examples/**/README.md")])
NAMES: Final = [page.relative_to(ROOT).as_posix() for page in PAGES]

_FENCE: Final = re.compile(r"( *)(`{3,})(.*)")
_FILE: Final = re.compile(r"`(\w+\.py)`")


@dataclass(frozen=True)
class Block:
    """A block of code: its page and first line, the words behind the fence, the file that its introduction names."""

    page: str
    line: int
    kind: str
    text: str
    file: str | None

    @property
    def label(self) -> str:
        return f"{self.page}:{self.line}"


def blocks_of(name: str) -> Iterator[Block]:
    """Yield the blocks of a page; a fence that nothing closes fails."""
    lines = (ROOT / name).read_text("utf-8").splitlines()
    position, before = 0, ""
    while position < len(lines):
        opening = _FENCE.fullmatch(lines[position])
        position += 1
        if opening is None:
            before = lines[position - 1] or before
            continue
        indent, fence, kind = opening.groups()
        end = lines.index(indent + fence, position)
        text = "\n".join(line.removeprefix(indent) for line in lines[position:end]) + "\n"
        file = _FILE.search(before) if before.endswith(":") else None
        yield Block(name, position + 1, kind, text, file and file[1])
        position, before = end + 1, ""


def all_blocks() -> list[Block]:
    return [block for name in NAMES for block in blocks_of(name)]
