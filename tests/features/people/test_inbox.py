"""One inbox for everything that waits for people: tasks and questions, verdicts, issues that block runs."""

import secrets
from dataclasses import replace
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.support.command_line import call
from tests.tools.access import ask, key_of
from tests.tools.calls import Tools
from tests.web.run.test_run_page_bounds import counted

pytestmark = pytest.mark.anyio


async def opened(tools: Tools, project: str, *gates: dict[str, Any]) -> str:
    """A run with one unit, which 'ann' has handed in to its gates, if it has some."""
    run = f"inbox-{secrets.token_hex(4)}"
    await tools.ok("open_run", name="inbox", workflow_id=run, project=project)
    unit = {"name": "A", **({"gates": list(gates)} if gates else {})}
    await tools.ok("add_units", workflow_id=run, units=[unit])
    answer = await tools.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann")
    if gates:
        written = {"lease_token": answer["work"]["lease_token"], "new_status": "succeeded", "output_json": "{}"}
        await tools.refused("review_running", "update_workflow_control_plane", workflow_id=run, state="A", **written)
    return run


def gate(kind: str, **more: Any) -> dict[str, Any]:
    return {"name": "g", "kind": kind, **more}


async def waiting(tools: Tools, project: str, **person: Any) -> set[tuple[str, str]]:
    """The items that wait for a person in a project: the run, and its gate or issue."""
    rows = (await tools.ok("list_human_tasks", project=project, limit=50, **person))["tasks"]
    kinds = [(row["workflow_id"], "issue" if row.get("issue") else str(row.get("gate"))) for row in rows]
    assert len(set(kinds)) == len(kinds)
    return set(kinds)


async def test_verdicts_and_blocking_issues_wait_for_those_who_may_answer(operator: Tools) -> None:
    project = f"p-{secrets.token_hex(4)}"
    workflow_id = await opened(operator, project, gate("review"))
    rita = await opened(operator, project, gate("review", reviewers=["rita"]))
    person = await opened(operator, project, gate("person"))
    alice = await opened(operator, project, gate("person", people=["alice"]))
    await opened(operator, project, gate("command", command="make test"))
    blocked = await opened(operator, project)
    issue = {"agent_id": "ann", "kind": "issue", "text": "Which currency?", "blocks": True}
    answer = await operator.ok("add_journal_entry", workflow_id=blocked, **issue)
    everybody = {(workflow_id, "g"), (blocked, "issue")}
    assert await waiting(operator, project) == everybody | {(person, "g"), (alice, "g")}
    assert await waiting(operator, project, person="rita") == everybody | {(rita, "g"), (person, "g")}
    assert await waiting(operator, project, person="alice") == everybody | {(alice, "g"), (person, "g")}
    assert await waiting(operator, project, person="ann") == {(blocked, "issue")}, "it made what is judged"
    (row,) = (await operator.ok("list_human_tasks", workflow_id=blocked))["tasks"]
    assert (row["issue"], row["title"]) == (answer["entry"], "Which currency?")
    (row,) = (await operator.ok("list_human_tasks", workflow_id=workflow_id))["tasks"]
    assert (row["gate"], row["state"], len(row["content_sha256"])) == ("g", "A", 64)
    details = {"issue": answer["entry"], "how": "Zloty.", "agent_id": "alice"}
    await operator.ok("resolve_issue", workflow_id=blocked, **details)
    assert await waiting(operator, project, person="ann") == set()


async def test_pages_go_on_through_all_that_waits(operator: Tools) -> None:
    project = f"p-{secrets.token_hex(4)}"
    runs = [await opened(operator, project, gate("review")) for _ in range(3)]
    runs += [await opened(operator, project, gate("person")) for _ in range(2)]
    for _ in range(2):
        blocked = await opened(operator, project)
        await operator.ok("add_journal_entry", workflow_id=blocked, agent_id="ann", kind="issue", text="!", blocks=True)
        runs.append(blocked)
    result, cursor = list[str](), None
    while True:
        page = (await operator.ok("list_human_tasks", project=project, limit=2, cursor=cursor)).payload
        assert len(page["tasks"]) <= 2
        result += [row["workflow_id"] for row in page["tasks"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(result) == sorted(runs)
    await operator.refused("invalid_argument", "list_human_tasks", cursor="verdicts!nonsense")


async def test_a_key_of_a_project_sees_what_waits_in_it(application: Application, operator: Tools) -> None:
    mine, theirs = (f"p-{secrets.token_hex(4)}" for _ in range(2))
    run = await opened(operator, mine, gate("review"))
    await opened(operator, theirs, gate("review"))
    bound = replace(key_of(Scope.READ, Scope.ANSWER, agent_id="rita"), project=mine)
    rows = (await ask(application, bound, "list_human_tasks", person="rita"))["tasks"]
    assert [row["workflow_id"] for row in rows] == [run]


async def test_the_command_says_how_each_is_answered(application: Application, operator: Tools) -> None:
    project = f"p-{secrets.token_hex(4)}"
    run = await opened(operator, project, gate("review"))
    await operator.ok("add_journal_entry", workflow_id=run, agent_id="ann", kind="issue", text="Why?", blocks=True)
    shown = call("inbox", run, REDIS_URL=application.redis_url)
    assert "Judge the output of 'A'" in " ".join(shown.stdout.split())
    assert shown.stdout.count("a person") == 2
    assert f"dcf journal resolve {run}" in shown.stderr


async def test_the_inputs_and_outputs_of_gates_are_not_read_for_rows_that_do_not_show_them(
    application: Application, operator: Tools
) -> None:
    """A worker's instructions that show its input cost the inbox no command more than others."""
    project, costs, person = f"p-{secrets.token_hex(4)}", [], key_of(Scope.READ, Scope.ANSWER)
    for text in ("Write.", "Write about {% $states.input.topic %}."):
        rita = f"rita-{secrets.token_hex(4)}"
        write = {"Type": "Task", "Instructions": text, "Gates": [gate("review", reviewers=[rita])], "End": True}
        document = {"QueryLanguage": "JSONata", "StartAt": "A", "States": {"A": write}}
        value = {"input_json": {"topic": "leases"}, "agents_map_json": {"A": "ann"}, "project": project}
        run = (await operator.ok("start_run", workflow_json=document, **value))["workflow_id"]
        answer = await operator.ok("acquire_state_lease", workflow_id=run, state="A", owner_agent_id="ann")
        output = {"text": "x" * 50_000}
        written = {"lease_token": answer["work"]["lease_token"], "new_status": "succeeded", "output_json": output}
        await operator.refused("review_running", "update_workflow_control_plane", workflow_id=run, state="A", **written)
        for request in ({"person": rita, "project": project}, {"person": rita, "workflow_id": run}):
            await ask(application, person, "list_human_tasks", **request)
            with counted(application) as cost:
                rows = (await ask(application, person, "list_human_tasks", **request))["tasks"]
            assert [row["gate"] for row in rows] == ["g"]
            assert cost.traffic < 50_000, "no output was read"
            sent = [name for packet in cost.packets for name in packet]
            costs.append([name for name in sent if name != "UNWATCH"])  # of a transaction before, on any connection
    assert all(costs)
    assert costs[2:] == costs[:2]
