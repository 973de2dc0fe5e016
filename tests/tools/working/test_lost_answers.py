"""After a lost answer to a call that asks for work, the same caller gets the same work again."""

import secrets
from typing import Any

import pytest
import redis

from dcf.application.application import Application
from dcf.core.access.model import Caller
from dcf.core.leasing.first_terms import FIRST_TERM_S
from dcf.values.instants import SECOND, from_text
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.tools.access import PLANNER, ask, key_of
from tests.tools.calls import Answer, Tools, new_run
from tests.tools.working.test_work_in_events import awaited, ready

pytestmark = pytest.mark.anyio


@pytest.fixture
def agent(run_id: str) -> str:
    return f"agent-{run_id}"


def lease_of(answer: Answer) -> dict[str, Any]:
    """The arguments that name the lease of an answer."""
    return {name: answer["work"][name] for name in ("workflow_id", "state", "lease_token")}


def server_time(raw_redis: redis.Redis) -> int:
    seconds, micros = raw_redis.time()
    return int(seconds) * SECOND + int(micros)


async def test_who_waits_again_without_an_id_gets_the_same_work_until_it_used_the_token(
    tools: Tools, run_id: str, agent: str
) -> None:
    await ready(tools, run_id, agent)
    first = await awaited(tools, agent)
    again = await awaited(tools, agent)
    assert (lease_of(again), again["repeated"], again["work"]["attempt"]) == (lease_of(first), True, 1)
    await tools.ok("renew_state_lease", **lease_of(again))
    assert (await awaited(tools, agent))["status"] == "timeout"


def asking(tool: str, run: str, agent: str) -> dict[str, Any]:
    """The arguments of a call that asks for work of this run, or of all runs."""
    calls: dict[str, dict[str, Any]] = {
        "await_workflow_event": {"agent_id": agent, "timeout_s": 0},
        "claim_ready_state": {"workflow_id": run, "owner_agent_id": agent},
        "find_work": {"agent_id": agent, "claim": True},
    }
    return calls[tool]


@rows("claims", ["claim_ready_state", "find_work"])
async def test_who_claims_again_without_a_token_gets_the_same_work_until_it_used_the_token(
    tools: Tools, claims: str
) -> None:
    run = f"run-{secrets.token_hex(5)}"
    agent = f"agent-{run}"
    await new_run(tools, run, agents_map_json={"A": agent})
    wish = asking(claims, run, agent)
    first = await tools.ok(claims, **wish)
    again = await tools.ok(claims, **wish)
    assert (lease_of(again), again["work"]["attempt"]) == (lease_of(first), 1)
    assert again["work"]["input"] == first["work"]["input"]
    assert "sign_within_s" not in first["work"], "who claims is there: its lease is no shorter"
    await tools.ok("renew_state_lease", **lease_of(again))
    await tools.refused("nothing_ready", claims, **wish)


async def test_a_claim_with_other_filters_is_another_one(tools: Tools, run_id: str, agent: str) -> None:
    await new_run(tools, run_id, agents_map_json={"A": agent})
    wish = asking("find_work", run_id, agent)
    first = await tools.ok("find_work", **wish)
    await tools.refused("nothing_ready", "find_work", **wish, workflow_id=run_id)
    assert lease_of(await tools.ok("find_work", **wish)) == lease_of(first)


async def test_a_claim_whose_run_is_gone_gets_other_work(tools: Tools, run_id: str, agent: str) -> None:
    wish = asking("find_work", run_id, agent)
    await new_run(tools, run_id, agents_map_json={"A": agent})
    await tools.ok("find_work", **wish)
    await tools.ok("cancel_run", workflow_id=run_id, reason="not needed")
    await tools.ok("delete_run", workflow_id=run_id)
    await new_run(tools, f"{run_id}-2", agents_map_json={"A": agent})
    assert (await tools.ok("find_work", **wish))["workflow_id"] == f"{run_id}-2"


@rows("asks", ["await_workflow_event", "claim_ready_state", "find_work"])
async def test_another_key_gets_no_lease_that_was_granted_to_this_one(
    application: Application, tools: Tools, asks: str
) -> None:
    """Although it speaks for the same agent."""
    run = f"run-{secrets.token_hex(5)}"
    agent = f"agent-{run}"
    await ready(tools, run, agent)
    ours, theirs = key_of(*PLANNER), key_of(*PLANNER, name="key:ba9876543210")
    wish = asking(asks, run, agent)

    async def call(caller: Caller) -> Answer:
        return await ask(application, caller, asks, **wish)

    first = await call(ours)
    assert "work" not in (await call(theirs)).payload
    assert lease_of(await call(ours)) == lease_of(first)


async def test_acknowledging_the_event_of_leased_work_asks_for_more_work(tools: Tools, run_id: str, agent: str) -> None:
    await ready(tools, run_id, agent)
    first = await awaited(tools, agent)
    await ready(tools, f"{run_id}-2", agent)
    second = await awaited(tools, agent, ack_message_id=first["message_id"])
    assert (second["work"]["workflow_id"], second["acknowledged"]) == (f"{run_id}-2", True)
    again = await awaited(tools, agent, ack_message_id=first["message_id"])
    assert (lease_of(again), again["repeated"]) == (lease_of(second), True)


@rows("request_id", [None, "asked"])
async def test_work_of_a_run_that_was_finalized_with_open_states_is_not_given_again(
    tools: Tools, request_id: str | None
) -> None:
    """Its writes are refused, so that an agent that got it at every wait would never get other work."""
    run = f"run-{secrets.token_hex(5)}"
    agent = f"agent-{run}"
    await ready(tools, run, agent)
    first = await awaited(tools, agent, request_id=request_id)
    await tools.ok("finalize_workflow", workflow_id=run, close_open_states=False)
    await tools.refused("terminal", "acquire_state_lease", owner_agent_id=agent, **lease_of(first))
    assert (await awaited(tools, agent, request_id=request_id))["status"] == "timeout"
    await ready(tools, f"{run}-2", agent)
    assert (await awaited(tools, agent, request_id=request_id))["work"]["workflow_id"] == f"{run}-2"


async def test_a_frozen_wait_holds_its_state_for_a_first_term_only(
    tools: Tools, run_id: str, agent: str, raw_redis: redis.Redis
) -> None:
    await ready(tools, run_id, agent)
    work = (await awaited(tools, agent, request_id="frozen"))["work"]
    ends_at = from_text(work["lease_expires_at"])
    assert ends_at is not None
    assert ends_at - server_time(raw_redis) <= FIRST_TERM_S * SECOND
    assert work["sign_within_s"] == FIRST_TERM_S
    (finding,) = (await tools.ok("explain_run", workflow_id=run_id))["findings"]
    assert "no call came with its lease token yet" in finding["sentence"]
    set_member(
        raw_redis.execute_command, f"cp:wf:{run_id}:state:A", ("lease", "expires_at"), "2001-01-01T00:00:00.000000Z"
    )
    other = await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id=agent)
    assert other["work"]["attempt"] == 2, "another process of this agent goes on"


async def test_the_first_sign_makes_the_lease_as_long_as_it_was_asked_for(
    tools: Tools, run_id: str, agent: str, raw_redis: redis.Redis
) -> None:
    await ready(tools, run_id, agent)
    answer = await awaited(tools, agent, lease_ttl_s=300)
    renewed = await tools.ok("renew_state_lease", **lease_of(answer))
    ends_at = from_text(renewed["lease"]["expires_at"])
    assert ends_at is not None
    assert ends_at - server_time(raw_redis) > 200 * SECOND
    assert "awaits_sign" not in renewed["lease"]
