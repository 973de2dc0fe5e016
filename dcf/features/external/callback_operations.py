"""Callbacks: ends the Task that a task token names, or keeps it alive.

It names what is read and the pure decision that is made on it (`features/external/callbacks.py`). A token that is not
genuine gets no answer about a run, not even whether it exists. This module must not decide or send Redis commands.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from dcf.core.completing.waiting_refusals import TASK_TOKEN_UNKNOWN
from dcf.core.definitions import needs
from dcf.core.definitions.scopes import with_scopes
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.operations import RunDecision
from dcf.core.documents.usage import UsageReport
from dcf.errors import UnknownRun
from dcf.features.external import callbacks
from dcf.features.external.callbacks import Callback
from dcf.features.webhooks.operations import Offers
from dcf.features.webhooks.tokens import WorkToken
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.transactions import Run
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.task_tokens import TaskToken, read_task_token

if TYPE_CHECKING:
    from dcf.store.transaction.runs import Committed


class Callbacks:
    """The operations of the holder of a task token."""

    def __init__(self, plane: ControlPlane, offers: Offers | None = None) -> None:
        self._offers = offers
        self._plane = plane
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups

    def succeed(self, task_token: str, output: Json, usage: UsageReport | None = None) -> Operated:
        """End the state with this output, and charge what it used up."""
        offered = self._offered(task_token)
        if offered is not None:
            return offered.offers.succeed(offered.token, output, usage)
        return self._conclude(task_token, lambda token: Callback(token=token, output=output, usage=usage))

    def fail(
        self, task_token: str, error: str | None = None, cause: str | None = None, usage: UsageReport | None = None
    ) -> Operated:
        """Fail the state; its Retry and Catch apply."""
        offered = self._offered(task_token)
        if offered is not None:
            return offered.offers.fail(offered.token, error, cause, usage)
        return self._conclude(
            task_token, lambda token: Callback(token=token, failed=True, error=error, cause=cause, usage=usage)
        )

    def heartbeat(self, task_token: str) -> Operated:
        """Restart the state's HeartbeatSeconds, and renew the lease of an agent that accepted it as an offer."""
        offered = self._offered(task_token)
        if offered is not None:
            return offered.offers.heartbeat(offered.token)
        token = self._genuine(task_token)
        if token is None:
            return TASK_TOKEN_UNKNOWN.refuse()

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            return callbacks.beat(snapshot, token, run.context)

        reads = ReadSet(states=with_scopes([token.state]))
        done: Committed[Operated] = self._transactions.by_definition(
            token.workflow_id, lambda _: reads, decide, token.state
        )
        return done.answer

    def token_of(self, workflow_id: str, path: str, doc: StateDoc) -> str | None:
        """Return the task token of the present visit of a state, for its lease holder; None if it has none."""
        if doc.visit is None:
            return None
        return self._transactions.run(workflow_id).context.task_token(path, str(doc.visit))

    def _offered(self, task_token: str) -> "_Offered | None":
        """Return what serves the token of work that was offered to an agent; None for that of a state's visit."""
        token = None if self._offers is None else self._offers.read(task_token)
        return None if token is None or self._offers is None else _Offered(offers=self._offers, token=token)

    def _conclude(self, task_token: str, wish: Callable[[TaskToken], Callback]) -> Operated:
        token = self._genuine(task_token)
        if token is None:
            return TASK_TOKEN_UNKNOWN.refuse()
        came = wish(token)
        request = came.request()

        def reads(run: Run) -> ReadSet:
            needed = replace(needs.to_end(run.definition, token.state), run_receipts=(request.key,))
            charged = () if came.usage is None else (token.state,)
            return replace(needed, agents=tuple(dict.fromkeys((*needed.agents, *charged))))

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            return callbacks.conclude(snapshot, request, came, run.definition, run.context)

        decided = decide if came.failed else within_quota(decide)
        done: Committed[Operated] = self._transactions.by_definition(token.workflow_id, reads, decided, token.state)
        if came.usage is not None and self._plane.after_usage is not None:
            self._plane.after_usage(token.workflow_id, ())
        self._follow_ups.after(token.workflow_id, done)
        return done.answer

    def _genuine(self, task_token: str) -> TaskToken | None:
        """Return what the token names if it was made for the run that exists now; else None."""
        token = read_task_token(task_token)
        if token is None:
            return None
        try:
            run = self._transactions.current_run(token.workflow_id)
        except UnknownRun:
            return None
        return token if token.is_made_with(run.context.secret) else None


@record(frozen=True, slots=True)
class _Offered:
    offers: Offers
    token: WorkToken
