"""The kinds of refusals of a journal entry or a note, or of resolving an issue.

The other refusals are in `core/documents/refusals.py`.
"""

from typing import Final

from dcf.core.leasing.blockers import MOST_BLOCKERS
from dcf.features.journal.model import MOST_BYTES, MOST_ENTRIES
from dcf.values.refusal import Refusal

NO_PART: Final = Refusal.kind(
    "no_part",
    "'{agent_id}' neither plans this run nor is assigned in it.",
    "Name the state that you work on in `state`, or let its planner or an operator leave the note.",
)
KEY_USED: Final = Refusal.kind(
    "conflict",
    "This key is that of entry '{entry.entry_id}' ({entry.kind}, {entry.at:time}) with other content.",
    "Nothing was written. Give every new entry a key of its own; repeat one only with the same content.",
)
JOURNAL_FULL: Final = Refusal.kind(
    "too_many",
    f"The journal of the run has {MOST_ENTRIES:,} entries or {MOST_BYTES // 1_048_576} MiB: it is full.",
    "Put what must be known into a result or an artifact; issues of gates and budgets are still written.",
)
TOO_MANY_BLOCKERS: Final = Refusal.kind(
    "too_many",
    f"{MOST_BLOCKERS} issues block the run already.",
    "Add the issue with blocks=false, or wait until others are resolved (`resolve_issue`).",
)
UNKNOWN_ISSUE: Final = Refusal.kind(
    "unknown_issue",
    "The journal of the run has no issue '{issue:escaped}'.",
    "`read_journal(open=true)` lists the issues that are open.",
)
ALREADY_RESOLVED: Final = Refusal.kind(
    "already_resolved",
    "'{resolution.by}' resolved issue '{issue}' at {resolution.at:time}: {resolution.how:escaped}",
    "Nothing is to be done. If the trouble is back, add an issue of its own.",
)
NOT_YOURS: Final = Refusal.kind(
    "not_yours",
    "Issue '{entry.entry_id}' is that of '{entry.agent}': a person, the planner of the run or an operator resolves it.",
    "Wait for the workflow event, or tell them what helps: `leave_note`, `ask_question`.",
)
NOT_YOURS_AND_BLOCKS: Final = Refusal.kind(
    "not_yours",
    "Issue '{entry.entry_id}' blocks the run: a person, the planner of the run or an operator resolves it.",
    NOT_YOURS.hint,
)
