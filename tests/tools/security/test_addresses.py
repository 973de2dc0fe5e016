"""No tool lets its caller choose an address: neither a Redis, nor a server of tools, nor where a document lies."""

import secrets
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.verbs.registry import TOOLS
from tests.support.agents.skill_manifests import manifest, tool
from tests.support.tables import rows
from tests.tools.access import EVERYTHING, ask, key_of, smallest
from tests.tools.calls import ONE_TASK

pytestmark = pytest.mark.anyio

ALL = key_of(*EVERYTHING)

LOOPBACK = [
    "127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]", "0.0.0.0", "[::]", "127.0.0.1.", "LOCALHOST", "127.0.0.1%00.example", "example@127.0.0.1",
]  # fmt: skip
REDIS = [
    *(f"redis://{host}:{{port}}/0" for host in LOOPBACK),
    "rediss://127.0.0.1:{port}/0?ssl_cert_reqs=none", "redis://evil.example?host=127.0.0.1&port={port}",
    "redis://:canary-password@127.0.0.1:{port}/0", "redis://127.0.0.1:{port}/0?db=1", "unix:///var/run/docker.sock",
    "unix:///etc/passwd?db=0", "redis://127.0.0.1:{port}?credential_provider=x", "redis+sentinel://127.0.0.1:{port}/m/0",
    "redis://169.254.169.254/", "http://127.0.0.1:{port}/", "file:///etc/passwd", "127.0.0.1:{port}", "", " ",
]  # fmt: skip
WEB = [
    *(f"http://{host}:{{port}}/mcp" for host in LOOPBACK),
    "https://127.0.0.1:{port}/mcp", "http://169.254.169.254/latest/meta-data/", "http://[fd00:ec2::254]/",
    "http://100.100.100.200/", "http://metadata.google.internal/", "http://169.254.169.254.nip.example/",
    "file:///etc/passwd", "gopher://127.0.0.1:{port}/_SET", "//127.0.0.1:{port}/", "http:127.0.0.1:{port}",
    "http://127.0.0.1:{port}\\@evil.example/", "http://evil.example#@127.0.0.1:{port}/", "ftp://127.0.0.1:{port}/",
    "http://user:canary-password@127.0.0.1:{port}/", "http://10.0.0.1/", "http://192.168.0.1/", "data:text/plain,x",
]  # fmt: skip


class Ear:
    """A port of this machine that must get no call."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self.port: int = listener.getsockname()[1]

    def was_called(self) -> bool:
        try:
            self._listener.accept()
        except BlockingIOError:
            return False
        return True


@pytest.fixture
def ear() -> Iterator[Ear]:
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.settimeout(0)
        yield Ear(listener)


@rows("name", sorted(TOOLS))
async def test_no_spelling_of_a_redis_url_is_taken_or_called(walled: Application, ear: Ear, name: str) -> None:
    """All tools have the argument from one class: one tool tries every spelling, the others a few."""
    for form in REDIS if name == "start_run" else REDIS[:: len(REDIS) // 3]:
        url = form.format(port=ear.port)
        answer = await ask(walled, ALL, name, **smallest(name) | {"redis_url": url})
        assert answer.error == "invalid_argument: redis_url must be 'default'."
        assert "canary-password" not in answer.text
    assert not ear.was_called()


@rows("form", WEB)
async def test_no_server_of_tools_is_taken_from_a_manifest(walled: Application, ear: Ear, form: str) -> None:
    url = form.format(port=ear.port)
    definition = {"type": "mcp_server", "endpointUrl": url, "operationId": "a"}
    document, agent = manifest(requiredTools=[tool("a", definition=definition)]), f"agent-{secrets.token_hex(4)}"
    answer = await ask(walled, ALL, "load_skill", skill_json=document, agent_id=agent)
    assert answer.code in {"forbidden", "invalid_argument", "invalid_definition"}, answer.text
    assert "canary-password" not in answer.text
    await ask(walled, ALL, "validate_skill_manifest", skill_json=document)
    assert walled.equipment.loaded(agent) == []
    assert not ear.was_called()


@rows("form", WEB)
async def test_no_document_is_fetched_from_an_address(walled: Application, ear: Ear, form: str) -> None:
    """Where a document or a file is named, a URL is the name of none."""
    url = form.format(port=ear.port)
    importing = ONE_TASK | {
        "workflow_name": "x", "version": "1.0.0", "workflow_id": "addressed",
        "af_imports": [{"uri": url}], "skill_imports": [{"uri": url}],
    }  # fmt: skip
    calls: dict[str, dict[str, Any]] = {
        "validate_workflow": {"workflow_json": importing},
        "create_worker_agents": {"workflow_json": importing},
        "load_skill": {"skill_json": url, "agent_id": "me"},
        "validate_skill_manifest": {"skill_json": url},
        "read_file": {"path": url},
        "csv_to_manifests": {"skills_csv_path": url},
        "csv_to_stub_config": {"mcp_cases_csv_path": url},
    }
    for name, arguments in calls.items():
        answer = await ask(walled, ALL, name, **arguments)
        assert answer.code not in {"ok", "internal_error"}, (name, answer.text)
    assert not ear.was_called()


def test_every_argument_that_could_be_an_address_is_known_here() -> None:
    """A new one needs a test that no address is taken from it; that of register_agent is in tests/webhooks."""
    result = {
        (name, argument)
        for name, spec in TOOLS.items()
        for argument in spec.arguments.model_fields
        if any(word in argument for word in ("url", "uri", "endpoint", "host", "address", "server"))
    }
    assert {argument for _, argument in result} == {"redis_url", "url", "hosted"}
