"""Every refusal of a note, a question, an answer or a correction, with its code and a hint what to do next.

    no_part              no_part                       who leaves the note has nothing to do with the run
    too_many             too_many_notes, too_many_questions, questions_full   a bound of the run
    unknown_question     unknown_question              the run keeps no question of this id
    not_asked            not_asked                     the question is for others
    already_answered     already_answered              somebody else was first
    question_closed      given_up, state_moved_on      nobody waits for the answer any more
    invalid_answer       no_such_choice                the answer is none of the choices
    not_completed        not_completed, still_held, not_an_agents   there is no result of this holder to correct
    result_used          taken, used_by, joined, run_ended   what follows has begun with the result
    path_differs         path_differs                  with this result the run would have gone another way

The other refusals are in `refusals`.
"""

from dcf.core.documents.answers import StateRefusal
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.features.questions.model import MOST_KEPT, MOST_NOTES, MOST_OF_VISIT, Open, Question
from dcf.values.instants import to_text
from dcf.values.names import escaped
from dcf.values.refusal import Refusal

_RERUN = "A later result replaces it: `rerun` begins again from a state, `resolve_state` ends an open one."


def no_part(agent_id: str) -> Refusal:
    """Refuse a note of an agent that has no part in the run."""
    return Refusal(
        code="no_part",
        message=f"'{agent_id}' neither plans this run nor is assigned in it.",
        hint="Name the state that you work on in `state`, or let its planner or an operator leave the note.",
    )


def too_many_notes() -> Refusal:
    """Refuse one note more than a run takes."""
    return Refusal(
        code="too_many",
        message=f"The run has {MOST_NOTES} notes, and takes no more.",
        hint="Put what must be known into your result.",
    )


def too_many_questions(state: str) -> Refusal:
    """Refuse one question more than a visit of a state takes."""
    return Refusal(
        code="too_many",
        message=f"{MOST_OF_VISIT} questions were asked about '{state}', and no more are taken.",
        hint="Decide with what you know, or fail the state with an error that says what is missing.",
    )


def questions_full() -> Refusal:
    """Refuse a question because as many wait as the run keeps."""
    return Refusal(
        code="too_many",
        message=f"{MOST_KEPT} questions of the run wait for their answers.",
        hint="Ask again when some are answered; `list_human_tasks` lists them.",
        retry_after_s=60,
    )


def unknown_question(question_id: str) -> Refusal:
    """Refuse an answer to what was not asked."""
    return Refusal(
        code="unknown_question",
        message=f"The run keeps no question '{escaped(question_id)}'.",
        hint="The event of the question and `list_human_tasks` name it, as in q1.",
    )


def not_asked(question: Question, recipients: Open, answerer: str) -> Refusal:
    """Refuse an answer of somebody else."""
    return Refusal(
        code="not_asked",
        message=f"Question {question.question_id} is for {recipients.whom}, not for '{answerer}'.",
        hint="Answer as one of these, or for one of these groups.",
    )


def already_answered(question: Question) -> Refusal:
    """Refuse an answer that came after another."""
    at = "" if question.answered_at is None else f" at {to_text(question.answered_at)}"
    answer = escaped(question.answer or "")
    return Refusal(
        code="already_answered",
        message=f"'{question.answered_by}' answered question {question.question_id}{at}: {answer}",
        hint="Nothing is to be done; the first answer counts. `leave_note` can add to it.",
    )


def given_up(question: Question) -> Refusal:
    """Refuse an answer that came too late."""
    until = to_text(question.until)
    return Refusal(
        code="question_closed",
        message=f"Question {question.question_id} had no answer until {until}, and was given up.",
        hint="Leave a note if it still matters.",
    )


def state_moved_on(question: Question, doc: StateDoc) -> StateRefusal:
    """Refuse an answer about a state that has ended, or was entered again."""
    return StateRefusal(
        code="question_closed",
        message=f"Question {question.question_id} was about '{question.state}', which has moved on.",
        hint="No action needed. The question is closed.",
        doc=doc,
    )


def no_such_choice(question: Question, answer: str) -> Refusal:
    """Refuse an answer that is none of the choices."""
    offered = ", ".join(question.choices)
    return Refusal(
        code="invalid_answer",
        message=f"Question {question.question_id} offers no choice '{escaped(answer)}'.",
        hint=f"Choose one of: {escaped(offered, 500)}. More can be said in comment.",
    )


def not_completed(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to correct a result that this caller did not write, or that there is not."""
    return StateRefusal(
        code="not_completed",
        message=f"State '{state}' is {doc.status.value}, and has no result that was written with this lease_token.",
        hint="Only the lease that completed it last corrects its result; planner and operators need no `lease_token`.",
        doc=doc,
    )


def still_held(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to correct what the caller has not completed yet."""
    return StateRefusal(
        code="not_completed",
        message=f"You hold state '{state}', which has no result yet.",
        hint="Complete it with the right result: `update_workflow_control_plane`.",
        doc=doc,
    )


def not_an_agents(state: str, doc: StateDoc) -> StateRefusal:
    """Refuse to correct what no agent wrote: the answer of a person, a signal, the output of a child run."""
    return StateRefusal(
        code="not_completed",
        message=f"The result of '{state}' is no agent's, and is not corrected.",
        hint="`rerun` begins a new run, from any state.",
        doc=doc,
    )


def taken(state: str, follower: str, doc: StateDoc) -> Refusal:
    """Refuse because what follows was leased with the result."""
    owner = doc.lease.owner_agent_id
    by = f"'{owner}' works on" if owner is not None else "an agent has taken"
    return Refusal(
        code="result_used",
        message=f"The result of '{state}' was used: {by} '{follower}', which follows it.",
        hint=_RERUN,
    )


def used_by(state: str, follower: str) -> Refusal:
    """Refuse because what follows has begun with the result without an agent."""
    return Refusal(
        code="result_used", message=f"The result of '{state}' was used: '{follower}' has begun with it.", hint=_RERUN
    )


def joined(state: str, owner: str) -> Refusal:
    """Refuse because the Parallel or Map around it has ended."""
    return Refusal(
        code="result_used", message=f"The result of '{state}' was used: '{owner}' around it has ended.", hint=_RERUN
    )


def run_ended(state: str, status: RunStatus) -> Refusal:
    """Refuse because the run has ended with the result."""
    return Refusal(
        code="result_used",
        message=f"The result of '{state}' is final: the run is {status.value}.",
        hint="`rerun` begins a new run, from any state.",
    )


def path_differs(state: str, before: str, after: str) -> Refusal:
    """Refuse because the run has continued where this result would not have led."""
    return Refusal(
        code="path_differs",
        message=f"With this result '{state}' would lead to {after}, and the run has continued with {before}.",
        hint="Nothing was changed. The planner can resolve the state that follows, or begin again: `rerun`.",
    )
