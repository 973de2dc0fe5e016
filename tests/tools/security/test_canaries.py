"""Credentials through every tool: a whole session, each one in the wrong place, and each kind of trouble with Redis.

Then all that was said, logged and kept is searched. A text that a caller means to keep (an output, a note) is data and
is kept. API keys, lease tokens, passwords, and the secrets of the environment must never be seen again.
"""

import itertools
import logging
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
import pytest
import redis
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client

from dcf.core.access.model import Caller, Scope
from dcf.store.access.audit_trail import AuditFilter
from dcf.verbs.registry import TOOLS
from tests.support.redis.documents import SENT
from tests.support.tables import rows
from tests.tools.access import ask, smallest
from tests.tools.calls import Tools
from tests.tools.security.vault import Vault, logged, open_vault, others, session

pytestmark = pytest.mark.anyio

_STARTED = [name for name, _ in session("", {})].index("claim_ready_state")
"""After this call of the session its run is under way, and a state is held."""

EVERYTHING = Caller(name="key:cafecafecafe", scopes=frozenset(Scope))


@pytest.fixture
def vault(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vault]:
    with open_vault(tmp_path_factory.mktemp("vault") / "site", monkeypatch) as vault:
        yield vault


@asynccontextmanager
async def _client(vault: Vault) -> AsyncIterator[Tools]:
    headers = {"Authorization": f"Bearer {vault.api_key}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=120) as http,
        Client(streamable_http_client(f"{vault.url}/mcp", http_client=http)) as client,
    ):
        yield await Tools.of(client)


async def _carried_out(tools: Tools, vault: Vault) -> dict[str, list[str]]:
    """The answers of every tool in a session with correct calls, or at least calls about a run under way."""
    carried_out: dict[str, list[str]] = {}
    workers: dict[str, str] = {}
    for number in range(len(session(vault.lease, workers))):
        name, arguments = session(vault.lease, workers)[number]
        answer = await tools.ok(name, **arguments)
        workers |= answer.payload.get("agents_map") or {}
        carried_out.setdefault(name, []).append(answer.text)
        if number == _STARTED:
            carried_out |= {other: [(await tools.call(other, **value)).text] for other, value in others(vault.lease)}
    return carried_out


def test_every_tool_is_called_here() -> None:
    assert {name for name, _ in (*session("", {}), *others(""))} == set(TOOLS)


