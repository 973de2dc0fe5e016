"""The journal through tools: with keys of a worker, a planner, a person and a reader."""

import secrets
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.features.journal.query import LONGEST_PAGE
from tests.support.tables import rows
from tests.tools.access import ask, key_of
from tests.tools.calls import TWO_TASKS, Answer, Tools, new_run

pytestmark = pytest.mark.anyio

WORKER = key_of(Scope.READ, Scope.WORK, agent_id="ann")
PLANNER = key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id="pat", name="key:planner")
STRANGER = key_of(Scope.READ, Scope.WORK, Scope.PLAN, agent_id="eve", name="key:stranger")
PERSON = key_of(Scope.READ, Scope.ANSWER, agent_id="lea", name="key:lea")
READER = key_of(Scope.READ, name="key:reader")


async def started(operator: Tools) -> str:
    run = f"run-{secrets.token_hex(4)}"
    await new_run(operator, run, TWO_TASKS, agents_map_json={"A": "ann", "B": "ben"}, planner_agent_id="pat")
    await operator.ok("notify_next_worker_agent", workflow_id=run)
    return run


async def ok(application: Application, caller: Any, tool: str, /, **arguments: Any) -> dict[str, Any]:
    answer: Answer = await ask(application, caller, tool, **arguments)
    assert answer.code == "ok", answer.text
    return answer.payload


async def code(application: Application, caller: Any, tool: str, /, **arguments: Any) -> str:
    return (await ask(application, caller, tool, **arguments)).code


async def test_a_decision_is_written_once_and_read_with_its_author(application: Application, operator: Tools) -> None:
    run = await started(operator)
    entry = {
        "workflow_id": run,
        "agent_id": "ann",
        "kind": "decision",
        "text": "EUR.",
        "details_json": '{"question": "Which?", "options": ["EUR", "USD"], "chosen": "EUR"}',
        "state": "A",
        "key": "currency",
    }
    first = await ok(application, WORKER, "add_journal_entry", **entry)
    again = await ok(application, WORKER, "add_journal_entry", **entry)
    assert (first["entry"], first["repeated"], again["repeated"]) == (again["entry"], False, True)
    assert await code(application, WORKER, "add_journal_entry", **{**entry, "text": "USD."}) == "conflict"
    page = await ok(application, READER, "read_journal", workflow_id=run, kind="decision", agent="ann")
    (shown,) = page["entries"]
    assert (shown["agent"], shown["by"], shown["details"]["options"]) == ("ann", WORKER.name, ["EUR", "USD"])
    assert (page["has_more"], page["next_cursor"], page["provenance"]["trust"]) == (False, None, "untrusted data")


async def test_a_run_that_is_blocked_says_so_everywhere_until_a_person_resolves_the_issue(
    application: Application, operator: Tools
) -> None:
    run = await started(operator)
    issue = {"workflow_id": run, "agent_id": "ann", "kind": "issue", "text": "Which currency?", "blocks": True}
    added = await ok(application, WORKER, "add_journal_entry", **issue)
    taking = {"workflow_id": run, "state": "A", "owner_agent_id": "ann"}
    refused = await operator.refused("run_blocked", "acquire_state_lease", **taking)
    assert added["entry"] in refused["error"]
    assert "resolve_issue" in refused["hint"]
    await operator.refused("run_blocked", "claim_ready_state", workflow_id=run, owner_agent_id="ann")
    await operator.refused("run_blocked", "notify_next_worker_agent", workflow_id=run)
    woken = await operator.ok("notify_if_ready", workflow_id=run, state="A")
    assert woken["skip_reason"] == "run_blocked"
    read = await operator.ok("read_workflow_control_plane", workflow_id=run, summary=True)
    assert (read["meta"]["status"], read["meta"]["blocked_by"][0]["issue"]) == ("running", added["entry"])
    mine = await operator.ok("get_my_assignment", agent_id="ann", workflow_id=run)
    assert "blocked by issue" in mine["status"]
    why = await operator.ok("explain_run", workflow_id=run)
    assert (why["run_status"], why["findings"][0]["cause"]) == ("blocked", "blocked")
    listed = await operator.ok("list_runs", blocked=True, status="running")
    assert run in [run["workflow_id"] for run in listed["runs"]]

    how = {"workflow_id": run, "issue": added["entry"], "how": "EUR."}
    assert await code(application, WORKER, "resolve_issue", **how, agent_id="ann") == "not_yours"
    assert await code(application, STRANGER, "resolve_issue", **how, agent_id="eve") == "not_yours"
    assert await code(application, READER, "resolve_issue", **how) == "forbidden"
    done = await ok(application, PERSON, "resolve_issue", **how)
    assert (done["resolved_by"], done["blocked_by"], done["announced"]) == ("lea", [], 1)
    assert await code(application, PLANNER, "resolve_issue", **how, agent_id="pat") == "already_resolved"
    await operator.ok("acquire_state_lease", **taking)


