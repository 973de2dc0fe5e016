"""Servers for other people's clients, and those clients. Everything listens on loopback and ends with the session."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dcf.core.access.model import Scope
from tests.system.clients.node import HERE, Programs, installed
from tests.system.processes.site import Server, Site, finish, first_line, opened


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="dcfc-", dir="/tmp"))
    with opened(folder) as result:
        yield result
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def programs(request: pytest.FixtureRequest, site: Site) -> Programs:
    """The Node programs; without a registry the tests fail in CI and are skipped elsewhere."""
    modules = installed(request.config, "node", HERE)
    alone = {name: value for name, value in site.environment().items() if name in {"HOME", "PATH", "TMPDIR"}}
    return Programs(modules=modules, environment=alone)


@pytest.fixture(scope="session")
def open_server(site: Site) -> Server:
    """Our server, for the users of this machine."""
    return site.serve("--port", "0", "--auth", "off")


@pytest.fixture(scope="session")
def key(site: Site) -> str:
    """An API key that may do everything."""
    scopes = [argument for scope in Scope for argument in ("--scope", scope.value)]
    printed, code = finish(site.dcf("keys", "add", "--any-agent", "--json", *scopes))
    assert code == 0
    made: str = json.loads(printed)["key"]
    return made


@pytest.fixture(scope="session")
def keyed_server(site: Site, key: str) -> Server:
    """Our server, for callers with the key."""
    return site.serve("--port", "0", DCF_AUTH="keys")


@pytest.fixture(scope="session")
def extended_server(site: Site) -> Server:
    """Our app with the tools, resources and prompts that the conformance suite looks for."""
    process = site.start("-m", "tests.system.clients.conformance")
    return Server(url=json.loads(first_line(process))["url"], process=process)
