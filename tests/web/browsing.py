"""Pages as a browser without scripts gets them, and what no page may do with text that others wrote."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urlencode

import httpx2

from tests.web.visitors import HOST, HOSTILE, Visitor

__all__ = ["HOST", "HOSTILE", "Browser", "check_harmless", "text_of"]


@dataclass(frozen=True)
class Browser:
    """Asks an application for pages."""

    app: Any

    async def get(self, path: str) -> str:
        """The page at an address, which must be there."""
        answer = await self.ask("GET", path)
        assert answer.status_code == 200, answer.text
        return answer.text

    async def post(self, path: str, fields: Mapping[str, str], **headers: str) -> httpx2.Response:
        """The answer to a form; sent as by a page of the same origin unless `headers` say otherwise."""
        sent = {"content-type": "application/x-www-form-urlencoded", "origin": HOST, **headers}
        token = re.search(r'name="_token" value="(\w+)"', await self.get("/ui/workflows"))
        assert token is not None
        return await self.ask("POST", path, urlencode({"_token": token[1], **fields}), **sent)

    async def ask(self, method: str, path: str, body: str = "", **headers: str) -> httpx2.Response:
        return await Visitor(self.app).ask(method, path, headers, body)


def text_of(page: str) -> str:
    """The text of a page without tags, on one line."""
    body = page.partition("<main")[2].partition(">")[2].partition("</main>")[0]
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def check_harmless(page: str) -> None:
    """Hostile text is on the page as text, and no tag or attribute of it is."""
    assert "&lt;script&gt;alert(1)" in page
    for tag in ("<script>", "<img src=x", "onerror=alert(2)>", "style=", "\u202e", "\x1b"):
        assert tag not in page, tag
