"""`/readyz` and `read_health`: the same report, for anybody in levels and counts and for operators in full."""

import asyncio
import itertools
import os
import signal
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
import redis
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.core.access.model import Scope
from dcf.features.health.findings import Topic
from dcf.features.health.operations import HealthReport
from dcf.features.health.readiness import Readiness
from dcf.settings.process import Settings
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.embedded import server as embedded
from dcf.store.keys import table as keys
from dcf.tools.mcp.selection import PROFILES
from dcf.tools.mcp.server import build_http_app, build_server
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.support.world import World
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, Tools, new_run, serving

pytestmark = pytest.mark.anyio

WELL = HealthReport(findings=())


@contextmanager
def alone_of(folder: Path) -> Iterator[tuple[Application, redis.Redis]]:
    """dcf on an embedded server of its own, and the server's administrator."""
    settings = Settings.model_validate({"data_dir": folder / "data", "auth": "off"})
    with open_application(settings) as application, redis.Redis.from_url(application.redis_url) as admin:
        yield application, admin


def test_a_full_memory_makes_a_server_unready_although_it_can_be_read(tmp_path: Path) -> None:
    with alone_of(tmp_path) as (application, admin), serving(build_http_app(application)) as url:
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)
        admin.config_set("maxmemory", 1000)
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 503)
        document = httpx2.get(f"{url}/readyz").json()
        assert (document["ok"], document["level"], document["checks"]["redis"]) == (False, "failing", "ok")
        assert document["checks"]["writes"] == "failing"
        admin.config_set("maxmemory", 0)
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)


def test_a_server_with_warnings_is_ready_and_tells_strangers_no_more_than_levels(tmp_path: Path) -> None:
    with alone_of(tmp_path) as (application, _), serving(build_http_app(application)) as url:
        wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)
        response = httpx2.get(f"{url}/readyz")
        assert response.json() == {
            "ok": True,
            "level": "warning",
            "failing": 0,
            "warnings": 1,
            "checks": {topic.value: "ok" for topic in Topic} | {"durability": "warning"},
        }
        assert len(response.content) < 300


def test_a_redis_that_hangs_delays_nobody(tmp_path: Path) -> None:
    """A stopped process takes connections and packets, and does not answer. Its own deadline here is ten minutes."""
    with embedded.start(tmp_path / "data") as server:
        settings = Settings.model_validate({"redis_url": f"{server.url}?socket_timeout=600", "auth": "off"})
        with open_application(settings) as application, serving(build_http_app(application)) as url:
            os.kill(server.pid, signal.SIGSTOP)
            try:
                for _ in range(2):
                    response = httpx2.get(f"{url}/readyz", timeout=60)
                    assert response.status_code == 503
                    assert response.json()["checks"] == {"redis": "failing"}
                assert httpx2.get(f"{url}/healthz", timeout=60).status_code == 200
            finally:
                os.kill(server.pid, signal.SIGCONT)
            wait_until(lambda: httpx2.get(f"{url}/readyz").status_code == 200)


async def test_one_report_is_made_at_a_time_and_others_wait_until_their_deadline() -> None:
    made = list[int]()
    go_on = threading.Event()

    def check() -> HealthReport:
        made.append(1)
        go_on.wait(60)
        return WELL

    hours = itertools.count(0, 3600).__next__
    impatient = Readiness(check, deadline_s=0.01, monotonic=hours)
    patient = Readiness(check, deadline_s=60, monotonic=hours)
    for _ in range(20):
        status, result = await impatient.answer()
        assert (status, result["checks"]) == (503, {"redis": "failing"})
    assert len(made) == 1, "one hangs, not twenty"
    waiting = [asyncio.create_task(patient.answer()) for _ in range(20)]
    await asyncio.sleep(0)
    go_on.set()
    assert [status for status, _ in await asyncio.gather(*waiting)] == [200] * 20
    assert len(made) == 2


async def test_a_report_is_good_for_a_second() -> None:
    made, now = list[int](), [0.0]

    def check() -> HealthReport:
        made.append(1)
        return WELL

    readiness = Readiness(check, monotonic=lambda: now[0])
    for now[0] in (0.0, 0.1, 0.9, 1.0, 1.9, 2.1):
        await readiness.answer()
    assert len(made) == 3


