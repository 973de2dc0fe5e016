"""The kinds of refusals of a note, a question, an answer or a correction.

A result is corrected until it is used. The other refusals are in `core/documents/refusals.py`; a note shares one with
the journal (`features/journal/refusals.py`).
"""

from typing import Final

from dcf.core.documents.answers import StateRefusal
from dcf.features.questions.model import MOST_KEPT, MOST_NOTES, MOST_OF_VISIT
from dcf.values.refusal import Refusal

_RERUN = "A later result replaces it: `rerun` begins again from a state, `resolve_state` ends an open one."
TOO_MANY_NOTES: Final = Refusal.kind(
    "too_many",
    f"The run has {MOST_NOTES} notes, and takes no more.",
    "Put what must be known into your result.",
)
TOO_MANY_QUESTIONS: Final = Refusal.kind(
    "too_many",
    f"{MOST_OF_VISIT} questions were asked about '{{state}}', and no more are taken.",
    "Decide with what you know, or fail the state with an error that says what is missing.",
)
QUESTIONS_FULL: Final = Refusal.kind(
    "too_many",
    f"{MOST_KEPT} questions of the run wait for their answers.",
    "Ask again when some are answered; `list_human_tasks` lists them.",
    retry_after_s=60,
)
UNKNOWN_QUESTION: Final = Refusal.kind(
    "unknown_question",
    "The run keeps no question '{question_id:escaped}'.",
    "The event of the question and `list_human_tasks` name it, as in q1.",
)
NOT_ASKED: Final = Refusal.kind(
    "not_asked",
    "Question {question.question_id} is for {recipients.whom}, not for '{answerer}'.",
    "Answer as one of these, or for one of these groups.",
)
ALREADY_ANSWERED: Final = Refusal.kind(
    "already_answered",
    "'{question.answered_by}' answered question {question.question_id}{at}: {answer:escaped}",
    "Nothing is to be done; the first answer counts. `leave_note` can add to it.",
)
GIVEN_UP: Final = Refusal.kind(
    "question_closed",
    "Question {question.question_id} had no answer until {question.until:time}, and was given up.",
    "Leave a note if it still matters.",
)
STATE_MOVED_ON: Final = StateRefusal.kind(
    "question_closed",
    "Question {question.question_id} was about '{question.state}', which has moved on.",
    "No action needed. The question is closed.",
)
NO_SUCH_CHOICE: Final = Refusal.kind(
    "invalid_answer",
    "Question {question.question_id} offers no choice '{answer:escaped}'.",
    "Choose one of: {offered:escaped 500}. More can be said in comment.",
)
NOT_COMPLETED: Final = StateRefusal.kind(
    "not_completed",
    "State '{state}' is {doc.status.value}, and has no result that was written with this lease_token.",
    "Only the lease that completed it last corrects its result; planner and operators need no `lease_token`.",
)
STILL_HELD: Final = StateRefusal.kind(
    "not_completed",
    "You hold state '{state}', which has no result yet.",
    "Complete it with the right result: `update_workflow_control_plane`.",
)
NOT_AN_AGENTS: Final = StateRefusal.kind(
    "not_completed",
    "The result of '{state}' is no agent's, and is not corrected.",
    "`rerun` begins a new run, from any state.",
)
TAKEN: Final = Refusal.kind(
    "result_used", "The result of '{state}' was used: {by} '{follower}', which follows it.", _RERUN
)
USED_BY: Final = Refusal.kind(
    "result_used", "The result of '{state}' was used: '{follower}' has begun with it.", _RERUN
)
JOINED: Final = Refusal.kind("result_used", "The result of '{state}' was used: '{owner}' around it has ended.", _RERUN)
RUN_ENDED: Final = Refusal.kind(
    "result_used",
    "The result of '{state}' is final: the run is {status.value}.",
    "`rerun` begins a new run, from any state.",
)
PATH_DIFFERS: Final = Refusal.kind(
    "path_differs",
    "With this result '{state}' would lead to {after}, and the run has continued with {before}.",
    "Nothing was changed. The planner can resolve the state that follows, or begin again: `rerun`.",
)
