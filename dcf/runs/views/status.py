"""The status of a run and its states, as the records that command line, tools, assignments and pages show. Pure.

It is computed from the documents that were read, here and nowhere else. Formatting is left to the callers.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Final

from dcf.asl.state_paths import ancestors, split, split_scope
from dcf.core.documents.decision import Snapshot, Tally
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.core.lifecycle.inspection import is_ready, public_state
from dcf.store.events.notified import NEVER_TOLD, Told
from dcf.values.instants import from_text, to_text
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json, byte_length
from dcf.values.records import record

_ERROR_SHOWN: Final = 200
"""Characters of an error in a summary."""

_OUTPUT_SHOWN: Final = 4_000
"""Bytes of a run's output in a summary, as JSON."""

_SUMMARY: Final = ("workflow_id", "workflow_name", "status", "created_at", "started_at", "finished_at", "finalized_at")
_MORE_OF_SUMMARY: Final = (
    "paused_at",
    "paused_because",
    "blocked_by",
    "budget",
    "usage",
    "tags",
    "rerun_of",
    "project",
    "definition_ref",
    "parent",
    "signals",
    "planner_agent_id",
    "error",
    "cause",
)


@record(frozen=True, slots=True, kw_only=True)
class StateView:
    """Status of a state. Times are the server's, in microseconds.

    `ready`: a lease on it could be granted now, and since `ready_since` if the documents tell. `agents` are the
    assigned ones; if empty, any agent may take it. `awaits_start`: it is ready but the run was not started, so no
    agent was notified. `is_paused`: it would be ready if the run were not paused, `is_blocked`: if no issue blocked it.
    `told` says how its agents were notified of it, if that was read. `given` (the input) and `output` are MISSING if
    there is no such document. A Parallel or Map may have a `tally` of what has ended inside.
    """

    path: str
    doc: StateDoc
    ready: bool
    agents: tuple[str, ...] = ()
    ready_since: int | None = None
    awaits_start: bool = False
    is_paused: bool = False
    is_blocked: bool = False
    told: Told = NEVER_TOLD
    given: Json = MISSING
    output: Json = MISSING
    tally: Tally | None = None

    def is_for(self, agent_id: str) -> bool:
        """Return True if the agent may take the state: it is assigned, alone or in a pool, or no agent is."""
        return not self.agents or agent_id in self.agents

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON: the document without its lease token, and the computed fields."""
        shown = public_state(self.doc) | {"ready": self.ready, "agents": list(self.agents)}
        if self.ready:
            since = None if self.ready_since is None else to_text(self.ready_since)
            shown |= {"ready_since": since, "awaits_start": self.awaits_start, **self._notifications_as_json()}
        if self.is_paused:
            shown["paused"] = True
        if self.is_blocked:
            shown["blocked"] = True
        if self.tally is not None:
            shown["tally"] = {"done": self.tally.done, "failed": self.tally.failed}
        return shown

    def summary(self) -> dict[str, Json]:
        """Return the most important fields as JSON; empty ones are left out."""
        doc = self.doc
        shown: dict[str, Json] = {
            "status": doc.status.value,
            "ready": self.ready or None,
            "attempts": doc.attempts or None,
            "type": doc.kind,
            "owner_agent_id": doc.lease.owner_agent_id,
            "started_at": None if doc.started_at is None else to_text(doc.started_at),
            "finished_at": None if doc.finished_at is None else to_text(doc.finished_at),
            "last_error": None if doc.last_error is None else doc.last_error[:_ERROR_SHOWN],
        }
        return {name: value for name, value in shown.items() if value is not None}

    def _notifications_as_json(self) -> dict[str, Json]:
        """Return how often its agents were notified in this visit, and why the last notification did not arrive."""
        epoch = self.doc.lease.epoch
        trouble = self.told.trouble(epoch)
        reason = (
            None if trouble is None else {"agent": trouble.agent_id, "reason": trouble.reason, "error": trouble.error}
        )
        return {"told_times": self.told.times(epoch), "not_told": reason}


@record(frozen=True, slots=True, kw_only=True)
class RunView:
    """Status of a run at `now` (server microseconds).

    `document` is the whole meta document, if it was requested; `meta` is the part that decisions read. `more` counts
    the open branches and iterations that were left out, by Parallel or Map.
    """

    meta: Meta
    now: int
    states: Mapping[str, StateView]
    document: Mapping[str, Json] = field(default_factory=dict)
    more: Mapping[str, int] = field(default_factory=dict)

    @property
    def status(self) -> RunStatus:
        """Status of the run as a whole."""
        return self.meta.status

    @property
    def word(self) -> str:
        """The status for people: a run that is paused or blocked says so, though its status is running."""
        if self.meta.is_paused:
            return "paused"
        return "blocked" if self.meta.blocked_by else self.meta.status.value

    @property
    def planner_agent_id(self) -> str | None:
        """Id of the agent that planned the run, if the whole meta document was read."""
        planner_agent_id = self.document.get("planner_agent_id")
        return planner_agent_id if isinstance(planner_agent_id, str) else None

    def as_json(self) -> dict[str, Json]:
        """Return it as JSON, with the outputs separate from the states."""
        outputs = {path: state.output for path, state in self.states.items() if state.output is not MISSING}
        states = {path: state.as_json() for path, state in self.states.items()}
        return {"meta": dict(self.document), "states": states, "outputs": outputs, "more": dict(self.more)}


def summary_of_run(run: RunView) -> dict[str, Json]:
    """Return what matters of a run at a glance as JSON: fields of meta, with a short output, without the input."""
    shown = {name: run.document.get(name) for name in (*_SUMMARY, *_MORE_OF_SUMMARY)}
    output = run.document.get("output")
    if output is not None and byte_length(output) <= _OUTPUT_SHOWN:
        shown["output"] = output
    return {name: value for name, value in shown.items() if value is not None or name in _SUMMARY}


def known(value: Json) -> Json:
    """Return a document's value, or None if there is no document."""
    return None if value is MISSING else value


