"""The verbs of a client for work across runs, and for what it used up; described as in `verbs.py`."""

from collections.abc import Mapping

from dcf.client.answers.work import ClaimedWork, GivenBudget, ListedWork, ReadSums, WorkStatusName
from dcf.client.arguments import Moment, given, json_text, moment_text, request_id_for
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask
from dcf.values.json_text import Json


def find_work(
    agent_id: str | None = None,
    *,
    status: WorkStatusName | None = None,
    project: str | None = None,
    workflow: str | None = None,
    workflow_id: str | None = None,
    skill: str | None = None,
) -> Stream[ListedWork]:
    """Yield what this agent holds and what is ready for it, of all runs, the oldest first; without one everybody's."""
    wanted = given(
        agent_id=agent_id, status=status, project=project, workflow=workflow, workflow_id=workflow_id, skill=skill
    )
    cursor = None
    while True:
        page = accepted((yield ToolCall("find_work", {**wanted, "limit": 200, **given(cursor=cursor)})))
        for one in page["items"]:
            yield Item(read(ListedWork, one))
        cursor = page.get("next_cursor")
        if cursor is None:
            return


def claim_work(
    agent_id: str,
    *,
    project: str | None = None,
    workflow: str | None = None,
    workflow_id: str | None = None,
    skill: str | None = None,
    lease_ttl_s: int = 300,
    request_id: str | None = None,
) -> Conversation[ClaimedWork | None]:
    """Take the next ready state of all runs; None if there is none. Only one caller gets each."""
    wanted = given(project=project, workflow=workflow, workflow_id=workflow_id, skill=skill)
    answer = yield ToolCall(
        "find_work",
        {
            **wanted,
            "agent_id": agent_id,
            "claim": True,
            "lease_ttl_s": lease_ttl_s,
            "whole_input": True,
            "request_id": request_id_for(request_id),
        },
    )
    return None if answer.get("code") == "nothing_ready" else read(ClaimedWork, accepted(answer))


def read_usage(
    workflow_id: str | None = None,
    *,
    agent_id: str | None = None,
    project: str | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
) -> Conversation[ReadSums]:
    """Return what a run used up, or an agent or a project, these by day."""
    return ask(
        ReadSums,
        "read_usage",
        workflow_id=workflow_id,
        agent_id=agent_id,
        project=project,
        since=moment_text(since),
        until=moment_text(until),
    )


def set_budget(
    workflow_id: str, budget: Mapping[str, Json] | None, *, reason: str | None = None, request_id: str | None = None
) -> Conversation[GivenBudget]:
    """Say what a run may use up: `tokens`, `cost` with `currency`, `seconds`. Others stay; None takes all away."""
    return ask(
        GivenBudget,
        "set_budget",
        workflow_id=workflow_id,
        budget_json=json_text(dict(budget or {}), "budget"),
        reason=reason,
        request_id=request_id_for(request_id),
    )
