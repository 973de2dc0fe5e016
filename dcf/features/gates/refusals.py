"""The kinds of refusals about gates, and those of which the text depends on what is judged.

The author of an output cannot judge it, and cannot let it pass.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.documents.answers import HeldUp, StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.features.gates.model import MOST_SUBMISSIONS, Submission
from dcf.values.json_text import Json
from dcf.values.names import escaped
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import clip

RETRY_S: Final = 15
"""Seconds after which it is worth asking again whether the verdicts have come."""

_NAMED: Final = 5
REVIEW_RUNNING: Final = HeldUp.kind(
    "review_running",
    "The output of '{state}' is kept and waits for the verdict of {waits:list}.",
    "Your lease does not expire meanwhile, and the state completes automatically when all gates pass. Wait for "
    "the next event, or send the same call again to find out.",
    retry_after_s=RETRY_S,
)
NEEDS_WORK: Final = HeldUp.kind(
    "needs_work",
    "The output of '{state}' failed gate '{gate}' ({attempts} of {most} times): {first}.",
    "You still have the lease. Correct failed_criteria, and send the whole output again with the same "
    "`lease_token`; with a new `request_id` if the output is the same and what it stands for has changed.",
)
TOO_MANY_SUBMISSIONS: Final = Refusal.kind(
    "too_many",
    f"{MOST_SUBMISSIONS} outputs of '{{state}}' were submitted to its gates, and no more are taken.",
    "Fail the state with an error that says what is in the way, or let an operator resolve it.",
)
GATED_RESULT: Final = Refusal.kind(
    "gated",
    "The result of '{state}' passed its gates, and another one would not have.",
    "`rerun` begins again from a state, whose gates are then checked again.",
)
NO_SUCH_GATE: Final = Refusal.kind(
    "no_such_gate",
    "State '{state}' has no gate '{name:escaped}': it has {known}.",
    "`list_gates` shows what waits for a verdict.",
)
NOT_JUDGED: Final = StateRefusal.kind(
    "not_judged",
    "Gate '{name}' of state '{state}' waits for no verdict now: the state is {doc.status.value}.",
    "No action is needed: somebody else decided, or the output was sent back, taken or withdrawn.",
)
CONTENT_CHANGED: Final = Refusal.kind(
    "content_changed",
    "The output of '{state}' that waits for a verdict is another one.",
    "Nothing was stored. Read it again (`list_gates` with the state) and judge what it is now.",
)
NOT_A_REVIEWER: Final = Refusal.kind(
    "not_a_reviewer",
    "The verdict of gate '{gate.name}' is given by {gate.whom}, not by '{judge}'.",
    "Leave it to them; `override_gate` lets an output pass, with the scope override and a reason.",
)
AUTHOR_MAY_NOT_REVIEW: Final = Refusal.kind(
    "author_may_not_review",
    "Gate '{gate}': the output {how} '{author}', and its author cannot review it.",
    "Let another agent or person judge, each with a key of its own; or set author_may_review at the gate.",
)
AUTHOR_MAY_NOT_ATTEST: Final = Refusal.kind(
    "author_may_not_review",
    "Gate '{gate}': that its command passed is reported by the helper that ran it, not by the author.",
    (
        "Start `dcf agents local` with DCF_HELPER_KEY, a key with the scope attest that is not the author's; or "
        "name reviewers at the gate."
    ),
)
AUTHOR_MAY_NOT_OVERRIDE: Final = Refusal.kind(
    "author_may_not_override",
    "Gate '{gate}': '{author}' is the author of the output and cannot override the gate.",
    "Let somebody else override it, with a key of their own; or set author_may_override at the gate.",
)
CRITERIA_MISSING: Final = Refusal.kind(
    "invalid_verdict",
    "Gate '{gate}' needs one verdict for each of its criteria: {faults:list}.",
    'Send criteria as [{{"criterion": "…", "passed": true, "feedback": "…"}}], each text as listed.',
)
CONTRADICTS: Final = Refusal.kind(
    "invalid_verdict",
    "The verdict on gate '{gate}' is fail, and every criterion passed.",
    "Say which criterion failed, with feedback that tells the worker what to correct.",
)
NO_EXIT_CODE: Final = Refusal.kind(
    "invalid_verdict",
    "Gate '{gate}' is a command: its verdict is its exit code.",
    "Send `exit_code`, with `output_tail` and `duration_s`; verdict unavailable if it could not be run.",
)


def review_running(state: str, doc: StateDoc, gated: Submission) -> HeldUp:
    """Answer a completion during its review: the result is stored, and the state completes automatically."""
    waits = [f"{open_gate.name} (by {open_gate.whom})" for open_gate in gated.open[:_NAMED]]
    return REVIEW_RUNNING.refuse(state=state, doc=doc, waits=waits)


def needs_work(
    state: str, doc: StateDoc, gate: str, failed: Sequence[Mapping[str, Json]], attempts: int, most: int
) -> HeldUp:
    """Send the output back to its worker, with what failed and nothing else."""
    first = next((str(criterion.get("feedback") or criterion["criterion"]) for criterion in failed), gate)
    return NEEDS_WORK.refuse(
        state=state,
        doc=doc,
        gate=gate,
        attempts=attempts,
        most=most,
        first=clip(first, 300).rstrip("."),
        failed_criteria=tuple(failed),
    )


def criteria_missing(gate: str, missing: Sequence[str], unknown: Sequence[str]) -> Refusal:
    """Refuse a verdict that does not judge each criterion once."""
    faults = [f"not judged: {clip('; '.join(missing), 400)}"] if missing else []
    faults += [f"not a criterion: {clip(escaped('; '.join(unknown)), 400)}"] if unknown else []
    return CRITERIA_MISSING.refuse(gate=gate, faults=faults)
