"""A browser of the tests, without scripts: it keeps cookies, and sends what a browser says of itself."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

HOST = "http://127.0.0.1:8337"
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>\u202e\x1b[31m"
"""Text that would harm a page if it were shown without care."""

OWN = {"origin": HOST, "sec_fetch_site": "same-origin"}


@dataclass
class Visitor:
    """Somebody at the page of one application. Follows no redirects."""

    app: Any
    host: str = HOST
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, path: str, **headers: str) -> httpx2.Response:
        return await self.ask("GET", path, headers)

    async def post(self, path: str, form: Mapping[str, str], **headers: str) -> httpx2.Response:
        """Send a form as the page of this host does; a header without a value is left out."""
        own = {name: value.replace(HOST, self.host) for name, value in OWN.items()}
        values = {name: value for name, value in (own | headers).items() if value}
        return await self.ask("POST", path, values, dict(form))

    async def ask(
        self, method: str, path: str, headers: Mapping[str, str], form: dict[str, str] | str | None = None
    ) -> httpx2.Response:
        """Send a request; `form` are the fields of one, or a body as it is."""
        transport = httpx2.ASGITransport(app=self.app)
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        values = {name.replace("_", "-"): value for name, value in headers.items()}
        values |= {"cookie": cookies} if cookies else {}
        async with httpx2.AsyncClient(transport=transport, base_url=self.host) as client:
            body = {"content": form} if isinstance(form, str) else {"data": form}
            answer = await client.request(method, path, headers=values, **body)
        for line in answer.headers.get_list("set-cookie"):
            name, _, rest = line.partition("=")
            value = rest.partition(";")[0].strip('"')
            if value and "max-age=0" not in line.lower():
                self.cookies[name] = value
            else:
                self.cookies.pop(name, None)
        return answer

    async def log_in(self, key: str) -> httpx2.Response:
        return await self.post("/ui/login", {"key": key})

    async def follow(self, answer: httpx2.Response) -> httpx2.Response:
        """Go where the answer sends a browser."""
        assert answer.status_code == 303, answer.text
        return await self.get(answer.headers["location"])


def forms(page: str, action: str) -> list[dict[str, str]]:
    """The fields of the forms of a page that are sent to this address, as they are without anybody's writing."""
    findall = re.findall(rf'<form[^>]*action="{re.escape(action)}"[^>]*>(.*?)</form>', page, re.DOTALL)
    return [_fields(item) for item in findall]


def form(page: str, action: str) -> dict[str, str]:
    """The only such form."""
    (form,) = forms(page, action)
    return form


def _fields(text: str) -> dict[str, str]:
    fields = {}
    for tag in re.findall(r"<(?:input|button)\b[^>]*>", text):
        name, value = re.search(r'name="([^"]*)"', tag), re.search(r'value="([^"]*)"', tag)
        if name is not None and ('type="checkbox"' not in tag or " checked" in tag):
            fields[name[1]] = html.unescape(value[1]) if value is not None else ""
    for name, value in re.findall(r'<textarea[^>]*name="([^"]*)"[^>]*>\n?(.*?)</textarea>', text, re.DOTALL):
        fields[name] = html.unescape(value)
    return fields
