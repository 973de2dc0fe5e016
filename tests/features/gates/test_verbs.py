"""Gates through an MCP client: a worker delivers, a reviewer judges, and the worker finds out by the same call."""

import secrets
from collections.abc import Callable
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_server
from tests.support.capabilities.installation import without_gates
from tests.tools.calls import Tools, new_run

pytestmark = pytest.mark.anyio

CRITERION = "Every claim has a source."
REVIEW = {"name": "review", "kind": "review", "criteria": [CRITERION], "reviewers": ["rita"]}
SHAPE = {"name": "shape", "kind": "schema", "schema": {"type": "object", "required": ["text"]}}
GOOD = {"text": "done"}


def gated(*gates: dict[str, Any]) -> dict[str, Any]:
    first = {"Type": "Task", "Gates": list(gates), "Next": "Done"}
    return {"asl": {"StartAt": "Write", "States": {"Write": first, "Done": {"Type": "Task", "End": True}}}}


async def held(tools: Tools, *gates: dict[str, Any], agent: str = "worker-1") -> dict[str, Any]:
    """The arguments with which an agent, who holds Write, writes."""
    agents = {"agents_map_json": {"Write": agent, "Done": agent}}
    run = await new_run(tools, f"run-{secrets.token_hex(4)}", gated(*gates), **agents)
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    worker = {"workflow_id": run, "state": "Write", "owner_agent_id": agent}
    taken = await tools.ok("acquire_state_lease", **worker)
    return {**worker, "lease_token": taken["lease"]["token"]}


async def test_a_worker_delivers_a_reviewer_sends_back_and_then_lets_pass(tools: Tools) -> None:
    holder = await held(tools, SHAPE, REVIEW)
    run = holder["workflow_id"]
    done = {**holder, "new_status": "succeeded"}
    answer = await tools.refused("needs_work", "update_workflow_control_plane", **done, output_json={"txt": 1})
    assert answer["failed_criteria"][0]["feedback"] == "'text' is missing"
    answer = await tools.refused("review_running", "update_workflow_control_plane", **done, output_json=GOOD)
    assert answer["retry_after_s"]
    (waiting,) = (await tools.ok("list_gates", workflow_id=run))["gates"]
    assert (waiting["name"], waiting["criteria"], waiting["output"]) == ("review", [CRITERION], GOOD)
    verdict = {"workflow_id": run, "state": "Write", "gate": "review", "content_sha256": waiting["content_sha256"]}
    bad = {"criterion": CRITERION, "passed": False, "feedback": "The second has none."}
    details = await tools.ok("decide_gate", **verdict, verdict="pass", agent_id="rita", criteria=[bad])
    assert details["verdict"] == "fail"
    answer = await tools.refused("needs_work", "update_workflow_control_plane", **done, output_json=GOOD)
    assert answer["failed_criteria"] == [{"gate": "review", **bad}]
    better = {"text": "better"}
    await tools.refused("review_running", "update_workflow_control_plane", **done, output_json=better)
    (waiting,) = (await tools.ok("list_gates", workflow_id=run, state="Write"))["gates"]
    verdict["content_sha256"] = waiting["content_sha256"]
    details = await tools.ok(
        "decide_gate", **verdict, verdict="pass", agent_id="rita", criteria=[{"criterion": CRITERION, "passed": True}]
    )
    assert (details["state_status"], details["next_states"]) == ("succeeded", ["Done"])
    again = await tools.ok("update_workflow_control_plane", **done, output_json=better)
    assert (again["repeated"], again["next_states"]) == (True, ["Done"])
    read = await tools.ok("read_workflow_control_plane", workflow_id=run, states_json=["Write"])
    assert read["outputs"]["Write"] == better


async def test_criteria_that_no_verdict_names_are_met_where_those_that_failed_are_named(tools: Tools) -> None:
    short = "It is short."
    holder = await held(tools, {**REVIEW, "criteria": [CRITERION, short]})
    done = {**holder, "new_status": "succeeded"}
    await tools.refused("review_running", "update_workflow_control_plane", **done, output_json=GOOD)
    (waiting,) = (await tools.ok("list_gates", workflow_id=holder["workflow_id"]))["gates"]
    verdict = {"workflow_id": holder["workflow_id"], "state": "Write", "gate": "review", "agent_id": "rita"}
    verdict["content_sha256"] = waiting["content_sha256"]
    silent = await tools.refused("invalid_verdict", "decide_gate", **verdict, verdict="pass")
    assert "not judged" in silent.error
    odd = await tools.refused("invalid_verdict", "decide_gate", **verdict, verdict="fail", failed=["Odd."])
    assert "not a criterion: Odd." in odd.error
    twice = {"criteria": [{"criterion": short, "passed": True}], "failed": [short]}
    await tools.refused("invalid_verdict", "decide_gate", **verdict, verdict="fail", **twice)
    await tools.ok("decide_gate", **verdict, verdict="fail", failed=[short], comment="Cut it.")
    answer = await tools.refused("needs_work", "update_workflow_control_plane", **done, output_json=GOOD)
    failed = {"gate": "review", "criterion": short, "passed": False, "feedback": "Cut it."}
    assert answer["failed_criteria"] == [failed]
    await tools.refused("review_running", "update_workflow_control_plane", **done, output_json={"text": "cut"})
    (waiting,) = (await tools.ok("list_gates", workflow_id=holder["workflow_id"]))["gates"]
    verdict["content_sha256"] = waiting["content_sha256"]
    details = await tools.ok("decide_gate", **verdict, verdict="pass", failed=[])
    assert details["verdict"] == "pass"


