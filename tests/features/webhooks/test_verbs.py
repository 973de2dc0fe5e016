"""Registered agents: permitted callers, the shown facts, and secrets that are shown once."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.webhooks import verify
from tests.support.agents.receivers import Receiver, receiver
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.access import ask, key_of
from tests.tools.calls import ONE_TASK, Tools, new_run

pytestmark = pytest.mark.anyio

OPERATOR = key_of(Scope.READ, Scope.OPERATE)


@pytest.fixture
def found() -> Iterator[Receiver]:
    with receiver() as item:
        yield item


@pytest.fixture
def listed(replica: Any, found: Receiver) -> Application:
    """A server whose operator lists the receiver's address, which is on loopback."""
    application: Application = replica(webhook_endpoints=(found.url,), allow_operator=True)
    return application


async def test_a_secret_is_shown_to_who_had_it_made_and_to_nobody_else(
    application: Application, raw_redis: redis.Redis
) -> None:
    made = await ask(application, OPERATOR, "register_agent", agent_id="hook-1", url="https://a.example/x?key=hidden")
    assert made.code == "ok", made.text
    secret = made["secret"]
    assert secret.startswith("whsec_")
    assert made["url"] == "https://a.example:443"
    again = await ask(application, OPERATOR, "register_agent", agent_id="hook-1", url="https://b.example/")
    assert (again["secret"], again["key_ids"]) == (None, made["key_ids"])
    rotated = await ask(application, OPERATOR, "register_agent", agent_id="hook-1", new_key="overlap")
    assert rotated["secret"] not in {None, secret}
    assert rotated["key_ids"][1:] == made["key_ids"]
    rows = await ask(application, OPERATOR, "list_registered_agents")
    trail = str(raw_redis.xrange("cp:idx:audit"))
    assert "hook-1" in trail
    for hidden in (secret, rotated["secret"], "hidden"):
        assert hidden not in rows.text + trail


@rows(
    ("url", "code"),
    [
        ("http://a.example/", "forbidden"),
        ("https://127.0.0.1/", "forbidden"),
        ("https://169.254.169.254/", "forbidden"),
        ("nonsense", "invalid_argument"),
        (None, "invalid_argument"),
    ],
)
async def test_a_url_that_nothing_is_sent_to_is_refused(application: Application, url: str | None, code: str) -> None:
    answer = await ask(application, OPERATOR, "register_agent", agent_id="hook-2", url=url)
    assert answer.code == code, answer.text


async def test_an_agent_of_another_platform_is_not_made_a_webhook(application: Application) -> None:
    made = application.platforms.maker("mailbox")[1]
    from dcf.ports import AgentWish  # noqa: PLC0415 - only here

    agent_id = made.create_agent(AgentWish(name="reader"))
    answer = await ask(application, OPERATOR, "register_agent", agent_id=agent_id, url="https://a.example/")
    assert answer.code == "conflict", answer.text


async def test_a_key_is_made_for_a_webhook_that_there_is(application: Application) -> None:
    answer = await ask(application, OPERATOR, "register_agent", agent_id="no-such-hook", new_key="at_once")
    assert answer.code == "unknown_agent", answer.text


async def test_a_deleted_webhook_gets_nothing_more(application: Application) -> None:
    await ask(application, OPERATOR, "register_agent", agent_id="hook-3", url="https://a.example/")
    caller = key_of(Scope.READ, Scope.PLAN, Scope.OPERATE)
    reply = await ask(application, caller, "delete_agent", agent_id="hook-3")
    assert reply["deleted_agent_id"] == "hook-3"
    rows = await ask(application, OPERATOR, "list_registered_agents")
    assert "hook-3" not in [row["agent_id"] for row in rows["agents"]]
    assert application.platforms.deliver("hook-3", "r:A:1:state_ready", {}).failure == "unknown_agent"


async def test_the_work_of_a_run_reaches_a_webhook_beside_an_agent_with_an_inbox(
    listed: Application, tools: Tools, found: Receiver, run_id: str
) -> None:
    secret = (await ask(listed, OPERATOR, "register_agent", agent_id=f"h-{run_id}", url=found.url))["secret"]
    states = {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}
    agents = {"A": f"h-{run_id}", "B": f"reader-{run_id}"}
    await new_run(tools, run_id, {"asl": {"StartAt": "A", "States": states}}, agents_map_json=agents)
    everyone = key_of(*Scope)
    await ask(listed, everyone, "notify_next_worker_agent", workflow_id=run_id)
    (came,) = found.came
    event = verify(came.headers, came.body, secret)
    assert (event.workflow_id, event.state) == (run_id, "A")
    done = await ask(listed, everyone, "send_task_success", task_token=event.task_token, output_json={"n": 1})
    assert (done["state"], done["state_status"], done["next_states"]) == ("A", "succeeded", ["B"])
    again = await ask(listed, everyone, "send_task_success", task_token=event.task_token, output_json={"n": 1})
    assert again["repeated"]
    wait_until(lambda: not listed.notifications.deliver_all(run_id))
    got = await ask(listed, everyone, "await_workflow_event", agent_id=f"reader-{run_id}", timeout_s=50)
    assert got["event"]["target_state"] == "B", got.text


async def test_one_task_is_enough(listed: Application, tools: Tools, found: Receiver, run_id: str) -> None:
    """Example: the run's planner is a webhook too, and hears of its end."""
    for name in ("worker", "planner"):
        await ask(listed, OPERATOR, "register_agent", agent_id=f"{name}-{run_id}", url=found.url)
    await new_run(
        tools, run_id, ONE_TASK, agents_map_json={"A": f"worker-{run_id}"}, planner_agent_id=f"planner-{run_id}"
    )
    await ask(listed, key_of(*Scope), "notify_next_worker_agent", workflow_id=run_id)
    token = json.loads(found.came[0].body)["data"]["task_token"]
    await ask(listed, key_of(*Scope), "send_task_success", task_token=token, output_json=1)
    wait_until(lambda: len(found.came) == 2)
    assert json.loads(found.came[1].body)["type"] == "run_finished"