def test_a_defect_of_the_report_is_logged_and_answered(
    application: Application, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> HealthReport:
        raise RuntimeError("canary")

    monkeypatch.setattr(application.health, "report", broken)
    checked = application.health.checked()
    assert not checked.is_ready
    assert "canary" not in str(checked.as_json())
    assert "the health report could not be made" in caplog.text


def test_a_platform_that_does_not_answer_is_told(tmp_path: Path) -> None:
    """By the process that met it, to a caller of any other process."""
    with embedded.start(tmp_path / "data") as server:
        mailbox = Settings.model_validate({"redis_url": server.url})
        away = Settings.model_validate({"redis_url": server.url, "letta_base_url": f"http://127.0.0.1:{free_port()}"})
        with open_application(mailbox) as other, open_application(away) as application:
            world = World(connections=Connections(open_pool(server.url)))
            for _ in range(3):
                world.plane.kick_off(world.create(ONE_TASK, agents={"A": f"agent-{uuid.uuid4()}"}), "initial")
            world.connections.close()
            application.clock.pulse()
            application.clock.finish(30)
            application.activity._next = 0.0
            application.clock.pulse()
            report = other.health.report()
            assert report.summary()["checks"]["platform"] == "warning"
            assert report.vitals is not None
            assert [
                (platform_trouble.kind, platform_trouble.failures >= 3) for platform_trouble in report.vitals.troubled
            ] == [("letta", True)]
            assert report.is_ready


# The tool


async def test_an_operator_reads_the_report_and_nobody_else(alone: Application) -> None:
    answer = await ask(alone, key_of(Scope.OPERATE), "read_health")
    assert answer["checks"][0]["topic"] == "redis"
    assert {check["topic"] for check in answer["checks"]} == {topic.value for topic in Topic}
    assert all(set(check) == {"topic", "level", "sentence", "remedy"} for check in answer["checks"])
    assert answer["facts"]["dcf"]
    assert answer["facts"]["redis_version"].startswith(("8.", "9."))
    assert {"memory", "durability", "replicas", "clock", "agents", "platforms", "lists"} <= set(answer["facts"])
    others = key_of(*set(Scope) - {Scope.OPERATE})
    assert (await ask(alone, others, "read_health")).code == "forbidden"
    offered = {name: names is None or "read_health" in names for name, names in PROFILES.items()}
    assert {name for name, is_offered in offered.items() if is_offered} == {"operator", "all"}


async def test_the_tool_and_readyz_agree(replica: Callable[..., Application]) -> None:
    application = replica(allow_operator=True)
    async with Client(build_server(application)) as client:
        answer = await (await Tools.of(client)).ok("read_health")
    summary = application.health.report().summary()
    assert (answer["ok"], answer["level"]) == (summary["ok"], summary["level"])
    levels = ["ok", "warning", "failing"]
    worst: dict[str, str] = {}  # a topic may have several findings
    for check in answer["checks"]:
        worst[check["topic"]] = max(check["level"], worst.get(check["topic"], "ok"), key=levels.index)
    assert worst == summary["checks"]


async def test_a_report_on_a_redis_that_refuses_writes_is_an_answer(tmp_path: Path) -> None:
    with alone_of(tmp_path) as (application, admin):
        admin.config_set("maxmemory", 1000)
        answer = await ask(application, key_of(Scope.OPERATE), "read_health")
        assert (answer.code, answer["ok"], answer["level"]) == ("ok", False, "failing")
        (writes,) = (check for check in answer["checks"] if check["topic"] == "writes")
        assert writes["sentence"] == "Redis refuses writes: its memory is full (OOM)."
        assert writes["remedy"].startswith("Delete runs that are over (dcf runs prune")


# Who is seen


async def test_who_calls_is_seen_and_the_call_sends_nothing_for_it(
    replica: Callable[..., Application], raw_redis: redis.Redis, run_id: str
) -> None:
    application = replica(allow_operator=True)
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await new_run(tools, run_id, ONE_TASK, agents_map_json={"A": f"w-{run_id}"})
        await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id=f"w-{run_id}")
        assert raw_redis.zscore(keys.SEEN, f"w-{run_id}") is None
        application.clock.pulse()
        assert raw_redis.zscore(keys.SEEN, f"w-{run_id}") is not None
        answer = await tools.ok("read_health")
        assert f"w-{run_id}" in [agent["agent_id"] for agent in answer["facts"]["agents"]]


async def test_an_agent_with_a_key_is_seen_by_any_call_and_a_refused_caller_is_not(
    alone: Application, raw_redis: redis.Redis, run_id: str
) -> None:
    bound, other, refused = f"bound-{run_id}", f"other-{run_id}", f"refused-{run_id}"
    await ask(alone, key_of(Scope.READ, agent_id=bound), "get_skillset")
    await ask(alone, key_of(Scope.READ, agent_id=refused), "acquire_state_lease", owner_agent_id=refused)
    await ask(alone, key_of(Scope.WORK, agent_id=refused), "claim_ready_state", workflow_id="x", owner_agent_id=other)
    alone.activity._next = 0.0
    alone.activity.write()
    seen = [raw_redis.zscore(keys.SEEN, name) is not None for name in (bound, other, refused)]
    assert seen == [True, False, False]
