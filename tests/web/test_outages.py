"""While Redis does not answer, every page says so with the status that tells browsers and proxies to ask again."""

from pathlib import Path

import pytest

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.web.site import build_site
from tests.support.redis.servers import MODULES, listens, running
from tests.support.waiting import wait_until
from tests.web.visitors import Visitor

pytestmark = pytest.mark.anyio

PAGES = (
    *("/ui/runs", "/ui/runs?status=running&stuck=1", "/ui/inbox", "/ui/agents", "/ui/workflows"),
    *("/ui/runs/any", "/ui/why", "/ui/why?run=any"),
)


async def test_a_page_says_503_and_not_that_the_request_is_wrong_while_redis_is_away(short_directory: Path) -> None:
    place = short_directory / "away.sock"
    with running("--port", "0", "--unixsocket", str(place), *MODULES) as process:
        wait_until(lambda: listens(place))
        settings = Settings.model_validate({"redis_url": f"unix://{place}", "auth": "off"})
        with open_application(settings) as application:
            visitor = Visitor(build_site(application))
            process.kill()
            process.wait()
            answers = {path: await visitor.get(path) for path in PAGES}
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(PAGES, 503)
    assert {answer.headers["retry-after"] for answer in answers.values()} == {"1"}
    assert all("Redis" in answer.text for answer in answers.values())
