"""A real Letta, for the tests of all platforms."""

from collections.abc import Iterator

import pytest

from tests.platforms.conftest import Site, platform, workshop
from tests.system.letta.installed.server import LettaServer
from tests.system.letta.platforms.letta_site import letta_site

__all__ = ["platform", "workshop"]


@pytest.fixture(scope="session")
def site(letta_server: LettaServer) -> Iterator[Site]:
    with letta_site(letta_server) as site:
        yield site