async def test_a_unit_of_a_run_that_grows_has_gates_too(tools: Tools) -> None:
    run = (await tools.ok("open_run", name="release", workflow_id=f"run-{secrets.token_hex(4)}"))["workflow_id"]
    units = [{"name": "Build", "gates": [REVIEW]}, {"name": "Ship", "depends_on": ["Build"]}]
    await tools.ok("add_units", workflow_id=run, units=units)
    bad = await tools.call("add_units", workflow_id=run, units=[{"name": "Odd", "gates": [{"name": "x"}]}])
    assert "a gate needs kind" in bad.text
    worker = {"workflow_id": run, "state": "Build", "owner_agent_id": "worker-1"}
    taken = await tools.ok("acquire_state_lease", **worker)
    assert [gate["name"] for gate in taken["work"]["gates"]] == ["review"]
    done = {**worker, "lease_token": taken["lease"]["token"], "new_status": "succeeded", "output_json": GOOD}
    await tools.refused("review_running", "update_workflow_control_plane", **done)
    (waiting,) = (await tools.ok("list_gates", workflow_id=run))["gates"]
    judged = [{"criterion": CRITERION, "passed": True}]
    verdict = {"workflow_id": run, "state": "Build", "gate": "review", "verdict": "pass", "agent_id": "rita"}
    answer = await tools.ok("decide_gate", **verdict, content_sha256=waiting["content_sha256"], criteria=judged)
    assert (answer["state_status"], answer["next_states"]) == ("succeeded", ["Ship"])
    again = await tools.ok("update_workflow_control_plane", **done)
    assert again["repeated"] is True


async def test_a_unit_that_is_rewound_while_it_is_judged_is_taken_and_judged_anew(tools: Tools) -> None:
    run = (await tools.ok("open_run", name="release", workflow_id=f"run-{secrets.token_hex(4)}"))["workflow_id"]
    await tools.ok("add_units", workflow_id=run, units=[{"name": "Build", "gates": [REVIEW]}])
    worker = {"workflow_id": run, "state": "Build", "owner_agent_id": "worker-1"}
    for _ in range(2):
        taken = await tools.ok("acquire_state_lease", **worker)
        done = {**worker, "lease_token": taken["lease"]["token"], "new_status": "succeeded", "output_json": GOOD}
        await tools.refused("review_running", "update_workflow_control_plane", **done)
        await tools.ok("rewind_unit", workflow_id=run, unit="Build")
        assert (await tools.ok("list_gates", workflow_id=run))["gates"] == []


async def test_a_long_tail_of_a_command_is_refused(tools: Tools) -> None:
    verdict = {"workflow_id": "r", "state": "A", "gate": "tests", "verdict": "fail", "content_sha256": "0" * 64}
    await tools.refused("invalid_argument", "decide_gate", **verdict, exit_code=1, output_tail="x" * 4001)


async def test_a_reviewer_waits_for_work_and_a_worker_for_rework(tools: Tools) -> None:
    reviewer = f"rita-{secrets.token_hex(4)}"
    writer = f"ann-{secrets.token_hex(4)}"
    holder = await held(tools, {**REVIEW, "reviewers": [reviewer]}, agent=writer)
    done = {**holder, "new_status": "succeeded", "output_json": GOOD}
    await tools.refused("review_running", "update_workflow_control_plane", **done)
    heard = await tools.ok("await_workflow_event", agent_id=reviewer, timeout_s=50)
    event, (call, *_) = heard["event"], heard["next"]
    assert (event["type"], event["criteria"], event["output"]) == ("gate_opened", [CRITERION], GOOD)
    assert (call["tool"], call["arguments"]["gate"]) == ("decide_gate", "review")
    mine = (await tools.ok("list_gates", agent_id=reviewer))["gates"]
    assert [(item["workflow_id"], item["name"]) for item in mine if item["workflow_id"] == holder["workflow_id"]] == [
        (holder["workflow_id"], "review")
    ]
    judged = call["arguments"] | {
        "verdict": "fail",
        "criteria": [{"criterion": CRITERION, "passed": False, "feedback": "None has."}],
    }
    await tools.ok("decide_gate", **judged)
    heard = await tools.ok("await_workflow_event", agent_id=writer, timeout_s=50)
    assert heard["event"]["type"] == "needs_work"  # and not the state, whose notification came before its lease
    assert heard["event"]["failed_criteria"][0]["feedback"] == "None has."
    assert heard["next"][0]["tool"] == "update_workflow_control_plane"
    mine = await tools.ok("get_my_assignment", agent_id=writer, workflow_id=holder["workflow_id"])
    (state,) = [state for state in mine["states"] if state["state"] == "Write"]
    assert (state["gates"][0]["name"], state["failed_criteria"][0]["criterion"]) == ("review", CRITERION)


