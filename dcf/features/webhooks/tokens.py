"""Work that is offered to an agent which has no connection to dcf, and the task token by which it ends the work. Pure.

The offer of a ready state names the state's epoch. Once the agent has accepted it, dcf holds the lease for it, with a
token that follows from the task token. So an answer by task token is a holder's write like any other: it is applied
once, its repetition gets the same answer, and it is refused once another holds the state. An agent may answer before
its acceptance was recorded; then the answer takes the lease first, if the state still has the epoch of the offer.
"""

import hashlib
import re
from collections.abc import Mapping
from hmac import compare_digest
from typing import Final

from dcf.core.completing.waiting_refusals import TASK_TOKEN_OUTDATED, TASK_TOKEN_USED
from dcf.core.documents.answers import AlreadyCompleted, Updated
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer
from dcf.core.leasing.lease import Acquire
from dcf.values.identifiers import is_id
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal
from dcf.values.task_tokens import TaskToken, task_token

_WORK: Final = "work"
_FIELDS: Final = 3
_OFFERED: Final = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,9}))?")
_OVER: Final = frozenset({"terminal", "lease_lost", "owner_mismatch", "token_used"})
"""Codes of refusals that say that the work is no longer this agent's."""

_ENDED: Final = "Nothing more is to be done for this task token."


@record(frozen=True, slots=True, kw_only=True)
class WorkToken:
    """The content of the task token of an offer: the state with this epoch, offered to this agent.

    `corrections` tells the offered input from an input that was corrected since.
    """

    workflow_id: str
    state: str
    epoch: int
    agent_id: str
    text: str
    corrections: int = 0

    def is_made_with(self, secret: str) -> bool:
        """Return True if it was made with this secret. Compares in constant time."""
        made = work_token(secret, self.workflow_id, self.state, self.epoch, self.agent_id, self.corrections)
        return bool(secret) and compare_digest(made.text.encode(), self.text.encode())

    @property
    def lease_token(self) -> str:
        """The token of the lease that dcf holds for the agent."""
        return f"lease-{hashlib.sha256(self.text.encode()).hexdigest()[:32]}"

    def acquire(self, ttl_s: int) -> Acquire:
        """Return the request for the lease; it is granted only while the state is as it was offered."""
        return Acquire(
            state=self.state,
            owner=self.agent_id,
            token=self.lease_token,
            ttl_s=ttl_s,
            epoch=self.epoch,
            corrections=self.corrections,
        )


@record(frozen=True, slots=True, kw_only=True)
class Offer:
    """Work for one agent: what is to be done, and the task token by which it is ended or kept alive.

    `is_handed_on`: the state waits for a callback once the agent has accepted, and `task_token` is the token of that.
    """

    work: Mapping[str, Json]
    token: WorkToken
    task_token: str
    is_handed_on: bool = False


def work_token(secret: str, workflow_id: str, state: str, epoch: int, agent_id: str, corrections: int = 0) -> WorkToken:
    """Make the token of an offer with the agent's secret; of the same offer it is always the same."""
    offered = f"{epoch}.{corrections}" if corrections else str(epoch)
    text = task_token(secret, workflow_id, state, f"{_WORK}:{offered}:{agent_id}")
    return WorkToken(
        workflow_id=workflow_id, state=state, epoch=epoch, agent_id=agent_id, text=text, corrections=corrections
    )


def read_work_token(token: TaskToken) -> WorkToken | None:
    """Return what the token of an offer names, which is not checked yet; None for that of a state's visit."""
    parts = token.visit.split(":", _FIELDS - 1)
    offered = _OFFERED.fullmatch(parts[1]) if len(parts) == _FIELDS and parts[0] == _WORK else None
    if offered is None or not is_id(parts[2]):
        return None
    return WorkToken(
        workflow_id=token.workflow_id,
        state=token.state,
        epoch=int(offered[1]),
        agent_id=parts[2],
        text=token.text,
        corrections=int(offered[2] or 0),
    )


def needs_lease(answer: object) -> bool:
    """Return True if a write was refused because it is not yet recorded that the agent accepted the work."""
    return isinstance(answer, Refusal) and answer.code == "lease_lost"


def answered(state: str, answer: Updated | Refusal) -> RunAnswer | Refusal:
    """Return the answer to a write, in the words of task tokens."""
    if isinstance(answer, Refusal):
        return in_words_of_tokens(state, answer)
    over = answer.run_status is not RunStatus.RUNNING
    details = {
        "state": state,
        "state_status": answer.status.value,
        "run_status": answer.run_status.value,
        "next_states": list(answer.next_states),
        "hint": "The run has ended." if over else _ENDED,
    }
    return RunAnswer(answer=details, at=answer.doc.finished_at or 0, repeated=answer.repeated)


def in_words_of_tokens(state: str, refusal: Refusal) -> Refusal:
    """Return the refusal of a write or a lease as one of the task token."""
    if isinstance(refusal, AlreadyCompleted):
        return TASK_TOKEN_USED.refuse(state=state)
    if refusal.code in _OVER or refusal.code == "conflict":
        return TASK_TOKEN_OUTDATED.refuse(state=state, why="the work was taken back, or the state has ended")
    return refusal
