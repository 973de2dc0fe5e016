"""Puts the pages of the site into one folder, with links that lead within it. Knows no generator of sites.

Pages outside of docs are copied below `project/`. A link to a file that is no page becomes text.
"""

import posixpath
import re
import shutil
from functools import partial
from pathlib import Path
from typing import Final

_LINK: Final = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_SOURCE: Final = re.compile(r'((?:src|srcset)=")docs/')
_ROW: Final = re.compile(r"^\| \[([^\]]+)\]\(([^)#\s]+\.md)\)", re.MULTILINE)
_OUTSIDE: Final = ("*.md", "lab/README.md", "examples/**/README.md")


def stage(root: Path, folder: Path) -> None:
    """Copy docs of the repository at `root`, and the pages outside of docs, to `folder`."""
    shutil.copytree(root / "docs", folder)
    places = _places(root)
    for path, place in places.items():
        page = folder / place
        page.parent.mkdir(parents=True, exist_ok=True)
        text = _SOURCE.sub(r"\1../", (root / path).read_text("utf-8"))
        page.write_text(_LINK.sub(partial(_led, path=path, places=places, folder=folder), text), "utf-8")


def _places(root: Path) -> dict[str, str]:
    """Return where each page lies in the site, by its path in the repository."""
    docs = [path.relative_to(root).as_posix() for path in sorted((root / "docs").rglob("*.md"))]
    outside = [path.relative_to(root).as_posix() for pattern in _OUTSIDE for path in sorted(root.glob(pattern))]
    return {path: path.removeprefix("docs/") for path in docs} | {path: f"project/{path}" for path in outside}


def _led(match: re.Match[str], path: str, places: dict[str, str], folder: Path) -> str:
    mark, words, link = match.groups()
    name, _, anchor = link.partition("#")
    if not name or re.match(r"[a-z+.-]+:", link):
        return match[0]
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), name))
    place = places.get(target, target.removeprefix("docs/"))
    if target not in places and not (target.startswith("docs/") and (folder / place).is_file()):
        return words
    to = posixpath.relpath(place, posixpath.dirname(places[path]) or ".")
    return f"{mark}[{words}]({to}{'#' + anchor if anchor else ''})"


def contents(index: str) -> list[dict[str, list[dict[str, str]]]]:
    """Return the contents of the site: the sections of docs/README.md with the pages that their tables link."""
    sections = (section.partition("\n") for section in re.split(r"^## ", index, flags=re.MULTILINE)[1:])
    return [{title: [{words: place} for words, place in _ROW.findall(rows)]} for title, _, rows in sections]
