"""Every refusal of a journal entry, or of resolving an issue, with its code and a hint what to do next.

    conflict             key_used                      the key is that of another entry
    too_many             journal_full, too_many_blockers   a bound of the run
    unknown_issue        unknown_issue                 the journal has no issue of this id
    already_resolved     already_resolved              somebody else was first
    not_yours            not_yours                     the issue is for others to resolve

The other refusals are in `core/documents/refusals.py` and `questions/refusals.py`.
"""

from dcf.core.leasing.blockers import MOST_BLOCKERS
from dcf.features.journal.model import MOST_BYTES, MOST_ENTRIES, JournalEntry
from dcf.values.instants import to_text
from dcf.values.names import escaped
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import clip

_SHOWN = 200


def key_used(entry: JournalEntry) -> Refusal:
    """Refuse an entry because its key is that of one with other content; nothing was written."""
    return Refusal(
        code="conflict",
        message=f"This key is that of entry '{entry.entry_id}' ({entry.kind}, {to_text(entry.at)}) with other content.",
        hint="Nothing was written. Give every new entry a key of its own; repeat one only with the same content.",
    )


def journal_full() -> Refusal:
    """Refuse one entry more than a journal takes."""
    return Refusal(
        code="too_many",
        message=f"The journal of the run has {MOST_ENTRIES:,} entries or {MOST_BYTES // 1_048_576} MiB: it is full.",
        hint="Put what must be known into a result or an artifact; issues of gates and budgets are still written.",
    )


def too_many_blockers() -> Refusal:
    """Refuse one more issue that blocks the run."""
    return Refusal(
        code="too_many",
        message=f"{MOST_BLOCKERS} issues block the run already.",
        hint="Add the issue with blocks=false, or wait until others are resolved (`resolve_issue`).",
    )


def unknown_issue(issue: str) -> Refusal:
    """Refuse because the journal has no issue of this id."""
    return Refusal(
        code="unknown_issue",
        message=f"The journal of the run has no issue '{escaped(issue)}'.",
        hint="`read_journal(open=true)` lists the issues that are open.",
    )


def already_resolved(entry: JournalEntry) -> Refusal:
    """Refuse because somebody has resolved the issue."""
    assert entry.resolution is not None, "the caller looked"
    done = entry.resolution
    return Refusal(
        code="already_resolved",
        message=(
            f"'{done.by}' resolved issue '{entry.entry_id}' at {to_text(done.at)}: {clip(escaped(done.how), _SHOWN)}"
        ),
        hint="Nothing is to be done. If the trouble is back, add an issue of its own.",
    )


def not_yours(entry: JournalEntry) -> Refusal:
    """Refuse because the issue is for others to resolve."""
    whose = "blocks the run" if entry.blocks else f"is that of '{entry.agent}'"
    return Refusal(
        code="not_yours",
        message=f"Issue '{entry.entry_id}' {whose}: a person, the planner of the run or an operator resolves it.",
        hint="Wait for the workflow event, or tell them what helps: `leave_note`, `ask_question`.",
    )
