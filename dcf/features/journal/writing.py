"""Writes entries into a run's journal, and resolves issues. Pure.

An entry is written once for its key: a repetition is the same entry, other content under the same key is refused and
never dropped. Times grow from entry to entry, since the author of an entry has seen the last one. So a reader that
continues from the last entry that it saw does not miss any. `open_issue` adds an issue to the changes of another
decision.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.core.documents.decision import Decision, Event, More, Snapshot, WriteSet
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import RUN_OVER
from dcf.core.leasing.blockers import Blocker, read_blockers
from dcf.core.leasing.lease import Renew, renew
from dcf.core.lifecycle.blocking import block, has_room, unblock
from dcf.errors import InvalidArgument
from dcf.features.journal import refusals
from dcf.features.journal.authors import check_text, has_part
from dcf.features.journal.details import checked_details
from dcf.features.journal.model import (
    ENTRIES,
    LONGEST_ENTRY_TEXT,
    LONGEST_HOW,
    LONGEST_KEY,
    MOST_BYTES,
    MOST_ENTRIES,
    OWN_KEYS,
    TAIL,
    UNSEEN,
    EntryFacts,
    EntryKind,
    JournalEntry,
    Resolution,
    content_of,
    entry_id_of,
)
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import fields_of, record, replace
from dcf.values.refusal import Refusal


@record(frozen=True, slots=True, kw_only=True)
class AddEntry(EntryFacts):
    """Request to add an entry. `key` is what it is known by.

    `token` is that of the lease on `state`, where its holder reports a milestone. `is_operator`: the author need not
    have a part in the run.
    """

    key: str
    token: str | None = None
    is_operator: bool = False
    entry_id: str = field(init=False)

    def __post_init__(self) -> None:
        check_text(self.text, "text", LONGEST_ENTRY_TEXT)
        if not 0 < len(self.key) <= LONGEST_KEY:
            raise InvalidArgument(f"key has not between 1 and {LONGEST_KEY} characters.", "Choose another key.")
        if self.key.startswith(OWN_KEYS):
            raise InvalidArgument("key begins as those of dcf's own entries do.", "Choose another key.")
        if self.blocks and self.kind is not EntryKind.ISSUE:
            raise InvalidArgument("Only an issue blocks a run.", "Send kind='issue', or leave out blocks.")
        if self.token is not None and self.state is None:
            raise InvalidArgument("lease_token is given without its state.", "Name the state that you hold.")
        object.__setattr__(self, "details", checked_details(self.kind, self.details))
        object.__setattr__(self, "entry_id", entry_id_of(self.key))


@record(frozen=True, slots=True, kw_only=True)
class EntryAdded:
    """The entry is in the journal, since this call or an earlier one (`repeated`).

    `leased_until` is the end of the lease that a milestone renewed, None if no lease was renewed.
    """

    entry: JournalEntry
    left: int
    blocked_by: tuple[Blocker, ...] = ()
    leased_until: int | None = None
    repeated: bool = False


@record(frozen=True, slots=True, kw_only=True)
class ResolveIssue:
    """Request to resolve an issue. `may_any`: it is a person, the run's planner or an operator."""

    issue: str
    how: str
    by: str
    may_any: bool = False

    def __post_init__(self) -> None:
        check_text(self.how, "how", LONGEST_HOW)

    def arguments(self) -> dict[str, Json]:
        """Return what is asked for, for its fingerprint."""
        return {"issue": self.issue, "how": self.how, "by": self.by}