async def test_the_planner_is_told_of_the_issue_and_what_to_call(application: Application, operator: Tools) -> None:
    run = await started(operator)
    issue = {"workflow_id": run, "agent_id": "ann", "kind": "issue", "text": "Which currency?", "blocks": True}
    added = await ok(application, WORKER, "add_journal_entry", **issue)
    last: dict[str, Any] = {}
    while True:
        answer = await operator.ok("await_workflow_event", agent_id="pat", timeout_s=50, lease=False, **last)
        assert answer["status"] == "event", "the planner was not told"
        if answer["event"]["workflow_id"] == run and answer["event"]["type"] == "run_blocked":
            break
        last = {"ack_message_id": answer["message_id"]}
    assert answer["event"]["text"] == "Which currency?"
    call = next(item for item in answer.payload["next"] if item["tool"] == "resolve_issue")
    done = await ok(application, PLANNER, "resolve_issue", **{**call["arguments"], "how": "EUR."})
    assert done["issue"] == added["entry"]


async def test_a_milestone_renews_the_lease_of_its_holder(application: Application, operator: Tools) -> None:
    run = await started(operator)
    await operator.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann", lease_ttl_s=1000)
    milestone = {
        "workflow_id": run,
        "kind": "milestone",
        "text": "Half.",
        "details_json": {"progress": 50},
        "state": "A",
    }
    done = await ok(application, WORKER, "add_journal_entry", agent_id="ann", **milestone)
    later = await ok(application, WORKER, "add_journal_entry", agent_id="ann", **milestone)
    assert later["leased_until"] > done["leased_until"]
    read = await operator.ok("read_workflow_control_plane", workflow_id=run)
    assert read["states"]["A"]["lease"]["expires_at"] == later["leased_until"]


async def test_a_long_journal_comes_in_pages_that_fit_an_answer(application: Application, operator: Tools) -> None:
    run = await started(operator)
    for number in range(30):
        await operator.ok(
            "add_journal_entry", workflow_id=run, agent_id="ann", kind="note", text="x" * 4000, key=str(number)
        )
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = await operator.ok("read_journal", workflow_id=run, oldest_first=True, **cursor)
        seen += [entry["key"] for entry in page["entries"]]
        assert page["has_more"] is (page["next_cursor"] is not None)
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert seen == [str(number) for number in range(30)]


@rows(
    ("tool", "more"),
    [
        ("read_journal", {"cursor": "nonsense"}),
        ("read_journal", {"kind": "gossip"}),
        ("read_journal", {"since": "yesterday-ish"}),
        ("add_journal_entry", {"agent_id": "ann", "kind": "log", "text": "x", "details_json": "[1]"}),
        ("add_journal_entry", {"agent_id": "ann", "kind": "decision", "text": "x"}),
    ],
)
async def test_bad_input_says_what_to_send(operator: Tools, tool: str, more: dict[str, Any]) -> None:
    run = await started(operator)
    refused = await operator.refused("invalid_argument", tool, workflow_id=run, **more)
    assert refused["hint"]


async def test_a_page_has_so_many_at_most(operator: Tools) -> None:
    run = await started(operator)
    for number in range(LONGEST_PAGE + 1):
        written = {"agent_id": "ann", "kind": "log", "text": "x", "key": str(number)}
        await operator.ok("add_journal_entry", workflow_id=run, **written)
    page = await operator.ok("read_journal", workflow_id=run, limit=LONGEST_PAGE)
    assert (len(page["entries"]), page["has_more"], page["matching"]) == (LONGEST_PAGE, True, LONGEST_PAGE + 1)
    await operator.refused("invalid_argument", "read_journal", workflow_id=run, limit=LONGEST_PAGE + 1)
