"""Methods of the clients for the verbs of the toolset journal. Derived from their descriptions."""

from dcf.client.arguments import JsonObject, Moment, moment_text, object_text, request_id_for
from dcf.client.calls import call_pages, call_tool
from dcf.client.exchange import Conversation, Stream
from dcf.features.agent_context.records import AgentContext
from dcf.features.journal.records import AddedEntry, EntryKindName, ReadEntry, ResolvedIssue


def get_context(
    workflow_id: str | None = None,
    *,
    agent_id: str | None = None,
    session: str | None = None,
    project: str | None = None,
    max_bytes: int = 16000,
) -> Conversation[AgentContext]:
    """Ask where you are and what is next, after a restart or when your memory was cut: one call shows all of it."""
    return call_tool(
        AgentContext,
        "get_context",
        workflow_id=workflow_id,
        agent_id=agent_id,
        session=session,
        project=project,
        max_bytes=max_bytes,
    )


def add_journal_entry(
    workflow_id: str,
    kind: EntryKindName,
    text: str,
    *,
    agent_id: str,
    details: JsonObject | None = None,
    state: str | None = None,
    blocks: bool = False,
    key: str | None = None,
    lease_token: str | None = None,
) -> Conversation[AddedEntry]:
    """Write into the run's journal what must not get lost: decisions, how far you are, what is wrong.

    A milestone renews your lease.
    """
    return call_tool(
        AddedEntry,
        "add_journal_entry",
        workflow_id=workflow_id,
        kind=kind,
        text=text,
        agent_id=agent_id,
        details_json=object_text(details, "details"),
        state=state,
        blocks=blocks or None,
        key=request_id_for(key),
        lease_token=lease_token,
    )


def read_journal(
    workflow_id: str,
    *,
    kind: EntryKindName | None = None,
    agent: str | None = None,
    state: str | None = None,
    open_only: bool = False,
    since: Moment | None = None,
    until: Moment | None = None,
    oldest_first: bool = False,
) -> Stream[ReadEntry]:
    """Read the journal of a run, newest first. Pages are read as they are needed."""
    return call_pages(
        ReadEntry,
        "read_journal",
        "entries",
        limit=100,
        workflow_id=workflow_id,
        kind=kind,
        agent_id=agent,
        state=state,
        open=open_only or None,
        since=moment_text(since),
        until=moment_text(until),
        oldest_first=oldest_first or None,
    )


def resolve_issue(
    workflow_id: str,
    issue: str,
    how: str,
    *,
    agent_id: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[ResolvedIssue]:
    """Resolve an issue of the journal, as a person, planner or operator, or as its author if it does not block."""
    return call_tool(
        ResolvedIssue,
        "resolve_issue",
        workflow_id=workflow_id,
        issue=issue,
        how=how,
        agent_id=agent_id,
        reason=reason,
        request_id=request_id_for(request_id),
    )
