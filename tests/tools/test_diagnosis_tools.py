"""explain_run and read_run_events as a client calls them."""

import pytest

from tests.support.machines import workflow
from tests.support.scopes import each, parallel, task
from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio


async def test_a_run_that_was_not_started_is_explained_and_its_remedy_is_a_call(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    answer = await tools.ok("explain_run", workflow_id=run_id)
    (finding,) = answer["findings"]
    assert (answer["run_status"], answer["stuck"], finding["cause"]) == ("running", False, "not_started")
    call = finding["remedy"]["call"]
    await tools.ok(call["tool"], **call["arguments"])
    answer = await tools.ok("explain_run", workflow_id=run_id)
    assert answer["findings"][0]["cause"] == "not_taken"
    answer = await tools.ok("explain_run", workflow_id=run_id, state="B")
    assert answer["findings"][0]["evidence"]["waits_for"] == ["A"]
    assert "State 'B' waits for A." in answer["status"]


async def test_no_lease_token_stands_in_an_explanation_or_in_the_events(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    secret = f"secret-{run_id}-token"
    await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="worker-1", lease_token=secret)
    explained = await tools.ok("explain_run", workflow_id=run_id)
    told = await tools.ok("read_run_events", workflow_id=run_id)
    assert "worker-1" in explained.text
    assert "LeaseAcquired" in told.text
    assert secret not in explained.text + told.text


async def test_events_come_in_pages_by_state_and_type(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    whole = (await tools.ok("read_run_events", workflow_id=run_id))["events"]
    first = await tools.ok("read_run_events", workflow_id=run_id, limit=1)
    rest = await tools.ok("read_run_events", workflow_id=run_id, cursor=first["next_cursor"])
    assert first["events"] + rest["events"] == whole
    newest = await tools.ok("read_run_events", workflow_id=run_id, newest_first=True)
    assert newest["events"] == whole[::-1]
    of_a = await tools.ok("read_run_events", workflow_id=run_id, states_json=["A"], types_json='["StateEntered"]')
    assert [(one["type"], one["state"]) for one in of_a["events"]] == [("StateEntered", "A")]
    nothing = await tools.ok("read_run_events", workflow_id=run_id, until="2001-01-01T00:00:00Z")
    assert nothing["events"] == []


async def test_a_page_has_a_thousand_events_at_most(tools: Tools, run_id: str) -> None:
    states: dict[str, dict[str, object]] = {
        f"S{number}": {"Type": "Pass", "Next": f"S{number + 1}"} for number in range(2000)
    }
    states["S2000"] = {"Type": "Task", "End": True}
    await new_run(tools, run_id, {"asl": {"StartAt": "S0", "States": states}}, agents_map_json={})
    page = await tools.ok("read_run_events", workflow_id=run_id, limit=1000)
    assert len(page["events"]) == 1000
    assert page["next_cursor"] == page["events"][-1]["id"]


@pytest.mark.parametrize("wrong", [{"cursor": "x"}, {"since": "noon"}, {"types_json": "{}"}])
async def test_arguments_that_mean_nothing_are_refused(tools: Tools, run_id: str, wrong: dict[str, object]) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    await tools.refused("invalid_argument", "read_run_events", workflow_id=run_id, **wrong)


async def test_a_run_that_is_not_there_is_unknown(tools: Tools) -> None:
    await tools.refused("unknown_run", "explain_run", workflow_id="no-such-run")
    await tools.refused("unknown_run", "read_run_events", workflow_id="no-such-run")


async def test_the_pages_of_an_export_together_have_everything_once(tools: Tools, run_id: str) -> None:
    states = {"Each": each({"Both": parallel({"L": task()}, {"R": task()})}, "End"), "End": task()}
    await new_run(tools, run_id, workflow(states), input_json=[0, 1], agents_map_json={})
    whole = await tools.ok("export_run", workflow_id=run_id)
    assert whole["next_cursor"] is None
    inside = [f"Each/{index}/{part}" for index in (0, 1) for part in ("Both", "Both/0/L", "Both/1/R")]
    assert list(whole["states"]) == ["Each", *inside, "End"]
    assert whole["head"]["meta"]["workflow_id"] == run_id
    paths: list[str] = []
    events: list[object] = []
    page = await tools.ok("export_run", workflow_id=run_id, limit=1)
    assert page["head"]["definition"] == whole["head"]["definition"]
    while True:
        paths += page["states"]
        events += page["events"]
        if page["next_cursor"] is None:
            break
        page = await tools.ok("export_run", workflow_id=run_id, limit=1, cursor=page["next_cursor"])
        assert page["head"] is None
    assert (paths, events) == (list(whole["states"]), whole["events"])


@pytest.mark.parametrize("wrong", ["x", "state:Nowhere", "state:Each/0/Other", "event:x", "state:"])
async def test_an_export_goes_on_only_where_a_page_ended(tools: Tools, run_id: str, wrong: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    await tools.refused("invalid_argument", "export_run", workflow_id=run_id, cursor=wrong)