def add_entry(snapshot: Snapshot, wish: AddEntry) -> Decision[EntryAdded | Refusal]:
    """Add the entry, unless it is there. The journal, and the state if one is named, must have been read."""
    meta, seen = snapshot.existing_meta, snapshot.part(ENTRIES) or UNSEEN
    content = content_of(wish.kind, wish.text, wish.agent, wish.state, {**wish.details, "": wish.blocks})
    known = seen.entries.get(wish.entry_id)
    if known is not None:
        return _again(snapshot, known, content, meta)
    doc = None if wish.state is None else snapshot.states.get(wish.state)
    refusal = _why_not(snapshot, meta, wish)
    if refusal is not None:
        return Decision(answer=refusal)
    renewed = _renewed(snapshot, doc, wish)
    if isinstance(renewed.answer, Refusal):
        return Decision(answer=renewed.answer)
    entry = JournalEntry(
        **fields_of(EntryFacts, wish),
        entry_id=wish.entry_id,
        at=max(snapshot.now, seen.last_at + 1),
        content=content,
        attempt=None if doc is None else doc.attempts,
        key=wish.key,
    )
    writes = renewed.changes or WriteSet()
    after = _written(writes, meta, entry)
    added = EntryAdded(
        entry=entry, left=MOST_ENTRIES - seen.count - 1, blocked_by=after.blocked_by, leased_until=renewed.answer
    )
    return Decision(answer=added, changes=writes)


def open_issue(
    writes: WriteSet,
    snapshot: Snapshot,
    meta: Meta,
    *,
    key: str,
    text: str,
    by: str,
    state: str | None = None,
    details: Mapping[str, Json] | None = None,
) -> tuple[str, Meta] | More:
    """Add an issue that blocks the run to the changes of another decision. Return its id, and meta from now on.

    `key` must be one of its own for each time that the reason arises, as `budget:2`: the same issue is opened once.
    Return More if the journal was not read, after whose last entry the issue comes. Callers ask `has_room`.
    """
    members, issue = details or {}, entry_id_of(key)
    if any(blocker.issue == issue for blocker in meta.blocked_by):
        return issue, meta
    seen = snapshot.part(ENTRIES)
    if seen is None:
        return More(parts=ENTRIES.wanted((TAIL,)))
    doc = None if state is None else snapshot.states.get(state)
    entry = JournalEntry(
        entry_id=issue,
        kind=EntryKind.ISSUE,
        text=text[:LONGEST_ENTRY_TEXT],
        agent=by,
        at=max(snapshot.now, seen.last_at + 1),
        content=content_of(EntryKind.ISSUE, text, by, state, {**members, "": True}),
        state=state,
        attempt=None if doc is None else doc.attempts,
        details=members,
        key=key,
        blocks=True,
    )
    return issue, _written(writes, meta, entry)


@decided_once
def resolve_issue(snapshot: Snapshot, request: RunRequest, wish: ResolveIssue) -> RunDecision:
    # An ended run grants no leases, so its meta names no blockers; a retry must not find this one again.
    """Resolve the issue. If it was the last one that blocked the run, the agents of ready states are notified.

    The journal with the issue, the whole meta document and the open states must have been read.
    """
    meta = replace(snapshot.existing_meta, blocked_by=read_blockers((snapshot.meta_document or {}).get("blocked_by")))
    entry = (snapshot.part(ENTRIES) or UNSEEN).entries.get(wish.issue)
    if entry is None or entry.kind is not EntryKind.ISSUE:
        return Decision(answer=refusals.UNKNOWN_ISSUE.refuse(issue=wish.issue))
    if not (wish.may_any or (not entry.blocks and entry.agent == wish.by)):
        return Decision(
            answer=(refusals.NOT_YOURS_AND_BLOCKS if entry.blocks else refusals.NOT_YOURS).refuse(entry=entry)
        )
    if entry.resolution is not None:
        return Decision(answer=refusals.ALREADY_RESOLVED.refuse(issue=entry.entry_id, resolution=entry.resolution))
    done = Resolution(how=wish.how, by=wish.by, at=snapshot.now)
    writes = WriteSet(parts=ENTRIES.written((replace(entry, resolution=done),)))
    data = request.told(issue=wish.issue, how=wish.how, agent=wish.by)
    writes.events.append(Event(type="IssueResolved", state=entry.state, data=data))
    after = unblock(writes, snapshot, meta, wish.issue)
    left = [blocker for blocker in meta.blocked_by if blocker.issue != wish.issue]
    answer: dict[str, Json] = {
        "issue": wish.issue,
        "resolved_by": wish.by,
        "run_status": after.run_status.value,
        "blocked_by": [blocker.as_json() for blocker in left],
        "announced": after.announced,
        "hint": _STILL_BLOCKED if left else _ENDED if after.has_ended else _RESOLVED,
    }
    return Decision(answer=RunAnswer(answer=answer, at=snapshot.now), changes=writes, remaining=after.remaining)


