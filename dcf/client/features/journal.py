"""The verbs of a client for the journal of a run; described as in `verbs.py`."""

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from dcf.client.answers.journal import AddedEntry, ReadEntry, ResolvedIssue
from dcf.client.arguments import Moment, given, json_text, moment_text, request_id_for
from dcf.client.exchange import Conversation, Item, Stream, ToolCall
from dcf.client.failures import accepted
from dcf.client.reading import read
from dcf.client.verbs import ask

EntryKindName: TypeAlias = Literal["log", "decision", "milestone", "issue", "note", "handoff"]


def add_journal_entry(
    workflow_id: str,
    kind: EntryKindName,
    text: str,
    *,
    agent_id: str,
    details: Mapping[str, Any] | None = None,
    state: str | None = None,
    blocks: bool = False,
    key: str | None = None,
    lease_token: str | None = None,
) -> Conversation[AddedEntry]:
    """Add an entry to the journal of a run. The same entry under the same `key` is added once."""
    return ask(
        AddedEntry,
        "add_journal_entry",
        workflow_id=workflow_id,
        kind=kind,
        text=text,
        agent_id=agent_id,
        details_json=None if details is None else json_text(dict(details), "details"),
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
    """Yield entries of the journal, newest first: those that meet every filter. Pages are read as they are needed.

    `open_only`: only issues that nobody has resolved. `since` and `until` are when they were written, `since` also as
    `2h`.
    """
    wanted = given(
        kind=kind,
        agent=agent,
        state=state,
        open=open_only or None,
        since=moment_text(since),
        until=moment_text(until),
        oldest_first=oldest_first or None,
    )
    cursor = None
    while True:
        arguments = {"workflow_id": workflow_id, **wanted, **given(cursor=cursor)}
        page = accepted((yield ToolCall("read_journal", arguments)))
        for one in page["entries"]:
            yield Item(read(ReadEntry, one))
        cursor = page["next_cursor"]
        if cursor is None:
            return


def resolve_issue(
    workflow_id: str,
    issue: str,
    how: str,
    *,
    agent_id: str | None = None,
    reason: str | None = None,
    request_id: str | None = None,
) -> Conversation[ResolvedIssue]:
    """Resolve an issue and say how. If it was the last that blocked the run, the agents of what is ready are told."""
    return ask(
        ResolvedIssue,
        "resolve_issue",
        workflow_id=workflow_id,
        issue=issue,
        how=how,
        agent_id=agent_id,
        reason=reason,
        request_id=request_id_for(request_id),
    )