async def test_a_whole_session_shows_no_credential(vault: Vault, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with _client(vault) as tools:
        carried_out = await _carried_out(tools, vault)
    names = {name for name, texts in carried_out.items() if any(vault.lease in text for text in texts)}
    assert names == {"acquire_state_lease", "claim_ready_state", "renew_state_lease"}, "a token is its holder's"
    history = [str(entry.as_json()) for entry in vault.application.history.after("vault")]
    assert len(history) > 5
    assert vault.lease not in "\n".join([*history, logged(caplog)])
    for text in (*(text for texts in carried_out.values() for text in texts), *history):
        assert vault.seen_in(text) == []
    assert vault.seen_in(logged(caplog)) == []
    without_registry = vault.kept()
    assert vault.seen_in(without_registry) == []
    assert vault.seen_in(repr(vault.application.settings)) == []


@rows("trouble", ["full", "read-only user", "gone"])
async def test_no_trouble_of_redis_brings_a_credential_to_light(
    vault: Vault, caplog: pytest.LogCaptureFixture, trouble: str
) -> None:
    """Its own words would hold the arguments of commands, and the address that it was connected to."""
    caplog.set_level(logging.DEBUG)
    admin: Any = redis.Redis(port=vault.redis_port, password=vault.redis_password)
    if trouble == "full":
        admin.config_set("maxmemory", "1")
    elif trouble == "read-only user":
        admin.execute_command("ACL", "SETUSER", "default", f"-{SENT.write.lower()}", f"-{SENT.read.lower()}", "-xadd")
    else:
        admin.shutdown(nosave=True, now=True)
    admin.close()

    async def call(name: str, arguments: dict[str, Any]) -> None:
        answer = await ask(vault.application, EVERYTHING, name, **arguments)
        assert vault.seen_in(answer.text) == [], name
        assert answer.code != "internal_error", name
        assert vault.lease not in answer.text, name

    async with anyio.create_task_group() as tasks:
        for name, arguments in (*session(vault.lease, {}), *others(vault.lease)):
            tasks.start_soon(call, name, arguments)
    await vault.application.reader.close()
    assert vault.seen_in(logged(caplog)) == []
    assert vault.lease not in logged(caplog)


# In the wrong place


def _texts(schema: dict[str, Any]) -> bool:
    kinds = [branch.get("type") for branch in schema.get("anyOf", [schema])]
    return "string" in kinds or kinds == [None]


def _text_arguments(name: str) -> list[str]:
    properties = TOOLS[name].arguments.model_json_schema()["properties"]
    return [argument for argument, schema in properties.items() if _texts(schema)]


_NAMES = {
    *("workflow_id", "state", "agent_id", "owner_agent_id", "planner_agent_id", "source_state"),
    *("name", "unit", "group", "parent_run", "parent_unit", "account", "reservation"),
}
"""An answer says that there is none of this name, where it is one."""

_ECHOED = {
    "agent_name", "agent_name_prefix", "manifest_id", "skill_json", "workflow_json", "redis_key", "key_prefix",
    "path", "from_path", "to_path", "source", "destination", "skills_csv_path", "refs_csv_path", "mcp_tools_csv_path",
    "mcp_cases_csv_path", "definition", "project", "session", "finding_id", "superseded_by", "name", "run",
}  # fmt: skip
"""Names of things that are looked up: that there is none, or where it would be, is said with its name."""

_DATA = {
    *("initial_json", "value_json", "default_json", "patch_json", "content", "finalize_note"),
    *("text", "title", "category", "description", "version"),
}
"""Content that a caller stores on purpose, or puts where all may read it."""


@rows("name", sorted(TOOLS))
async def test_a_secret_that_is_sent_in_the_wrong_place_is_not_repeated(
    walled: Any, caplog: pytest.LogCaptureFixture, raw_redis: Any, name: str
) -> None:
    """An agent that passes its key, its token or a URL where a name belongs finds it in no answer and in no log."""
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    marks = {argument: secrets.token_hex(16) for argument in _text_arguments(name)}
    timeout: dict[str, Any] = {"timeout_s": 0} if name == "await_workflow_event" else {}
    for argument, mark in marks.items():
        for secret in (f"dcf_0123456789ab_{mark}00000000000", f"redis://:{mark}@redis:6379/0", f"lease-{mark}/*{{"):
            answer = await ask(walled, EVERYTHING, name, **smallest(name) | timeout | {argument: secret})
            assert mark not in answer.text or argument in _NAMES | _ECHOED | _DATA, (argument, answer.text)
    await walled.reader.close()
    assert [argument for argument, mark in marks.items() if mark in logged(caplog)] == []
    keys = b"\n".join(raw_redis.scan_iter()).decode()
    arguments = {argument for argument, mark in marks.items() if mark in keys}
    assert arguments <= _NAMES | {"redis_key", "key_prefix", "project"}


@rows("name", sorted(TOOLS))
async def test_a_secret_in_a_call_that_is_refused_is_not_in_the_audit_trail(
    walled: Any, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    forms = itertools.cycle(("dcf_0123456789ab_{}00000000000", "redis://:{}@redis:6379/0", "lease-{}"))
    for argument, form in zip(_text_arguments(name), forms, strict=False):
        mark = secrets.token_hex(16)
        powerless = Caller(name=f"key:{mark[:12]}", scopes=frozenset(), agent_id="agent-a")
        answer = await ask(walled, powerless, name, **smallest(name) | {argument: form.format(mark)})
        assert answer.code == "forbidden"
        (entry,) = walled.audit.newest(10, AuditFilter(by=powerless.name))
        assert (entry.kind, entry.change) == ("refusal", name)
        assert mark not in str(entry.about)
        assert mark not in logged(caplog)
