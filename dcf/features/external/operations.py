"""Signals: sends one into a run, to the state that waits for it, or kept for the state that will.

It looks which state waits, and has the pure decision of `features/external/signalling.py` made on that. If a state
began or ceased to wait meanwhile, it looks again. This module must not decide.
"""

from dataclasses import replace
from typing import Final

from dcf.asl.tasks.signals import NAME_RULE, is_signal_name
from dcf.core.definitions import needs
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.model import StateDoc
from dcf.core.documents.operations import RunDecision, RunRequest
from dcf.core.documents.signals import NO_SIGNALS
from dcf.errors import InvalidArgument
from dcf.features.external import signalling
from dcf.features.external.signalling import MOVED, Signal
from dcf.runs.control_plane import ControlPlane
from dcf.runs.operating import Operated, within_quota
from dcf.runs.requests import run_request
from dcf.runs.transactions import Run
from dcf.store.transaction.runs import Committed
from dcf.values.json_text import Json

_MOST_TRIES: Final = 20
_AT_ONCE: Final = 500
"""Documents of open states that are read in one round trip."""


class SignalSending:
    """Sends signals into runs."""

    def __init__(self, plane: ControlPlane) -> None:
        self._transactions = plane.transactions
        self._follow_ups = plane.follow_ups
        self._operations = plane.operations
        self._store = plane.transactions.store

    def send(
        self,
        workflow_id: str,
        name: str,
        payload: Json = None,
        *,
        reason: str | None = None,
        request_id: str | None = None,
    ) -> Operated:
        """Send a signal. A repetition with the same request id gets the first answer. Raise UnknownRun."""
        if not is_signal_name(name):
            raise InvalidArgument("name is no name of a signal.", NAME_RULE)
        signal = Signal(name=name, payload=payload)
        request = run_request("send_signal", reason, request_id, signal.arguments())
        answer: Operated = MOVED
        for _ in range(_MOST_TRIES):
            committed = self._sent(workflow_id, request, signal)
            answer = committed.answer
            if answer is not MOVED:
                self._follow_ups.after(workflow_id, committed)
                break
        return answer

    def _sent(self, workflow_id: str, request: RunRequest, signal: Signal) -> Committed[Operated]:
        seen = self._operations.read(workflow_id, ReadSet(signals=True))  # before the states: see `Signals.waits`
        waits = self._waiting(workflow_id, signal.name)

        def reads(run: Run) -> ReadSet:
            read_set = ReadSet() if waits is None else needs.to_end(run.definition, waits[0])
            return replace(read_set, signals=True, run_receipts=(request.key,))

        def decide(run: Run, snapshot: Snapshot) -> RunDecision:
            if waits is None:
                looked = (seen.signals or NO_SIGNALS).waits
                return signalling.keep(snapshot, request, signal, looked, run.definition)
            return signalling.deliver(snapshot, request, signal, waits, run.definition, run.context)

        paths = () if waits is None else (waits[0],)
        return self._transactions.by_definition(workflow_id, reads, within_quota(decide), *paths)

    def _waiting(self, workflow_id: str, name: str) -> tuple[str, int] | None:
        """Return the state that has waited for the signal for longest, with its epoch; None if none waits."""
        paths, waiting, inputs = self._store.open_states(workflow_id), dict[str, StateDoc](), dict[str, Json]()
        for start in range(0, len(paths), _AT_ONCE):
            page = paths[start : start + _AT_ONCE]
            states = fenced(self._store.read(workflow_id, ReadSet(states=with_scopes(page)))).states
            signal_tasks = {path: doc for path in page if (doc := states.get(path)) and doc.kind == "Signal"}
            waiting |= signal_tasks
            inputs |= self._store.read(workflow_id, ReadSet(inputs=tuple(signal_tasks))).inputs if signal_tasks else {}
        return signalling.longest_waiting(waiting, inputs, name)
