"""The outcome of a lease holder's write: a sentence, and the calls that follow."""

from collections.abc import Sequence

from dcf.core.completing.updates import Update
from dcf.core.documents.answers import HeldUp, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from dcf.verbs.answers.next_calls import wait_again
from dcf.verbs.answers.work import steps_of
from dcf.workforce.steps import to_complete

_MOST_NAMED = 5


def sentence_of(request: Update, word: str | None, answer: Updated) -> str:
    """Return the outcome for the state in words; `word` is the status that the caller asked for."""
    text = "" if word is None or word == answer.status else f" ('{word}' means {answer.status})"
    if answer.repeated:
        return f"{answer.status}{text}, as an identical call wrote before; nothing was written now."
    if request.is_partial:
        return "still yours; what you sent is stored." if answer.output_written else "still yours."
    if request.status is Status.PENDING:
        return "released; the attempt counts."
    if answer.doc.waits_outside:
        return "handed over; it waits for its task token."
    if request.status is Status.FAILED or answer.status is Status.FAILED:
        return f"failed{text}{_after_failure(answer)}"
    return f"succeeded{text}{', and its output is stored' if answer.output_written else ''}."


def reason_for_nothing(answer: Updated) -> str:
    """Return why no further work came along."""
    if answer.run_status is not RunStatus.RUNNING:
        return f"The run is {answer.run_status}: nothing is left to do in it."
    if answer.next_states:
        named = ", ".join(answer.next_states[:_MOST_NAMED])
        return f"What follows ({named}) is not for you now, and nothing else of this run is."
    return "Nothing else in this run is for you now."


def calls_after(
    request: Update, workflow_id: str, agent_id: str | None, answer: Updated, work: Sequence[dict[str, Json]]
) -> list[dict[str, Json]]:
    """Return the calls to make after a write: on with the work that came, or with the state itself, or wait."""
    if work:
        return [step for work in work for step in steps_of(work, agent_id)]
    if request.is_partial and answer.doc.lease.is_held_with(request.token):
        lease: dict[str, Json] = {"workflow_id": workflow_id, "state": request.state, "lease_token": request.token}
        return [to_complete(lease, agent_id).as_json()]
    return [] if agent_id is None else [wait_again(agent_id)]


def calls_after_rejection(
    request: Update, workflow_id: str, agent_id: str | None, refusal: Refusal
) -> list[dict[str, Json]] | None:
    """Return the call that follows a refused output: to deliver it again, or to wait; None for other refusals."""
    if refusal.code == "review_running" and agent_id is not None:
        return [wait_again(agent_id)]
    if refusal.code not in ("output_invalid", "needs_work"):
        return None
    work: dict[str, Json] = {"workflow_id": workflow_id, "state": request.state, "lease_token": request.token}
    return [to_complete(work, agent_id).as_json()]


def what_failed(refusal: Refusal) -> dict[str, Json]:
    """Return the criteria that a gate found to fail, as a member of an answer, where there are some."""
    failed_criteria = refusal.failed_criteria if isinstance(refusal, HeldUp) else ()
    return {"failed_criteria": [dict(criterion) for criterion in failed_criteria]} if failed_criteria else {}


def _after_failure(answer: Updated) -> str:
    if answer.retry_at is not None:
        return f"; it is tried again at {to_text(answer.retry_at)}."
    if answer.run_status is not RunStatus.RUNNING:
        return f", and that is final: the run is {answer.run_status}."
    if answer.next_states:
        return f"; that is handled, and {', '.join(answer.next_states[:_MOST_NAMED])} can start."
    return "; that is final for this state, and the run continues."
