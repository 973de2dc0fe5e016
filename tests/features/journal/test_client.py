"""The journal of a run, from Python."""

from typing import Any

import pytest

from dcf.client import Client
from dcf.errors import Refused

ONE: dict[str, Any] = {"asl": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}}


def test_entries_are_added_once_and_read_in_order(client: Client, run_id: str) -> None:
    client.start(ONE, workflow_id=run_id, agents="ann", planner_agent_id="pat")
    details = {"chosen": "EUR", "options": ["EUR", "USD"]}
    first = client.add_journal_entry(run_id, "decision", "EUR.", agent_id="ann", details=details, state="A", key="k")
    assert not first.repeated
    assert client.add_journal_entry(
        run_id, "decision", "EUR.", agent_id="ann", details=details, state="A", key="k"
    ).repeated
    client.add_journal_entry(run_id, "log", "It began.", agent_id="ann")
    assert [item.kind for item in client.read_journal(run_id)] == ["log", "decision"]
    (decision,) = client.read_journal(run_id, kind="decision", agent="ann", since="1h", oldest_first=True)
    assert (decision.entry, decision.details["options"], decision.state) == (first.entry, ["EUR", "USD"], "A")
    with pytest.raises(Refused) as refused:
        client.add_journal_entry(run_id, "note", "else", agent_id="ann", key="k")
    assert refused.value.code == "conflict"


def test_an_issue_blocks_until_it_is_resolved(client: Client, run_id: str) -> None:
    client.start(ONE, workflow_id=run_id, agents="ann", planner_agent_id="pat")
    issue = client.add_journal_entry(run_id, "issue", "Which?", agent_id="ann", blocks=True)
    assert [item.issue for item in client.get(run_id).blocked_by] == [issue.entry]
    assert run_id in [item.workflow_id for item in client.list(blocked=True)]
    assert client.why(run_id).run_status == "blocked"
    done = client.resolve_issue(run_id, issue.entry, "EUR.", agent_id="pat", request_id="once")
    assert (done.resolved_by, done.blocked_by, done.announced) == ("pat", (), 1)
    assert client.resolve_issue(run_id, issue.entry, "EUR.", agent_id="pat", request_id="once").repeated
    (stored,) = client.read_journal(run_id, kind="issue")
    assert stored.resolved is not None
    assert (stored.resolved.how, stored.open) == ("EUR.", False)
    assert list(client.read_journal(run_id, open_only=True)) == []


def test_an_agent_asks_where_it_is(client: Client, run_id: str) -> None:
    client.start(ONE, workflow_id=run_id, agents=run_id, planner_agent_id="pat")
    client.add_journal_entry(run_id, "handoff", "Go on.", agent_id=run_id)
    context = client.get_context(agent_id=run_id, workflow_id=run_id, max_bytes=5_000)
    assert [run["workflow_id"] for run in context.runs] == [run_id]
    assert [item["state"] for item in context.ready] == ["A"]
    assert [handoff["text"] for handoff in context.handoffs] == ["Go on."]


def test_everything_is_searched_at_once(client: Client, run_id: str) -> None:
    client.start(ONE, workflow_id=run_id, agents="ann")
    entry = client.add_journal_entry(run_id, "note", f"About {run_id} prices.", agent_id="ann")
    match = client.search(f"{run_id} prices", types=["journal"], limit=5)
    assert [(result.id, result.workflow_id) for result in match.results] == [(entry.entry, run_id)]
    assert match.covered["runs"]
    assert client.search("nothing like this anywhere").results == ()
