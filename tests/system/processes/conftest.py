"""Real processes. Those that survive a test are shared; what a test kills is its own."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.tools.calling.client import ToolClient, connect
from tests.system.processes.site import Server, Site, opened


@pytest.fixture
def site() -> Iterator[Site]:
    """A data directory with a short path, for one test."""
    yield from _site()


@pytest.fixture(scope="session")
def shared_site() -> Iterator[Site]:
    yield from _site()


@pytest.fixture(scope="session")
def shared_server(shared_site: Site) -> Server:
    """One server for all tests that do not hurt it."""
    return shared_site.serve("--port", "0")


@pytest.fixture(scope="session")
def tools(shared_server: Server) -> Iterator[ToolClient]:
    with connect(shared_server.url) as result:
        yield result


@pytest.fixture
def hooks(shared_site: Site) -> Iterator[Site]:
    """The shared site, its hooks taken away afterwards."""
    yield shared_site
    for hook in shared_site.hooks.iterdir():
        hook.unlink()


def _site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="dcfp-", dir="/tmp"))
    with opened(folder) as result:
        yield result
    shutil.rmtree(folder)
