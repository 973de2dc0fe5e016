"""The page on a port, runs in each condition, and a browser that opens the page."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from dcf.application.application import open_application
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_http_app
from dcf.web.site import pages
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.system.browser.browser import Tab, opened_browser, opened_tab
from tests.system.browser.demo_runs import Crew
from tests.system.clients.node import installed
from tests.tools.calls import serving
from tests.web.conftest import anyio_backend, application, web_redis

__all__ = ["anyio_backend", "application", "web_redis"]

Tabs = Callable[..., AbstractContextManager[Tab]]


@dataclass(frozen=True, kw_only=True)
class DemoSite:
    """A server with the page, and runs in each condition: by its name, their ids."""

    origin: str
    crew: Crew
    redis: RestrictedRedis
    runs: dict[str, str]


@pytest.fixture(scope="session")
def demo(short_directory: Path) -> Iterator[DemoSite]:
    """The page and /mcp, in a thread with a loop of its own, for the users of this machine."""
    with ExitStack() as stack:
        redis = stack.enter_context(restricted_redis(short_directory / "site"))
        chosen = {"redis_url": redis.url, "auth": "off", "allow_operator": True}
        opened = stack.enter_context(open_application(Settings.model_validate(chosen)))
        app = build_http_app(opened)
        app.router.routes.append(pages(opened, may_act=True))
        origin = stack.enter_context(serving(app))
        crew = Crew(opened)
        names = ("finished", "running", "retried", "lost", "broken", "waiting", "mapped", "hostile", "parked")
        runs = {name: getattr(crew, name)() for name in names}
        crew.accounts()
        yield DemoSite(origin=origin, crew=crew, redis=redis, runs=runs | {"workflow": crew.kept()})


@pytest.fixture(scope="session")
def node_packages(request: pytest.FixtureRequest) -> Path:
    """The npm packages that tests let pages load: a checker of accessibility, and Mermaid."""
    return installed(request.config, "page-checks", Path(__file__).parent)


@pytest.fixture(scope="session")
def axe(node_packages: Path) -> Path:
    return node_packages / "axe-core" / "axe.min.js"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Of a file of tests, since its event loop is in the way of async ones."""
    with opened_browser() as browser:
        yield browser


@pytest.fixture
def tabs(chromium: Browser, demo: DemoSite, axe: Path) -> Tabs:
    """Opens tabs, for tests that want one of a certain kind."""
    return partial(opened_tab, chromium, demo.origin, axe)


@pytest.fixture
def tab(tabs: Tabs) -> Iterator[Tab]:
    """A tab of common size."""
    with tabs() as result:
        yield result