async def test_an_old_event_of_a_state_does_not_take_it_from_the_process_that_mends_it(
    tools: Tools, application: Application
) -> None:
    writer = f"ann-{secrets.token_hex(4)}"
    agents = {"agents_map_json": {"Write": writer, "Done": writer}}
    run = await new_run(tools, f"run-{secrets.token_hex(4)}", gated(SHAPE), **agents)
    await tools.ok("notify_next_worker_agent", workflow_id=run)
    answer = await tools.ok("await_workflow_event", agent_id=writer, timeout_s=50, lease=False)
    holder = {"workflow_id": run, "state": "Write", "owner_agent_id": writer}
    taken = await tools.ok("acquire_state_lease", **holder)
    done = {**holder, "lease_token": taken["lease"]["token"], "new_status": "succeeded"}
    await tools.refused("needs_work", "update_workflow_control_plane", **done, output_json={"txt": 1})
    application.inbox.give_back(writer, answer["message_id"])
    heard = await tools.ok("await_workflow_event", agent_id=writer, timeout_s=0)
    assert heard["status"] == "timeout"
    assert (await tools.ok("update_workflow_control_plane", **done, output_json=GOOD))["next_states"] == ["Done"]


async def test_an_override_needs_its_scope_and_a_reason(tools: Tools, operator: Tools) -> None:
    holder = await held(tools, REVIEW)
    done = {**holder, "new_status": "succeeded", "output_json": GOOD}
    await tools.refused("review_running", "update_workflow_control_plane", **done)
    wish = {"workflow_id": holder["workflow_id"], "state": "Write"}
    await tools.refused("forbidden", "override_gate", **wish, reason="checked by phone")
    await operator.refused("invalid_argument", "override_gate", **wish, reason="")
    answer = await operator.ok("override_gate", **wish, reason="checked by phone", agent_id="olga")
    assert (answer["verdict"], answer["state_status"]) == ("override", "succeeded")
    history = await tools.ok("read_run_events", workflow_id=holder["workflow_id"], types_json=["GateOverridden"])
    assert "checked by phone" in str(history["events"][0])


async def test_what_has_no_room_on_a_page_of_gates_is_on_the_next(replica: Callable[..., Application]) -> None:
    long = [f"{number} {'x' * 400}" for number in range(15)]
    reviewer = f"rita-{secrets.token_hex(4)}"
    async with Client(build_server(replica(max_result_bytes=16 * 1024))) as client:
        tools = await Tools.of(client)
        runs = []
        for _ in range(4):
            holder = await held(tools, {**REVIEW, "criteria": long, "reviewers": [reviewer]})
            done = {**holder, "new_status": "succeeded", "output_json": GOOD}
            await tools.refused("review_running", "update_workflow_control_plane", **done)
            runs.append(holder["workflow_id"])
        run = (await tools.ok("open_run", name="work"))["workflow_id"]
        names = [f"Write{number}" for number in range(4)]
        gates = [{**REVIEW, "criteria": long, "reviewers": [f"{reviewer}-2"]}]
        units = [{"name": name, "gates": gates, "claim": True} for name in names]
        added = await tools.ok("add_units", workflow_id=run, agent_id="w", units=units)
        for work in added["work"]:
            done = {"workflow_id": run, "state": work["state"], "lease_token": work["lease_token"]}
            done |= {"new_status": "succeeded", "output_json": GOOD}
            await tools.refused("review_running", "update_workflow_control_plane", **done)
        assert [page["workflow_id"] for page in await pages(tools, agent_id=reviewer)] == runs
        assert [page["state"] for page in await pages(tools, workflow_id=run)] == names
        assert [page["state"] for page in await pages(tools, workflow_id=run, limit=1)] == names
        await tools.refused("invalid_argument", "list_gates", workflow_id=run, cursor="odd")


