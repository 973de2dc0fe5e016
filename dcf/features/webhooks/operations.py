"""Offers work to agents that have no connection to dcf, holds the lease for those that accept it, takes their answers.

A webhook gets its work and a task token in one message (`adapters/webhook`). Its acceptance is recorded as a lease of
dcf's in its name. Everything is safe to repeat. The offer of a state is always the same, and the lease has a token that
follows from it. An answer that comes before the lease was recorded takes the lease first. This module must not decide.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar

from dcf.core.access.provenance import mark_of_input
from dcf.core.completing.updates import Update
from dcf.core.completing.waiting_refusals import TASK_TOKEN_UNKNOWN
from dcf.core.definitions.briefs import brief_of
from dcf.core.definitions.model import Definition
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import Status
from dcf.core.documents.notices import NoticeKind
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.usage import UsageReport
from dcf.core.leasing.lease import Renew
from dcf.core.lifecycle.inspection import is_ready
from dcf.errors import NotFound
from dcf.features.webhooks.storage import Webhook
from dcf.features.webhooks.tokens import (
    Offer,
    WorkToken,
    answered,
    in_words_of_tokens,
    needs_lease,
    read_work_token,
    work_token,
)
from dcf.runs.control_plane import ControlPlane
from dcf.runs.notifying.announcements import entry_of
from dcf.values.instants import to_text
from dcf.values.json_text import Json, without_nulls
from dcf.values.refusal import Refusal
from dcf.values.task_tokens import read_task_token

Operated: TypeAlias = RunAnswer | Refusal
Written = TypeVar("Written", Leased, Updated)

_NEWS = frozenset({NoticeKind.ASKED, NoticeKind.CANCELLED})
"""Events about a state that offer no work."""

_ALIVE = "Send the next heartbeat before lease_expires_at, or end the work with success or failure."


class Offers:
    """Work that is offered, and its answers. `agent_of` returns the webhook of an agent, None if there is none."""

    def __init__(self, plane: ControlPlane, agent_of: Callable[[str], Webhook | None]) -> None:
        self._plane = plane
        self._agent_of = agent_of
        self._skills: Callable[[Definition, str], list[Json]] | None = None

    def skills_by(self, tell: Callable[[Definition, str], list[Json]]) -> None:
        """From now on tell the skills of a state by this; without it only their references."""
        self._skills = tell

    def of_event(self, agent: Webhook, event: Mapping[str, Json]) -> Offer | None:
        """Return the work that an event is about; None if there is none."""
        entry, workflow_id = entry_of(event), event.get("workflow_id")
        if entry is None or entry.state is None or not isinstance(workflow_id, str) or entry.type in _NEWS:
            return None
        return self.make(agent, workflow_id, entry.state)

    def make(self, agent: Webhook, workflow_id: str, state: str) -> Offer | None:
        """Return the work of a state; None if it is nothing that this agent could take now."""
        try:
            snapshot = self._plane.read(workflow_id, (state,), whole_meta=False)
            path = self._plane.path(workflow_id, state)
        except NotFound:
            return None
        doc, meta = snapshot.states.get(state), snapshot.meta
        if doc is None or meta is None or not is_ready(meta, doc, snapshot.now):
            return None
        if not meta.may_take(path, agent.agent_id) or doc.tries >= meta.max_attempts:
            return None
        token = work_token(agent.token_secret, workflow_id, path, doc.lease.epoch, agent.agent_id, doc.corrections)
        handed = None
        if doc.visit is not None:
            handed = self._plane.transactions.run(workflow_id).context.task_token(path, str(doc.visit))
        work: dict[str, Json] = {
            "workflow_id": workflow_id,
            "state": path,
            "deadline": None if doc.deadline is None else to_text(doc.deadline),
            "heartbeat_s": doc.heartbeat_s,
            "lease_ttl_s": agent.lease_ttl_s,
            "attempt": doc.attempts + 1,
            "last_error": doc.last_error,
        }
        state_input = snapshot.inputs.get(state)
        shown = without_nulls(work)
        definition = self._plane.run(workflow_id).definition
        brief = brief_of(definition, path, state_input)
        shown |= brief.as_json()
        if brief.skills and self._skills is not None:
            shown["skills"] = self._skills(definition, path)
        shown |= {"provenance": mark_of_input(path, doc), "input": state_input}
        return Offer(work=shown, token=token, task_token=handed or token.text, is_handed_on=handed is not None)

    def accept(self, agent: Webhook, offer: Offer) -> None:
        """Record that the agent has taken the work. It may have answered already; then there is nothing to record."""
        token = offer.token
        leased = self._plane.acquire(token.workflow_id, token.acquire(agent.lease_ttl_s))
        if offer.is_handed_on and isinstance(leased, Leased):
            done = Update(state=token.state, token=token.lease_token, owner=token.agent_id, status=Status.SUCCEEDED)
            self._plane.update(token.workflow_id, done)

    def read(self, task_token: str) -> WorkToken | None:
        """Return what a task token of an offer names, genuine or not; None for one of another kind."""
        token = read_task_token(task_token)
        return None if token is None else read_work_token(token)

    def succeed(self, token: WorkToken, output: Json, usage: UsageReport | None = None) -> Operated:
        """End the work with an output, and charge what it used up."""
        return self._end(token, Status.SUCCEEDED, has_output=True, output=output, usage=usage)

    def fail(
        self, token: WorkToken, error: str | None, cause: str | None, usage: UsageReport | None = None
    ) -> Operated:
        """End the work with a failure; the state's Retry and Catch apply."""
        return self._end(token, Status.FAILED, error=error, cause=cause, usage=usage)

    def heartbeat(self, token: WorkToken) -> Operated:
        """Let the lease last as long again."""
        agent = self._genuine(token)
        if agent is None:
            return TASK_TOKEN_UNKNOWN.refuse()
        renewal = Renew(state=token.state, token=token.lease_token, ttl_s=agent.lease_ttl_s, reject_if_expired=False)
        answer = self._as_holder(agent, token, lambda: self._plane.renew(token.workflow_id, renewal))
        if isinstance(answer, Refusal):
            return in_words_of_tokens(token.state, answer)
        doc = answer.doc
        due = doc.heartbeat_due
        details: dict[str, Json] = {
            "state": token.state,
            "state_status": doc.status.value,
            "run_status": "running",
            "heartbeat_due": None if due is None else to_text(due),
            "lease_expires_at": None if doc.lease.expires_at is None else to_text(doc.lease.expires_at),
            "deadline": None if doc.deadline is None else to_text(doc.deadline),
            "hint": _ALIVE,
        }
        return RunAnswer(answer=details, at=doc.lease.ts or 0)

    def _end(self, token: WorkToken, status: Status, **result: Any) -> Operated:
        agent = self._genuine(token)
        if agent is None:
            return TASK_TOKEN_UNKNOWN.refuse()
        update_request = Update(
            state=token.state, token=token.lease_token, owner=token.agent_id, status=status, **result
        )
        answer = self._as_holder(agent, token, lambda: self._plane.update(token.workflow_id, update_request))
        return answered(token.state, answer)

    def _as_holder(self, agent: Webhook, token: WorkToken, write: Callable[[], Written | Refusal]) -> Written | Refusal:
        """Write as the holder of the lease; take it first if that was not recorded when the agent accepted."""
        answer = write()
        if needs_lease(answer):
            leased = self._plane.acquire(token.workflow_id, token.acquire(agent.lease_ttl_s))
            return write() if isinstance(leased, Leased) else leased
        return answer

    def _genuine(self, token: WorkToken) -> Webhook | None:
        """Return the agent of a token that was made for it and for a run that exists; None for any other token."""
        agent = self._agent_of(token.agent_id)
        if agent is None or not token.is_made_with(agent.token_secret) or not self._exists(token.workflow_id):
            return None
        return agent

    def _exists(self, workflow_id: str) -> bool:
        try:
            self._plane.run(workflow_id)
        except NotFound:
            return False
        return True
