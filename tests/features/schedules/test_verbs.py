"""The tools on schedules, as an MCP client calls them; whose schedules one may operate, and how many there may be."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest
import redis
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.access.model import Caller, Scope
from dcf.features.schedules import keys as schedule_keys
from dcf.features.schedules.model import MOST_OF_ONE, MOST_SCHEDULES
from dcf.tools.mcp.server import build_server
from dcf.values.instants import SECOND
from tests.support.redis.documents import add_to_member, set_member
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, Tools

pytestmark = pytest.mark.anyio

SMALLEST_ANSWER = 16 * 1024


@pytest.fixture
def name() -> str:
    return f"s-{secrets.token_hex(4)}"


def wish(name: str, **more: Any) -> dict[str, Any]:
    document = ONE_TASK | {"workflow_name": "Nightly", "version": secrets.token_hex(4)}
    timing = {} if "cron" in more else {"every_s": 900}
    return {"name": name, "workflow_json": document, **timing, **more}


def due(application: Application, raw_redis: redis.Redis, name: str) -> int:
    """As if the next tick had come; what a clock does then."""
    client: Any = raw_redis
    add_to_member(client.execute_command, schedule_keys.schedule(name), "next_at", -901 * SECOND)
    return application.schedules.look(name)


async def test_a_schedule_is_created_read_paused_triggered_resumed_and_deleted(
    tools: Tools, application: Application, raw_redis: redis.Redis, name: str
) -> None:
    request = wish(name, agents_map_json={"A": "w"}, input_json={"n": 1}, tags_json=["nightly"])
    made = await tools.ok("create_schedule", **request)
    assert (made["existed"], made["schedule"]["status"]) == (False, "active")
    assert made["schedule"]["next_at"] in made.hint
    assert made["warnings"] == []
    assert (await tools.ok("create_schedule", **request))["existed"]
    await tools.refused("schedule_exists", "create_schedule", **request | {"every_s": 60})
    assert due(application, raw_redis, name) == 1
    (read,) = (await tools.ok("list_schedules", name=name))["schedules"]
    (tick,) = read["history"]
    assert (tick["outcome"], tick["run"]) == ("started", read["latest_run"])
    listed = (await tools.ok("list_runs", tag=f"schedule:{name}"))["runs"]
    assert [run["workflow_id"] for run in listed] == [tick["run"]]
    assert set(listed[0]["tags"]) == {"nightly", f"schedule:{name}"}
    paused = await tools.ok("operate_schedule", name=name, action="pause", reason="holidays")
    assert (paused["schedule"]["status"], paused["schedule"]["next_at"]) == ("paused", None)
    assert due(application, raw_redis, name) == 0
    triggered = await tools.ok("operate_schedule", name=name, action="trigger", request_id="r")
    again = await tools.ok("operate_schedule", name=name, action="trigger", request_id="r")
    assert (again["workflow_id"], again["existed"]) == (triggered["workflow_id"], True)
    assert (await tools.ok("operate_schedule", name=name, action="resume"))["schedule"]["status"] == "active"
    assert (await tools.ok("delete_schedule", name=name))["existed"]
    assert not (await tools.ok("delete_schedule", name=name))["existed"]
    await tools.refused("unknown_schedule", "list_schedules", name=name)
    changes = {entry.change: entry.about for entry in application.audit.newest(20) if entry.about.get("name") == name}
    assert set(changes) == {"create_schedule", "operate_schedule", "delete_schedule"}


async def test_nobody_is_shown_what_the_ids_of_its_runs_follow_from(
    tools: Tools, application: Application, name: str
) -> None:
    made = await tools.ok("create_schedule", **wish(name))
    assert "A" in made["warnings"][0], "nobody is assigned to it"
    secret = application.schedules.read(name).generation
    read = await tools.ok("list_schedules", name=name)
    assert secret not in str(made)
    assert secret not in str(read)
    await tools.ok("delete_schedule", name=name)


async def test_schedules_are_listed_in_pages(tools: Tools) -> None:
    prefix = f"p-{secrets.token_hex(4)}"
    names = [f"{prefix}-{number}" for number in range(5)]
    for name in names:
        await tools.ok("create_schedule", **wish(name))
    result: list[str] = []
    cursor: str | None = prefix
    while cursor is not None:
        page = await tools.ok("list_schedules", limit=2, cursor=cursor)
        result += [schedule["name"] for schedule in page["schedules"]]
        cursor = page["next_cursor"]
    assert [item for item in result if item in names] == names
    for name in names:
        await tools.ok("delete_schedule", name=name)


async def test_a_page_that_is_full_ends_early_and_the_next_one_goes_on(replica: Callable[..., Application]) -> None:
    prefix = f"f-{secrets.token_hex(4)}"
    names = [f"{prefix}-{number}" for number in range(20, 100)]
    async with Client(build_server(replica(max_result_bytes=SMALLEST_ANSWER))) as client:
        tools = await Tools.of(client)
        for name in names:
            await tools.ok("create_schedule", **wish(name))
        first = await tools.ok("list_schedules", cursor=prefix, limit=100)
        after = await tools.ok("list_schedules", cursor=first["next_cursor"], limit=100)
        listed = [schedule["name"] for page in (first, after) for schedule in page["schedules"]]
        assert len(first["schedules"]) < len(names)
        assert listed[: len(names)] == names
        for name in names:
            await tools.ok("delete_schedule", name=name)


async def test_a_page_reads_its_own_schedules_only_and_names_the_one_that_is_damaged(
    tools: Tools, raw_redis: redis.Redis
) -> None:
    prefix = f"d-{secrets.token_hex(4)}"
    names = [f"{prefix}-{number}" for number in range(3)]
    for name in names:
        await tools.ok("create_schedule", **wish(name))
    client: Any = raw_redis
    set_member(client.execute_command, schedule_keys.schedule(names[2]), "timing", 7)
    try:
        page = await tools.ok("list_schedules", limit=2, cursor=prefix)
        assert [schedule["name"] for schedule in page["schedules"]] == names[:2]
        refused = await tools.refused("store_unsuitable", "list_schedules", limit=2, cursor=page["next_cursor"])
        assert names[2] in refused.error
    finally:
        for name in names:
            await tools.ok("delete_schedule", name=name)


@rows(
    ("more", "code"),
    [
        ({"every_s": 9}, "invalid_argument"),
        ({"cron": "0 7 * * *", "timezone": "Europe"}, "invalid_argument"),
        ({"cron": "0 7 * *"}, "invalid_argument"),
        ({"name": "a" * 55}, "invalid_argument"),
        ({"definition": "x@1"}, "invalid_argument"),
        ({"definition": "x@1", "workflow_json": None}, "unknown_definition"),
        ({"agents_map_json": {"Z": "w"}}, "invalid_argument"),
        ({"workflow_json": {"asl": {}}}, "invalid_definition"),
        ({"tags_json": [f"t{number}" for number in range(20)]}, "invalid_argument"),
        ({"jitter_s": 900}, "invalid_argument"),
    ],
)
async def test_a_wrong_wish_is_refused_and_creates_nothing(
    tools: Tools, name: str, more: dict[str, Any], code: str
) -> None:
    await tools.refused(
        code, "create_schedule", **wish(name, **{key: more[key] for key in more if key != "name"}) | more
    )
    await tools.refused("unknown_schedule", "list_schedules", name=name)


async def test_the_input_of_a_schedule_has_64_kib_at_most(tools: Tools, name: str) -> None:
    await tools.refused("too_large", "create_schedule", **wish(name, input_json=["x" * (64 * 1024 - 3)]))
    await tools.ok("create_schedule", **wish(name, input_json=["x" * (64 * 1024 - 4)]))
    await tools.ok("delete_schedule", name=name)


def planner(agent_id: str | None, *more: Scope) -> Caller:
    return key_of(Scope.READ, Scope.PLAN, *more, agent_id=agent_id, name=f"key:{secrets.token_hex(6)}")


async def test_a_key_bound_to_an_agent_operates_the_schedules_of_that_agent_only(
    application: Application, name: str
) -> None:
    mine, other = planner("boss"), planner("rival")
    made = await ask(application, mine, "create_schedule", **wish(name))
    assert made["schedule"]["planner_agent_id"] == "boss"
    for tool, arguments in (
        ("operate_schedule", {"action": "pause"}),
        ("operate_schedule", {"action": "resume"}),
        ("operate_schedule", {"action": "trigger"}),
        ("delete_schedule", {}),
    ):
        assert (await ask(application, other, tool, name=name, **arguments)).code == "forbidden"
    assert application.schedules.read(name).records == ()
    assert (await ask(application, mine, "operate_schedule", name=name, action="pause")).code == "ok"
    operator = planner("rival", Scope.OPERATE)
    assert (await ask(application, operator, "delete_schedule", name=name)).code == "ok"


async def test_there_are_a_thousand_schedules_at_most(tools: Tools, raw_redis: redis.Redis, name: str) -> None:
    there: int = raw_redis.zcard(schedule_keys.SCHEDULES)
    fillers = [f"filler-{number}" for number in range(MOST_SCHEDULES - there)]
    raw_redis.zadd(schedule_keys.SCHEDULES, dict.fromkeys(fillers, 2**52))
    try:
        refused = await tools.refused("quota_exceeded", "create_schedule", **wish(name))
        assert "1000 of 1000 schedules in all" in refused.error
        raw_redis.zrem(schedule_keys.SCHEDULES, fillers.pop())
        await tools.ok("create_schedule", **wish(name))
    finally:
        raw_redis.zrem(schedule_keys.SCHEDULES, *fillers)
    await tools.ok("delete_schedule", name=name)


async def test_a_key_creates_a_hundred_schedules_at_most(
    application: Application, raw_redis: redis.Redis, name: str
) -> None:
    mine = planner(None)
    raw_redis.zadd(schedule_keys.schedules_of(mine.name), {f"filler-{number}": 1 for number in range(MOST_OF_ONE)})
    refused = await ask(application, mine, "create_schedule", **wish(name))
    assert (refused.code, "100 of 100 schedules of this key" in refused.error) == ("quota_exceeded", True)
    raw_redis.zrem(schedule_keys.schedules_of(mine.name), "filler-0")
    assert (await ask(application, mine, "create_schedule", **wish(name))).code == "ok"
    raw_redis.delete(schedule_keys.schedules_of(mine.name))
    application.schedules.delete(name)