async def pages(tools: Tools, **request: Any) -> list[dict[str, Any]]:
    """All that waits, page after page, each of which has room for some of it."""
    pages: list[dict[str, Any]] = []
    page: dict[str, Any] = {}
    while not page or page["next_cursor"] is not None:
        place = {"cursor": page["next_cursor"]} if page else {}
        page = (await tools.call("list_gates", **request, **place)).payload
        assert 0 < len(page["gates"]) < 4
        pages += page["gates"]
    return pages


async def test_who_judges_is_shown_the_instructions_with_their_values(tools: Tools) -> None:
    rita, risky = f"rita-{secrets.token_hex(4)}", "$sum($map($states.input.pages, function($n) { $n }))"
    text = f"Write about {{% $states.input.topic %}}, {{% {risky} %}} pages."
    review = REVIEW | {"reviewers": [rita]}
    person = {"name": "person", "kind": "person", "people": [rita]}
    write = {"Type": "Task", "Instructions": text, "Gates": [review, person], "End": True}
    machine = {"QueryLanguage": "JSONata", "StartAt": "Write", "States": {"Write": write}}
    input_json = {"topic": "leases", "pages": [1, 2]}
    started = await tools.ok(
        "start_run", workflow_json=machine, input_json=input_json, agents_map_json={"*": "worker-1"}
    )
    run, seen = started["workflow_id"], "Write about leases, 3 pages."
    worker = {"workflow_id": run, "state": "Write", "owner_agent_id": "worker-1"}
    work = (await tools.ok("acquire_state_lease", **worker))["work"]
    assert work["instructions"] == seen
    done = {**worker, "lease_token": work["lease_token"], "new_status": "succeeded", "output_json": GOOD}
    await tools.refused("review_running", "update_workflow_control_plane", **done)
    opened = await tools.ok("await_workflow_event", agent_id=rita, timeout_s=50, lease=False)
    assert (opened["event"]["gate"], opened["event"]["instructions"]) == ("review", seen)
    for request in ({"workflow_id": run}, {"workflow_id": run, "state": "Write"}, {"agent_id": rita}):
        (waiting,) = (await tools.ok("list_gates", **request))["gates"]
        assert (waiting["name"], waiting["instructions"]) == ("review", seen)
    verdict = {"workflow_id": run, "state": "Write", "gate": "review", "content_sha256": waiting["content_sha256"]}
    met = {"criterion": CRITERION, "passed": True}
    await tools.ok("decide_gate", **verdict, verdict="pass", agent_id=rita, criteria=[met])
    read = {"agent_id": rita, "timeout_s": 50, "lease": False, "ack_message_id": opened["message_id"]}
    later = await tools.ok("await_workflow_event", **read)
    assert (later["event"]["gate"], later["event"]["instructions"]) == ("person", seen)


async def test_the_list_of_a_reviewer_leads_to_the_output_or_says_how_to_wait(tools: Tools) -> None:
    reviewer = f"rita-{secrets.token_hex(4)}"
    holder = await held(tools, REVIEW | {"reviewers": [reviewer]})
    empty = await tools.ok("list_gates", agent_id=reviewer)
    assert (empty["gates"], [call["tool"] for call in empty["next"]]) == ([], ["await_workflow_event"])
    await tools.refused(
        "review_running", "update_workflow_control_plane", **holder, new_status="succeeded", output_json=GOOD
    )
    listed = await tools.ok("list_gates", agent_id=reviewer)
    assert [row["output_left_out"] for row in listed["gates"]] == [True]
    (read,) = listed["next"]
    (whole,) = (await tools.ok(read["tool"], **read["arguments"]))["gates"]
    assert whole["output"] == GOOD


async def test_a_worker_that_forgot_its_token_is_told_which_call_brings_it(tools: Tools) -> None:
    holder = await held(tools, REVIEW)
    lost = await tools.refused(
        "lease_lost", "update_workflow_control_plane", **holder | {"lease_token": "x"}, new_status="succeeded"
    )
    assert "With the key of 'worker-1', `acquire_state_lease` answers with the token." in lost.hint


async def test_a_server_without_gates_shows_the_run_and_says_why_it_takes_no_output(
    tools: Tools, replica: Callable[..., Application]
) -> None:
    holder = await held(tools, REVIEW)
    done = {**holder, "new_status": "succeeded", "output_json": GOOD}
    with without_gates():
        async with Client(build_server(replica())) as client:
            other = await Tools.of(client)
            answer = await other.refused("capability_missing", "update_workflow_control_plane", **done)
            assert answer["error"] == "capability_missing: No capability of this server reads Gates of state 'Write'."
            assert answer["hint"].startswith("Send the same call to a server that has the capability")
            read = await other.ok("read_workflow_control_plane", workflow_id=holder["workflow_id"])
            assert read["states"]["Write"]["status"] == "running"
    await tools.refused("review_running", "update_workflow_control_plane", **done)
