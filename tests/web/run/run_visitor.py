"""A browser without scripts for tests: asks an application for pages, follows links, and reads what is on a page."""

import re
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser

import httpx2

from tests.web import visitors


@dataclass
class Visitor(visitors.Visitor):
    """Somebody at the page who reads pages of runs."""

    async def page(self, path: str) -> "Page":
        answer = await self.get(path)
        assert answer.status_code == 200, (path, answer.status_code, words(answer.text))
        return Page(answer.text)

    async def run(self, run: str, **parameters: str) -> "Page":
        return await self.page(f"/ui/runs/{run}?{httpx2.QueryParams(parameters)}")


@dataclass
class Page:
    """A page; `text` is what a reader sees of it, `links` the address behind each text."""

    html: str
    text: str = field(init=False)
    links: dict[str, str] = field(init=False)

    def __post_init__(self) -> None:
        self.text = words(self.html)
        reader = _Links()
        reader.feed(self.html)
        self.links = reader.found

    def part(self, name: str) -> "Page":
        """What is inside the first element of this class or name."""
        match = re.search(rf'<(\w+)[^>]*(?:class="{name}[" ]|data-live="{name}")', self.html)
        assert match is not None, name
        return Page(_element(self.html[match.start() :], match[1]))

    def has(self, *texts: str) -> bool:
        return all(text in self.text for text in texts)


def words(html: str) -> str:
    """The text of a page, its titles and labels left out."""
    return " ".join(unescape(re.sub(r"<title>.*?</title>|<[^>]+>", " ", html, flags=re.DOTALL)).split())


def _element(html: str, tag: str) -> str:
    depth = 0
    for match in re.finditer(rf"<(/?){tag}\b", html):
        depth += -1 if match[1] else 1
        if depth == 0:
            return html[: match.end()]
    return html


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}
        self._open: str | None = None
        self._text, self._is_named = "", False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self._open = dict(attrs).get("href")
            self._text, self._is_named = "", False
        if self._open is not None and tag == "g":
            self._text, self._is_named = dict(attrs).get("aria-label") or "", True

    def handle_data(self, data: str) -> None:
        if self._open is not None and not self._is_named:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._open is not None:
            self.found.setdefault(" ".join(self._text.split()), self._open)
            self._open = None
