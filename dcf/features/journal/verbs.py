"""The verbs of a run's journal: add an entry, read it, resolve an issue. They call and describe."""

import secrets
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Final

from dcf.core.access.model import Scope
from dcf.core.access.provenance import marked
from dcf.errors import Forbidden
from dcf.features.journal.model import LONGEST_ENTRY_TEXT, LONGEST_HOW, LONGEST_KEY, EntryKind
from dcf.features.journal.query import LONGEST_PAGE, JournalPage, JournalQuery, check_cursor, kind_of
from dcf.features.journal.records import AddedEntry, EntryKindName, ReadJournal, ResolvedIssue
from dcf.features.journal.writing import AddEntry, ResolveIssue, shown_added
from dcf.values.json_text import Json
from dcf.values.records import replace
from dcf.values.refusal import Refusal
from dcf.values.spans import check_time
from dcf.verbs.answers.operated import operated_on
from dcf.verbs.answers.paging import Room
from dcf.verbs.callers import bound_to, current_caller, scope_hint
from dcf.verbs.derived_tools import add_tools
from dcf.verbs.description.verb import Answered, Argument, Command, PageAction, RefusedWith, verb
from dcf.verbs.description.words import STATE, AgentId, Reason, RequestId, RequiredPerson, RunId

if TYPE_CHECKING:
    from dcf.application.application import Application

_RESOLVERS: Final = frozenset({Scope.WORK, Scope.PLAN, Scope.ANSWER, Scope.OPERATE})


def _added(answer: Mapping[str, Json]) -> str:
    stopped = f" The run is blocked by {len(answer['blocked_by'])} issue(s)." if answer["blocked_by"] else ""
    return f"The {answer['kind']} is in the journal.{stopped}"


@verb(
    toolset="journal",
    scope="work",
    lists=("member",),
    says=_added,
    codes=("unknown_run", "unknown_state", "run_over", "no_part", "conflict", "too_many"),
    command=Command(
        name="journal add",
        example='dcf journal add order-42 issue "Which currency?" --blocks --as alice',
        show="dcf.cli.features.journal:show_added",
    ),
    in_refusals={"blocked_by": []},
)
def add_journal_entry(
    on: "Application",
    workflow_id: RunId,
    kind: Annotated[
        EntryKindName,
        Argument(means="The kind.", example="note", spelling="log, decision, milestone, issue, note or handoff."),
    ],
    text: Annotated[
        str, Argument(means="What to write.", plain=True, example="Prices in EUR.", max_length=LONGEST_ENTRY_TEXT)
    ],
    *,
    agent_id: Annotated[
        RequiredPerson,
        Argument(means="Your agent id.", spelling="Name of the author; default: your user name on this machine."),
    ],
    details: Annotated[
        Mapping[str, Json] | None,
        Argument(
            means="decision: question, options [], chosen, reasoning; milestone: progress 0-100; issue: type; "
            "handoff: next_steps [].",
            spelling="The fields of its kind: JSON, a file, or -.",
            form="object",
            tool="details_json",
        ),
    ] = None,
    state: Annotated[
        str | None, Argument(means="The state it is about.", plain=True, pattern=STATE, min_length=1, max_length=400)
    ] = None,
    blocks: Annotated[bool, Argument(means="An issue: stop the run until it is resolved.")] = False,
    key: Annotated[
        str | None,
        Argument(
            means="Your id of it: a repeated call adds no entry.", min_length=1, max_length=LONGEST_KEY, form="request"
        ),
    ] = None,
    lease_token: Annotated[
        str | None,
        Argument(
            means="A milestone: of the lease to renew, if agent_id does not hold it.",
            spelling="A milestone: of the lease to renew, if --as does not hold it.",
            min_length=1,
            max_length=200,
            listed=False,
        ),
    ] = None,
) -> Answered[AddedEntry] | Refusal:
    """Write into the run's journal what must not get lost: decisions, how far you are, what is wrong.

    A milestone renews your lease.
    """
    wish = AddEntry(
        kind=EntryKind(kind),
        text=text,
        agent=agent_id,
        key=key or f"auto:{secrets.token_hex(16)}",
        state=state,
        token=lease_token,
        details=details or {},
        blocks=blocks,
        is_operator=Scope.OPERATE in current_caller().scopes,
    )
    added = on.journal.add_journal_entry(workflow_id, wish)
    if isinstance(added, Refusal):
        return added
    blocked_by = [issue.as_json() for issue in added.blocked_by]
    members = {"workflow_id": workflow_id, **shown_added(added), "blocked_by": blocked_by, "repeated": added.repeated}
    return Answered(AddedEntry, members)


def _read(answer: Mapping[str, Json]) -> str:
    of = "" if answer["matching"] is None else f" of {answer['matching']}"
    return f"{len(answer['entries'])}{of} entries of run '{answer['workflow_id']}'."