def view_of(snapshot: Snapshot, path: str, doc: StateDoc, meta: Meta) -> StateView:
    """Return the status of a state; `meta` must have its assignment."""
    ready = is_ready(meta, doc, snapshot.now)
    return StateView(
        path=path,
        doc=doc,
        ready=ready,
        agents=meta.assigned(path),
        ready_since=_ready_since(path, doc, snapshot.states, meta) if ready else None,
        is_paused=meta.is_paused and doc.is_claimable(snapshot.now),
        is_blocked=bool(meta.blocked_by) and doc.is_claimable(snapshot.now),
        awaits_start=ready and not meta.is_started and doc.lease.epoch == from_text(meta.created_at),
        given=snapshot.inputs.get(path, MISSING),
        output=snapshot.outputs.get(path, MISSING),
        tally=snapshot.tallies.get(path) if doc.scope is not None else None,
    )


def _ready_since(path: str, doc: StateDoc, states: Mapping[str, StateDoc], meta: Meta) -> int | None:
    """Return since when the state could be taken: its retry was due, its lease ended, or the state before it ended."""
    if doc.not_before is not None:
        return doc.not_before
    if doc.lease.token is not None:
        return doc.lease.expires_at
    if doc.lease.ts is not None:  # its lease was released
        return doc.lease.ts
    if doc.waits_for:
        ended = [states[name].finished_at for name in doc.waits_for if name in states]
        return max((at for at in ended if at is not None), default=None)
    if "/" in path:
        return _opened_at(path, states)
    return from_text(meta.created_at)


def _opened_at(path: str, states: Mapping[str, StateDoc]) -> int | None:
    """Return when the Parallel or Map was entered that opened this first state of a branch."""
    around = states.get(ancestors(path)[-1])
    index = split_scope(split(path)[0])[1]
    at_once = around is not None and around.scope is not None and index < around.scope.concurrency
    return around.started_at if around is not None and at_once else None
