"""Work across runs, from Python: to list it and to take it are two methods of one verb."""

from typing import Final

from dcf.client.arguments import given, request_id_for
from dcf.client.calls import call_pages
from dcf.client.exchange import Conversation, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.features.work.records import ClaimedWork, ListedWork, WorkStatusName

_PAGE: Final = 200


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
    return call_pages(
        ListedWork,
        "find_work",
        "items",
        limit=_PAGE,
        agent_id=agent_id,
        status=status,
        project=project,
        workflow=workflow,
        workflow_id=workflow_id,
        skill=skill,
    )


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
    expected = given(project=project, workflow=workflow, workflow_id=workflow_id, skill=skill)
    answer = yield ToolCall(
        "find_work",
        {
            **expected,
            "agent_id": agent_id,
            "claim": True,
            "lease_ttl_s": lease_ttl_s,
            "whole_input": True,
            "request_id": request_id_for(request_id),
        },
    )
    return None if answer.get("code") == "nothing_ready" else read(ClaimedWork, accepted(answer))