def _again(snapshot: Snapshot, known: JournalEntry, content: str, meta: Meta) -> Decision[EntryAdded | Refusal]:
    if known.content != content:
        return Decision(answer=refusals.KEY_USED.refuse(entry=known))
    left = MOST_ENTRIES - (snapshot.part(ENTRIES) or UNSEEN).count
    return Decision(answer=EntryAdded(entry=known, left=left, blocked_by=meta.blocked_by, repeated=True))


def _why_not(snapshot: Snapshot, meta: Meta, wish: AddEntry) -> Refusal | None:
    seen = snapshot.part(ENTRIES) or UNSEEN
    if meta.status is not RunStatus.RUNNING:
        return RUN_OVER.refuse(status=meta.status)
    if not (wish.is_operator or has_part(snapshot, meta, wish.agent, wish.state)):
        return refusals.NO_PART.refuse(agent_id=wish.agent)
    if seen.count >= MOST_ENTRIES or seen.size >= MOST_BYTES:
        return refusals.JOURNAL_FULL.refuse()
    return refusals.TOO_MANY_BLOCKERS.refuse() if wish.blocks and not has_room(meta) else None


def _renewed(snapshot: Snapshot, doc: StateDoc | None, wish: AddEntry) -> Decision[int | Refusal | None]:
    """Renew the lease of the agent that reports a milestone as its holder, by token or by name."""
    if doc is None or wish.state is None or wish.kind is not EntryKind.MILESTONE:
        return Decision(answer=None)
    holds = doc.lease.owner_agent_id == wish.agent and doc.lease.is_live(snapshot.now)
    token = wish.token or (doc.lease.token if holds else None)
    if token is None:
        return Decision(answer=None)
    decision = renew(snapshot, Renew(state=wish.state, token=token))
    if isinstance(decision.answer, Refusal):
        return Decision(answer=decision.answer)
    return Decision(answer=decision.answer.doc.lease.expires_at, changes=decision.changes)


def _written(writes: WriteSet, meta: Meta, entry: JournalEntry) -> Meta:
    """Add the entry to the changes; an issue also to the history, and to what blocks the run."""
    writes.put(ENTRIES, (entry,))
    if entry.kind is not EntryKind.ISSUE:
        return meta
    data: dict[str, Json] = {"issue": entry.entry_id, "agent": entry.agent, "blocks": entry.blocks}
    writes.events.append(Event(type="IssueOpened", state=entry.state, data=data))
    if not entry.blocks:
        return meta
    return block(writes, meta, Blocker(issue=entry.entry_id, text=entry.text, since=entry.at), by=entry.agent)


def shown_added(added: EntryAdded) -> dict[str, Json]:
    """Return the answer for the author of an entry that was added."""
    until = added.leased_until
    return {
        "entry": added.entry.entry_id,
        "kind": added.entry.kind.value,
        "at": to_text(added.entry.at),
        "entries_left": added.left,
        "blocks": added.entry.blocks,
        "leased_until": None if until is None else to_text(until),
    }


_RESOLVED: Final = "The agents of ready states are notified; `explain_run` says what else the run waits for."
_ENDED: Final = "The work of the run was done: it has ended. `finalize_workflow` writes its audit record."
_STILL_BLOCKED: Final = "Other issues still block the run: blocked_by names them."
