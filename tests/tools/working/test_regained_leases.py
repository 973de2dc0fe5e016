"""An agent that lost its memory gets its lease back by the key for which dcf drew the token, and no other key does."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Caller, local_caller
from tests.support.tables import rows
from tests.tools.access import PLANNER, ask, key_of
from tests.tools.calls import Answer, Tools
from tests.tools.working.test_work_in_events import ready

pytestmark = pytest.mark.anyio

LOCAL = local_caller(operator=True)


def ours(agent: str) -> Caller:
    """Our key, which is bound to the agent."""
    return key_of(*PLANNER, agent_id=agent)


def theirs(agent: str) -> Caller:
    """Another key of the same agent."""
    return key_of(*PLANNER, agent_id=agent, name="key:ba9876543210")


ASKS: dict[str, dict[str, Any]] = {
    "acquire_state_lease": {"state": "A", "names": "owner_agent_id", "run": True},
    "claim_ready_state": {"names": "owner_agent_id", "run": True},
    "find_work": {"names": "agent_id", "claim": True},
    "await_workflow_event": {"names": "agent_id", "timeout_s": 50},
}


@pytest.fixture
async def agent(tools: Tools, run_id: str) -> str:
    name = f"agent-{run_id}"
    await ready(tools, run_id, name)
    return name


async def leased(application: Application, tool: str, run: str, agent: str) -> Answer:
    """Have our key lease the state by this tool, and give a sign of the lease."""
    more = dict(ASKS[tool])
    more |= {more.pop("names"): agent} | ({"workflow_id": run} if more.pop("run", False) else {})
    answer = await ask(application, ours(agent), tool, **more)
    token = answer["work"]["lease_token"]
    await ask(application, ours(agent), "renew_state_lease", workflow_id=run, state="A", lease_token=token)
    return answer


@rows("tool", ASKS)
async def test_the_same_owner_and_key_get_the_same_lease_again(
    application: Application, tools: Tools, tool: str
) -> None:
    run = f"run-{secrets.token_hex(5)}"
    agent = f"agent-{run}"
    await ready(tools, run, agent)
    first = await leased(application, tool, run, agent)
    again = await ask(application, ours(agent), "acquire_state_lease", workflow_id=run, state="A", owner_agent_id=agent)
    assert again["status"] == "lease_already_held"
    assert again["work"]["lease_token"] == first["work"]["lease_token"]
    assert (again["work"]["attempt"], again["work"]["input"]) == (1, {"n": 1})


async def test_another_key_of_the_same_agent_gets_no_lease_and_no_token(
    application: Application, run_id: str, agent: str
) -> None:
    first = await leased(application, "acquire_state_lease", run_id, agent)
    wish = {"workflow_id": run_id, "state": "A", "owner_agent_id": agent}
    assert (await ask(application, theirs(agent), "acquire_state_lease", **wish))["code"] == "lease_held"
    mine = await ask(application, theirs(agent), "get_my_assignment", agent_id=agent, workflow_id=run_id)
    assert first["work"]["lease_token"] not in mine.text


async def test_a_call_with_a_token_of_its_own_is_another_process_and_gets_no_lease(
    application: Application, run_id: str, agent: str
) -> None:
    await leased(application, "acquire_state_lease", run_id, agent)
    wish = {"workflow_id": run_id, "state": "A", "owner_agent_id": agent, "lease_token": "lease-of-a-second-worker"}
    assert (await ask(application, ours(agent), "acquire_state_lease", **wish))["code"] == "lease_held"


async def test_a_lease_whose_token_the_holder_drew_is_not_given_to_a_call_without_it(
    application: Application, run_id: str, agent: str
) -> None:
    wish = {"workflow_id": run_id, "state": "A", "owner_agent_id": agent}
    await ask(application, ours(agent), "acquire_state_lease", **wish, lease_token="lease-of-a-worker")
    assert (await ask(application, ours(agent), "acquire_state_lease", **wish))["code"] == "lease_held"


async def test_an_assignment_has_the_token_and_the_call_that_completes_the_state(
    application: Application, run_id: str, agent: str
) -> None:
    token = (await leased(application, "await_workflow_event", run_id, agent))["work"]["lease_token"]
    mine = await ask(application, ours(agent), "get_my_assignment", agent_id=agent, workflow_id=run_id)
    (state,) = [state for state in mine["states"] if state["state"] == "A"]
    assert (state["lease"]["token"], state["held_by_you"]) == (token, True)
    (complete,) = [step for step in state["next"] if step["tool"] == "update_workflow_control_plane"]
    assert complete["arguments"]["lease_token"] == token
    done = await ask(application, ours(agent), complete["tool"], **complete["arguments"] | {"output_json": {"n": 2}})
    assert done["code"] == "ok"


async def test_what_a_completion_leased_next_is_regained_as_well(
    application: Application, run_id: str, agent: str
) -> None:
    token = (await leased(application, "find_work", run_id, agent))["work"]["lease_token"]
    wish: dict[str, Any] = {"workflow_id": run_id, "state": "A", "lease_token": token, "new_status": "succeeded"}
    done = await ask(application, ours(agent), "update_workflow_control_plane", **wish, output_json=1, claim_next=True)
    again = await ask(
        application, ours(agent), "acquire_state_lease", workflow_id=run_id, state="B", owner_agent_id=agent
    )
    assert again["work"]["lease_token"] == done["work"]["lease_token"]


@rows("caller", [key_of(*PLANNER), LOCAL], ids=["a key for any agent", "the local user"])
async def test_who_may_be_several_programs_gets_no_lease_back(
    application: Application, tools: Tools, caller: Caller
) -> None:
    run = f"run-{secrets.token_hex(5)}"
    agent = f"agent-{run}"
    await ready(tools, run, agent)
    wish = {"workflow_id": run, "state": "A", "owner_agent_id": agent}
    reply = await ask(application, caller, "acquire_state_lease", **wish)
    assert (await ask(application, caller, "acquire_state_lease", **wish))["code"] == "lease_held"
    mine = await ask(application, caller, "get_my_assignment", agent_id=agent, workflow_id=run)
    assert reply["work"]["lease_token"] not in mine.text


@rows("caller", [key_of(*PLANNER), LOCAL], ids=["a key for any agent", "the local user"])
async def test_the_agent_of_a_lease_is_told_where_its_token_is(
    application: Application, tools: Tools, caller: Caller
) -> None:
    """The document says: receive the event, then acquire. Here the event was leased with it."""
    run = f"run-{secrets.token_hex(5)}"
    agent = f"agent-{run}"
    await ready(tools, run, agent)
    work = (await ask(application, caller, "await_workflow_event", agent_id=agent, timeout_s=50))["work"]
    wish = {"workflow_id": run, "state": "A", "owner_agent_id": agent}
    answer = await ask(application, caller, "acquire_state_lease", **wish)
    assert answer["code"] == "lease_held"
    assert "which is you" in answer.text
    assert "in `work` of the answer that leased it" in answer.hint
    assert work["lease_token"] not in answer.text, "another process may work under the same id"
    assert [step["tool"] for step in answer["next"]] == ["update_workflow_control_plane", "await_workflow_event"]
    again = await ask(application, caller, "acquire_state_lease", **wish, lease_token=work["lease_token"])
    assert again["status"] == "lease_already_held"
