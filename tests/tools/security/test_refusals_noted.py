"""Refusals in the audit trail: calls beyond a key's rights, acting as another, invalid keys."""

import logging
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import pytest

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.errors import Forbidden, StoreUnavailable
from dcf.store.access.audit_trail import AuditEntry, AuditFilter
from dcf.store.access.refusal_notes import Pace, RefusalNotes
from dcf.store.connection.connections import Connections, open_pool
from dcf.tools.mcp.server import build_http_app
from tests.support.redis.documents import asking, set_member
from tests.support.redis.redis_contents import everything_in
from tests.support.redis.restricted import RestrictedRedis
from tests.tools.access import WORKER, ask, key_of
from tests.tools.calls import serving

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def worker() -> Caller:
    return key_of(*WORKER, agent_id="agent-a", name=f"key:{secrets.token_hex(6)}")


def noted(application: Application, **expected: Any) -> list[AuditEntry]:
    return application.audit.newest(1000, AuditFilter(**expected))


async def test_a_call_beyond_the_scopes_of_a_key_is_noted_with_who_and_what(alone: Application, worker: Caller) -> None:
    await ask(alone, worker, "finalize_workflow", workflow_id="order-42")
    (entry,) = noted(alone, by=worker.name)
    assert (entry.kind, entry.change, entry.outcome) == ("refusal", "finalize_workflow", "forbidden")
    assert entry.about["workflow_id"] == "order-42"
    assert "needs the scope 'plan'" in entry.about["why"]


async def test_of_a_refused_call_only_the_run_and_the_agent_are_noted(alone: Application, worker: Caller) -> None:
    """Other arguments may be secret, or as long as a document."""
    call = {"agent_id": "agent-b", "agent_name": "private"}
    await ask(alone, worker, "delete_agent", **call)
    await ask(alone, worker, "finalize_workflow", workflow_id="order-42", finalize_note="private")
    deleted, finalized = sorted(noted(alone, by=worker.name), key=lambda entry: entry.change)
    assert set(deleted.about) <= {"why", "times", "workflow_id", "agent_id"}
    assert set(finalized.about) == {"why", "times", "workflow_id"}
    assert "private" not in f"{deleted}{finalized}"


async def test_acting_as_another_agent_is_noted_with_which_one(alone: Application, worker: Caller) -> None:
    await ask(alone, worker, "await_workflow_event", agent_id="agent-b", timeout_s=0)
    (entry,) = noted(alone, by=worker.name)
    assert (entry.change, entry.about["agent_id"]) == ("await_workflow_event", "agent-b")
    assert "bound to agent 'agent-a'" in entry.about["why"]


async def test_a_flood_of_refusals_is_one_entry_a_minute_that_tells_how_many_there_were(
    replica: Replica, worker: Caller
) -> None:
    application, clock = replica(), Clock()
    notes = RefusalNotes(application.audit, application.keys, Pace(monotonic=clock))
    for _ in range(500):
        note = notes.refused(worker, "delete_agent", Forbidden("No."), {})
        if note is not None:
            note()
    assert [entry.about["times"] for entry in noted(application, by=worker.name)] == ["1"]
    clock.now += 61
    note = notes.refused(worker, "delete_agent", Forbidden("No."), {})
    assert note is not None
    note()
    assert [entry.about["times"] for entry in noted(application, by=worker.name)] == ["500", "1"]


async def test_a_key_or_a_token_in_the_wrong_place_is_not_kept(alone: Application, worker: Caller) -> None:
    for number, secret in enumerate(("dcf_0123456789ab_" + "x" * 43, "lease-" + "y" * 32, "redis://:z@redis/0")):
        name = f"{worker.name}{number}"
        caller = key_of(*WORKER, agent_id="agent-a", name=name)
        await ask(alone, caller, "finalize_workflow", workflow_id=secret)
        (entry,) = noted(alone, by=name)
        assert entry.about["workflow_id"] == "(not kept)"
        assert secret not in str(entry)


async def test_what_the_trail_cannot_take_does_not_change_the_answer(
    alone: Application, worker: Caller, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise StoreUnavailable("Redis refuses writes: its memory is full (OOM).")

    monkeypatch.setattr(type(alone.audit), "note_refusal", full)
    caplog.set_level(logging.WARNING)
    answer = await ask(alone, worker, "finalize_workflow", workflow_id="order-42")
    assert answer.code == "forbidden"
    assert "a refusal, log-in or export is not recorded: store_unavailable" in caplog.text


# Keys that open nothing


@pytest.fixture(scope="module")
def site(replica: Replica) -> Application:
    return replica(auth="keys", public_url="https://dcf.example/mcp")


@pytest.fixture(scope="module")
def url(site: Application) -> Iterator[str]:
    with serving(build_http_app(site)) as server_url:
        yield server_url


def _new_key(site: Application, *, life_s: int | None = None) -> tuple[str, str]:
    made = site.keys.create((Scope.READ,), agent_id=None, label=None, life_s=life_s)
    return made.record.key_id, made.text


def _log_in(url: str, key: str) -> int:
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {key}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    return httpx2.post(f"{url}/mcp", json=body, headers=headers).status_code


def _noted_within(site: Application, url: str, key: str, **expected: Any) -> list[AuditEntry]:
    """Log in until the server has looked why the key is not valid, which happens at most now and then."""
    for _ in range(200):
        assert _log_in(url, key) == 401
        audit_entries = noted(site, type="login", **expected)
        if audit_entries:
            return audit_entries
    return []


def test_wrong_revoked_and_expired_keys_are_noted_without_the_secret(
    site: Application, url: str, own_redis: RestrictedRedis
) -> None:
    wrong, revoked, expired = (_new_key(site) for _ in range(3))
    site.keys.revoke(revoked[0])
    admin = Connections(open_pool(own_redis.admin_url))
    set_member(asking(admin), f"cp:idx:keys:{expired[0]}", "expires_at", 1)
    forged = wrong[1][:-4] + ("AAAA" if not wrong[1].endswith("AAAA") else "BBBB")
    for (key_id, _), text, why in (
        (wrong, forged, "wrong"),
        (revoked, revoked[1], "revoked"),
        (expired, expired[1], "expired"),
    ):
        (entry,) = _noted_within(site, url, text, by=f"key:{key_id}")
        assert (entry.change, entry.outcome) == ("log in", why)
        assert entry.about["key_id"] == key_id
        assert text.split("_", 2)[2] not in everything_in(admin)
    admin.close()


def test_what_is_no_key_at_all_is_noted_and_not_kept(site: Application, url: str) -> None:
    assert _log_in(url, "hunter2-password") == 401
    entries = [entry for entry in noted(site, type="login", by="dcf") if entry.outcome == "malformed"]
    assert entries
    assert "hunter2" not in str(entries)


def test_a_flood_of_invented_keys_makes_few_entries(site: Application, url: str) -> None:
    before = len(noted(site, type="login"))
    for _ in range(20):
        assert _log_in(url, f"dcf_{secrets.token_hex(6)}_{'x' * 43}") == 401
    assert len(noted(site, type="login")) - before <= 2, "one unknown, one that was not looked up"