@verb(
    toolset="journal",
    scope="read",
    lists=("assistant", "member", "operator"),
    effect="reads",
    says=_read,
    codes=("unknown_run", "unknown_state"),
    command=Command(
        name="journal ls",
        example="dcf journal ls order-42 --kind decision --markdown",
        function="dcf.cli.features.journal:show",
    ),
    pages="entries",
    in_refusals={"entries": [], "has_more": False},
    about_others=True,
)
def read_journal(
    on: "Application",
    workflow_id: RunId,
    *,
    kind: Annotated[EntryKindName | None, Argument(means="Only of this kind.", plain=True)] = None,
    agent: Annotated[
        str | None,
        Argument(means="Only by this agent.", min_length=1, max_length=64, tool="agent_id", was="agent", listed=False),
    ] = None,
    state: Annotated[
        str | None, Argument(means="Only about this state.", pattern=STATE, min_length=1, max_length=400, listed=False)
    ] = None,
    open_only: Annotated[
        bool, Argument(means="Only issues that are not resolved.", tool="open", option="--open")
    ] = False,
    since: Annotated[
        str | None,
        Argument(means="Written since: 2h, or ISO 8601 with zone.", form="moment", max_length=40, listed=False),
    ] = None,
    until: Annotated[str | None, Argument(means="Written before.", form="moment", max_length=40, listed=False)] = None,
    oldest_first: Annotated[bool, Argument(means="Begin with the first.", listed=False)] = False,
    limit: Annotated[int, Argument(means="Entries of one page.", ge=1, le=LONGEST_PAGE, listed=False)] = 50,
    cursor: Annotated[
        str | None, Argument(means="The next_cursor of the answer before.", plain=True, min_length=1, max_length=100)
    ] = None,
) -> Answered[ReadJournal]:
    """Read the journal of a run, newest first. While has_more is true, call again with next_cursor."""
    now = time.time_ns() // 1000
    query = JournalQuery(
        limit=limit,
        kind=kind_of(kind),
        agent=agent,
        state=state,
        open=open_only,
        since=check_time("since", since, now),
        until=check_time("until", until, now),
        oldest_first=oldest_first,
        cursor=check_cursor(cursor),
    )
    page = fitting(on.journal.read_journal(workflow_id, query), on.settings.max_result_bytes)
    provenance = marked("the agents of this run")
    return Answered(ReadJournal, {"workflow_id": workflow_id, **page.as_json(), "provenance": provenance})


def fitting(page: JournalPage, max_bytes: int) -> JournalPage:
    """Return the page with as many entries as an answer has room for."""
    room = Room(max_bytes)
    for number, entry in enumerate(page.entries):
        if not room.takes(entry.as_json()):
            return replace(page, entries=page.entries[:number], next_cursor=page.entries[number - 1].place)
    return page


def _resolved(answer: Mapping[str, Json]) -> str:
    left = len(answer["blocked_by"])
    blocked = f"{left} more block the run" if left else "no issue blocks the run"
    return f"Issue '{answer['issue']}' is resolved; {blocked}."


@verb(
    toolset="journal",
    scope="read",
    lists=("planner", "member", "operator"),
    says=_resolved,
    codes=("unknown_run", "unknown_issue", "not_yours", "already_resolved"),
    command=Command(
        name="journal resolve",
        example='dcf journal resolve order-42 j0123456789abcdef --how "It is EUR." --as alice',
        show="dcf.cli.features.journal:show_resolved",
    ),
    page=PageAction(
        title="Resolve the issue",
        effect="The issue is closed; a run that it has stopped goes on.",
        form=("agent_id", "reason"),
        scopes=("work", "plan", "answer", "operate"),
    ),
    in_refusals={"blocked_by": []},
)
def resolve_issue(
    on: "Application",
    workflow_id: RunId,
    issue: Annotated[
        str,
        Argument(
            means="The entry's id.",
            spelling="Its id, as `dcf journal ls RUN --open` shows it.",
            example="j0123456789abcdef",
            min_length=1,
            max_length=64,
        ),
    ],
    how: Annotated[
        str,
        Argument(
            means="The action or decision.",
            example="It is EUR.",
            max_length=LONGEST_HOW,
            option="--how",
            label="The action or decision",
        ),
    ],
    *,
    agent_id: Annotated[
        AgentId,
        Argument(
            means="Your agent id.",
            spelling="Your name; default: your user name on this machine.",
            form="person",
            label="Who you are (agent id)",
        ),
    ] = None,
    reason: Annotated[Reason, Argument(means="", listed=False)] = None,
    request_id: RequestId = None,
) -> Answered[ResolvedIssue] | RefusedWith:
    """Resolve an issue of the journal, as a person, planner or operator, or as its author if it does not block."""
    caller = current_caller()
    if not caller.scopes & _RESOLVERS:
        raise Forbidden("`resolve_issue` needs the scope 'answer', 'plan' or 'work'.", scope_hint(Scope.ANSWER))
    by = agent_id or caller.agent_id or caller.name
    wish = ResolveIssue(issue=issue, how=how, by=by, may_any=_is_in_charge(on, workflow_id))
    done = on.journal.resolve_issue(workflow_id, wish, reason=reason, request_id=request_id)
    return operated_on(ResolvedIssue, workflow_id, done, issue=issue)


def _is_in_charge(on: "Application", workflow_id: str) -> bool:
    """Return True if the caller may resolve any issue of the run: a person, its planner, or an operator."""
    caller, agent_id = current_caller(), bound_to()
    if caller.scopes & {Scope.OPERATE, Scope.ANSWER}:
        return True
    plans = agent_id is None or on.runs.read(workflow_id).planner_agent_id == agent_id
    return Scope.PLAN in caller.scopes and plans


add_tools(__name__)
