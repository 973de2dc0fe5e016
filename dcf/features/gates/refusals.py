"""Every refusal about gates, with its code and a hint what to do next.

    review_running       review_running                the output is being judged; the same call again finds out
    needs_work           needs_work                    a gate failed: `failed_criteria` says what is to be done
    no_such_gate         no_such_gate                  the state has no gate of this name
    not_judged           not_judged                    the gate waits for no verdict
    content_changed      content_changed               the verdict is about another content than is submitted now
    not_a_reviewer       not_a_reviewer                the verdict is for others to give
    author_may_not_review author_may_not_review, author_may_not_attest   who made the output does not judge it
    author_may_not_override author_may_not_override    who made the output does not let it pass
    invalid_verdict      criteria_missing, contradicts, no_exit_code   the verdict does not say what it must
    too_many             too_many_submissions          a bound of the visit
    gated                gated_result                  a result that passed gates is not corrected past them

The other refusals are in `refusals`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.core.documents.answers import HeldUp, StateRefusal
from dcf.core.documents.model import StateDoc
from dcf.features.gates.model import MOST_SUBMISSIONS, OpenGate, Submission
from dcf.values.json_text import Json
from dcf.values.names import escaped
from dcf.values.refusal import Refusal
from dcf.values.text_pieces import clip

RETRY_S: Final = 15
"""Seconds after which it is worth asking again whether the verdicts have come."""

_NAMED: Final = 5


def review_running(state: str, doc: StateDoc, gated: Submission) -> HeldUp:
    """Answer a completion during its review: the result is stored, and the state completes automatically."""
    waits = ", ".join(f"{open_gate.name} (by {open_gate.whom})" for open_gate in gated.open[:_NAMED])
    return HeldUp(
        code="review_running",
        message=f"The output of '{state}' is kept and waits for the verdict of {waits}.",
        hint=(
            "Your lease does not expire meanwhile, and the state completes automatically when all gates pass. Wait for "
            "the next event, or send the same call again to find out."
        ),
        doc=doc,
        retry_after_s=RETRY_S,
    )


def needs_work(
    state: str, doc: StateDoc, gate: str, failed: Sequence[Mapping[str, Json]], attempts: int, most: int
) -> HeldUp:
    """Send the output back to its worker, with what failed and nothing else."""
    first = clip(
        next((str(criterion.get("feedback") or criterion["criterion"]) for criterion in failed), gate), 300
    ).rstrip(".")
    return HeldUp(
        code="needs_work",
        message=f"The output of '{state}' failed gate '{gate}' ({attempts} of {most} times): {first}.",
        hint=(
            "You still have the lease. Correct failed_criteria, and send the whole output again with the same "
            "`lease_token`; with a new `request_id` if the output is the same and what it stands for has changed."
        ),
        doc=doc,
        failed_criteria=tuple(failed),
    )


def too_many_submissions(state: str) -> Refusal:
    """Refuse one more content than a visit of a state takes."""
    return Refusal(
        code="too_many",
        message=f"{MOST_SUBMISSIONS} outputs of '{state}' were submitted to its gates, and no more are taken.",
        hint="Fail the state with an error that says what is in the way, or let an operator resolve it.",
    )


def gated_result(state: str) -> Refusal:
    """Refuse to correct a result that was judged: the new one would not be."""
    return Refusal(
        code="gated",
        message=f"The result of '{state}' passed its gates, and another one would not have.",
        hint="`rerun` begins again from a state, whose gates are then checked again.",
    )


def no_such_gate(state: str, name: str, known: Sequence[str]) -> Refusal:
    """Refuse a verdict on what is no gate of the state."""
    named = f"it has {', '.join(known)}" if known else "it has none"
    return Refusal(
        code="no_such_gate",
        message=f"State '{state}' has no gate '{escaped(name)}': {named}.",
        hint="`list_gates` shows what waits for a verdict.",
    )


def not_judged(state: str, name: str, doc: StateDoc) -> StateRefusal:
    """Refuse a verdict that the state does not wait for, or no longer waits for."""
    return StateRefusal(
        code="not_judged",
        message=f"Gate '{name}' of state '{state}' waits for no verdict now: the state is {doc.status.value}.",
        hint="No action is needed: somebody else decided, or the output was sent back, taken or withdrawn.",
        doc=doc,
    )


def content_changed(state: str) -> Refusal:
    """Refuse a verdict on a content that is not the one submitted now.

    The new hash is not told: it could be sent without that anybody had read the content.
    """
    return Refusal(
        code="content_changed",
        message=f"The output of '{state}' that waits for a verdict is another one.",
        hint="Nothing was stored. Read it again (`list_gates` with the state) and judge what it is now.",
    )


def not_a_reviewer(gate: OpenGate, judge: str) -> Refusal:
    """Refuse a verdict of a caller that is not asked for it."""
    return Refusal(
        code="not_a_reviewer",
        message=f"The verdict of gate '{gate.name}' is given by {gate.whom}, not by '{judge}'.",
        hint="Leave it to them; `override_gate` lets an output pass, with the scope override and a reason.",
    )


def author_may_not_review(gate: str, author: str, *, by_key: bool) -> Refusal:
    """Refuse a verdict of the author of the output."""
    how = "came with the same key as" if by_key else "is by"
    return Refusal(
        code="author_may_not_review",
        message=f"Gate '{gate}': the output {how} '{author}', and its author cannot review it.",
        hint="Let another agent or person judge, each with a key of its own; or set author_may_review at the gate.",
    )


def author_may_not_attest(gate: str) -> Refusal:
    """Refuse the word of an author that a command passed."""
    return Refusal(
        code="author_may_not_review",
        message=f"Gate '{gate}': that its command passed is reported by the helper that ran it, not by the author.",
        hint=(
            "Start `dcf agents local` with DCF_HELPER_KEY, a key with the scope attest that is not the author's; or "
            "name reviewers at the gate."
        ),
    )


def author_may_not_override(gate: str, author: str) -> Refusal:
    """Refuse an override by the author of the output."""
    return Refusal(
        code="author_may_not_override",
        message=f"Gate '{gate}': '{author}' is the author of the output and cannot override the gate.",
        hint="Let somebody else override it, with a key of their own; or set author_may_override at the gate.",
    )


def criteria_missing(gate: str, missing: Sequence[str], unknown: Sequence[str]) -> Refusal:
    """Refuse a verdict that does not judge each criterion once."""
    problems = [f"not judged: {clip('; '.join(missing), 400)}"] if missing else []
    problems += [f"not a criterion: {clip(escaped('; '.join(unknown)), 400)}"] if unknown else []
    return Refusal(
        code="invalid_verdict",
        message=f"Gate '{gate}' needs one verdict for each of its criteria: {', '.join(problems)}.",
        hint='Send criteria as [{"criterion": "…", "passed": true, "feedback": "…"}], each text as listed.',
    )


def contradicts(gate: str) -> Refusal:
    """Refuse a failure in which nothing failed."""
    return Refusal(
        code="invalid_verdict",
        message=f"The verdict on gate '{gate}' is fail, and every criterion passed.",
        hint="Say which criterion failed, with feedback that tells the worker what to correct.",
    )


def no_exit_code(gate: str) -> Refusal:
    """Refuse the result of a command that does not say how it ended."""
    return Refusal(
        code="invalid_verdict",
        message=f"Gate '{gate}' is a command: its verdict is its exit code.",
        hint="Send `exit_code`, with `output_tail` and `duration_s`; verdict unavailable if it could not be run.",
    )
