"""Requests to servers whose Redis is away: as browsers, Prometheus and load balancers ask for pages and health."""

import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final

import httpx2

from lab.case_rules import health_answers_without_redis, metrics_say_that_redis_is_away, pages_say_503_without_redis
from lab.extras import NoErrands

PAGES: Final = (
    "/runs",
    "/runs?status=running",
    "/runs/lab-outages-1",
    "/why",
    "/inbox",
    "/agents",
    "/workflows",
    "/system",
)
_PATIENCE_S: Final = 20.0
_PAGES_AT_ONCE: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """A request that was sent and answered while Redis was away; `status` 0: no answer came."""

    path: str
    status: int
    text: str = ""


class Outages(NoErrands[Probe]):
    """The answers of the servers while Redis was away."""

    rules = (pages_say_503_without_redis, metrics_say_that_redis_is_away, health_answers_without_redis)

    def probe(self, luck: random.Random, open_url: str, keyed_url: str, api_key: str) -> None:
        """Ask at once for a few pages, and what machines ask for; of the two servers one asks for API keys."""
        request = [(open_url, f"/ui{path}") for path in luck.sample(PAGES, _PAGES_AT_ONCE)]
        request += [(url, path) for url in (open_url, keyed_url) for path in ("/metrics", "/healthz")]
        headers = {"Authorization": f"Bearer {api_key}"}

        def answer_of(place: tuple[str, str]) -> Probe:
            url, path = place
            return _probed(url, path, headers if url == keyed_url else {})

        with ThreadPoolExecutor(len(request)) as threads:
            for probe in threads.map(answer_of, request):
                self.note(probe)


def _probed(url: str, path: str, headers: dict[str, str]) -> Probe:
    try:
        answer = httpx2.get(f"{url}{path}", headers=headers, timeout=_PATIENCE_S)
    except httpx2.HTTPError as error:
        return Probe(path=path, status=0, text=repr(error))
    return Probe(path=path, status=answer.status_code, text=answer.text)
