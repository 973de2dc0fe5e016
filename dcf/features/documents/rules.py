"""Rules for changing a run's documents by hand, outside the protocol, and the view of them that an editor gets.

An edit may correct data and people: agents, notes, inputs, outputs. It may not change what only the protocol keeps
consistent: statuses, leases, dependencies, history. Pure.
"""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field
from typing import Final

from dcf.core.documents import codec
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.core.leasing.attention import NEVER
from dcf.core.lifecycle.inspection import HIDDEN_TOKEN
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_agents, check_id
from dcf.values.json_text import Json, dump
from dcf.values.records import record
from dcf.values.refusal import Refusal

_META_FREE: Final = frozenset({"agents", "skills", "planner_agent_id", "max_attempts", "retention_s", "finalize_note"})
_META_FIXED: Final = frozenset(
    {
        "workflow_id", "workflow_name", "schema_version", "definition_sha256", "created_at", "created_by", "start_at",
        "terminal_states", "states", "deps", "status", "input", "deadline", "started_at", "finished_at", "clock_due_at",
        "paused_at", "blocked_by", "held_end", "finalized_at", "output", "error", "cause", "tags", "rerun_of", "reruns",
        "retried", "project", "for_anybody", "paused_because", "definition_ref", "agents_counted_at",
    }
)  # fmt: skip
_STATE_FREE: Final = frozenset({"attempts", "last_error", "not_before", "deadline", "heartbeat_s"})
_STATE_FIXED: Final = frozenset(
    {"status", "lease", "started_at", "finished_at", "waits_for", "last", "type", "scope", "scope_epoch"}
)
_TIMED: Final = frozenset({"not_before", "deadline", "heartbeat_s"})
_MAX_ATTEMPTS: Final = 1000
_LONGEST_RETENTION_S: Final = 31_536_000
_VERBS: Final = {
    "status": "A status changes only through `update_workflow_control_plane` and `finalize_workflow`.",
    "lease": "A lease changes only through the lease tools; an operator ends one: `release_state_lease(force=true)`.",
}


@record(frozen=True, slots=True, kw_only=True)
class Hand:
    """The author of an edit: `who` is written into the history.

    Operators may change more than the planner, who may change only meta.agents. A caller without an agent (`creator`)
    that names no agent counts as the planner of the runs that it created. It could name the planner, so this gives it
    no further right.
    """

    who: str
    is_operator: bool
    agent_id: str | None = None
    creator: str | None = None

    def plans(self, circumstances: "Circumstances") -> bool:
        """Return True if this is the run's planner."""
        if self.agent_id is not None:
            return self.agent_id == circumstances.planner
        return (
            self.creator is not None
            and circumstances.meta is not None
            and circumstances.meta.created_by == self.creator
        )


@record(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The facts about a run for a decision on an edit of one of its documents.

    `kind` is the kind of document (meta, state, input, …), `tasks` the run's Task states, `planner` its planner's agent
    id. `due` is when the timer loop next looks at the state. Times in server microseconds.
    """

    kind: str
    now: int
    meta: Meta | None
    planner: str | None = None
    tasks: AbstractSet[str] = field(default_factory=frozenset)
    state: StateDoc | None = None
    due: int | None = None


def visible(kind: str, document: Json) -> Json:
    """Return a document whole and without its secrets: the lease token, and the receipt kept in `last`."""
    if kind == "definition":
        return codec.whole_definition(document)
    if not isinstance(document, dict):
        return document
    if kind == "meta":
        return codec.whole_meta(document)
    if kind != "state":
        return document
    document = codec.whole_state(document)
    lease = document.get("lease")
    if isinstance(lease, dict) and lease.get("token") is not None:
        lease = {**lease, "token": HIDDEN_TOKEN}
    shown = {name: value for name, value in document.items() if name != "last"}
    return shown | ({"lease": lease} if "lease" in document else {})


def judge(before: Json, after: Json, hand: Hand, circumstances: Circumstances) -> Refusal | None:
    """Return why this edit is refused; None if it is allowed. Both documents are as `visible` shows them."""
    refusal = _judge_run(circumstances)
    if refusal is not None:
        return refusal
    if circumstances.kind == "meta":
        return _judge_meta(before, after, hand, circumstances)
    if not hand.is_operator:
        return _operator_only()
    rule = _RULES.get(circumstances.kind)
    if rule is None:
        return _no("invalid_edit", f"The {circumstances.kind} document of a run is fixed once it is written.", _LOOK)
    return rule(before, after, circumstances)


def restored(kind: str, stored: Json, after: Json) -> Json:
    """Put back the secrets that `visible` removed. `judge` has checked that the lease is unchanged."""
    if kind != "state":
        return after
    return {**after, **{name: stored[name] for name in ("lease", "last") if name in stored}}


def look_now(before: Json, after: Json, circumstances: Circumstances) -> bool:
    """Return True if the edit changed a time in a state's document, so that its timer must fire at once."""
    if circumstances.kind != "state" or circumstances.due is None or circumstances.due >= NEVER:
        return False
    return not _TIMED.isdisjoint(_changed(before, after))


_LOOK: Final = "Read it with `json_read`; to do the work again, create a new run."


def _judge_run(circumstances: Circumstances) -> Refusal | None:
    if circumstances.meta is None:
        return _no("not_found", "The document belongs to no run that exists.", "Check the key.")
    if circumstances.meta.status is not RunStatus.RUNNING:
        return _no("terminal", f"The run is {circumstances.meta.status.value}; its documents stay as they are.", _LOOK)
    return None


def _judge_meta(before: Json, after: Json, hand: Hand, circumstances: Circumstances) -> Refusal | None:
    if not isinstance(after, dict):
        return _no("invalid_edit", "The meta document must stay an object.", "Change single fields of it.")
    changed = _changed(before, after)
    if not changed:
        return None  # nothing is written: as with the agents that `create_worker_agents` has recorded before
    if not hand.is_operator and not (hand.plans(circumstances) and changed <= {"agents"}):
        return _operator_only()
    fixed = sorted(changed & _META_FIXED)
    if fixed:
        return _fixed("meta", fixed[0], _META_FREE)
    try:
        for name in sorted(changed & _META_FREE):
            _check_meta(name, after.get(name), circumstances.tasks)
    except InvalidArgument as error:
        return _no("invalid_edit", error.message, error.hint)
    return None


def _check_meta(name: str, value: Json, tasks: AbstractSet[str]) -> None:
    """Raise InvalidArgument if a field of meta has an invalid new value."""
    if name == "agents":
        check_agents(value, set(tasks), name="meta.agents")
    elif name == "skills":
        if not isinstance(value, dict) or not all(_is_list_of_texts(names) for names in value.values()):
            raise InvalidArgument("skills is not an object of lists.", 'Write it as {"State": ["skill://name@1.0.0"]}.')
    elif name == "max_attempts":
        _check_whole(name, value, _MAX_ATTEMPTS)
    elif value is None:
        return
    elif name == "retention_s":
        _check_whole(name, value, _LONGEST_RETENTION_S)
    elif name == "planner_agent_id":
        check_id(value if isinstance(value, str) else "", name)
    elif not isinstance(value, str):
        raise InvalidArgument(f"{name} is not a string.")


def _check_whole(name: str, value: Json, largest: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= largest:
        raise InvalidArgument(f"{name} is not a whole number between 1 and {largest}.")


def _is_list_of_texts(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _judge_state(before: Json, after: Json, circumstances: Circumstances) -> Refusal | None:
    doc = _free(circumstances)
    if isinstance(doc, Refusal):
        return doc
    if doc.status.is_terminal:
        return _no("terminal", f"The state is {doc.status.value} and stays as it is.", _LOOK)
    if not isinstance(after, dict):
        return _no("invalid_edit", "The state document must stay an object.", "Change single fields of it.")
    canonical = codec.show_state(codec.read_state(after))
    for name in sorted(_changed(before, after)):
        if name in _STATE_FREE:
            if dump(canonical.get(name)) != dump(after.get(name)):
                return _no("invalid_edit", f"{name} has a form that dcf would not understand.", _FORMS)
        elif name in _STATE_FIXED:
            return _fixed("state", name, _STATE_FREE)
    return None


_FORMS: Final = "Counts are whole numbers above 0; times are like 2026-01-02T03:04:05.000006Z; texts are strings."


def _judge_input(_: Json, __: Json, circumstances: Circumstances) -> Refusal | None:
    doc = _free(circumstances)
    if isinstance(doc, Refusal):
        return doc
    if doc.status.is_terminal or doc.kind is not None:
        return _no("terminal", "The state has used its input already.", _LOOK)
    return None


def _judge_output(_: Json, __: Json, circumstances: Circumstances) -> Refusal | None:
    doc = _free(circumstances)
    return doc if isinstance(doc, Refusal) else None


_RULES: Final[Mapping[str, Callable[[Json, Json, Circumstances], Refusal | None]]] = {
    "state": _judge_state,
    "input": _judge_input,
    "output": _judge_output,
}
"""Rules for editing a state's documents, by kind of document."""


def _free(circumstances: Circumstances) -> StateDoc | Refusal:
    """Return the state whose document is edited; refuse if it is missing or leased."""
    doc = circumstances.state
    if doc is None:
        return _no("not_found", "There is no such state.", "Check the key.")
    if doc.is_held(circumstances.now):
        hint = "Wait until its holder is done, or free it first with `release_state_lease(force=true)`."
        return _no("lease_held", f"The state is leased to '{doc.lease.owner_agent_id}'.", hint)
    return doc


def _changed(before: Json, after: Json) -> AbstractSet[str]:
    """Return the names of the fields that differ. 1, 1.0 and true are different."""
    old, new = (item if isinstance(item, dict) else {} for item in (before, after))
    return {name for name in old.keys() | new.keys() if _text(old, name) != _text(new, name)}


def _text(document: Mapping[str, Json], name: str) -> str | None:
    return dump(document[name]) if name in document else None


def _fixed(kind: str, name: str, free: AbstractSet[str]) -> Refusal:
    hint = _VERBS.get(name, f"By hand these can be changed: {', '.join(sorted(free))}, and fields of your own.")
    return _no("invalid_edit", f"The field '{name[:80]}' of the {kind} document is not changed by hand.", hint)


def _operator_only() -> Refusal:
    return _no(
        "forbidden",
        "Documents of runs are written by hand only by an operator; the planner of the run may write meta.agents.",
        "`create_worker_agents` assigns agents too. A planner passes the `agent_id` that it created the run with, as "
        "`planner_agent_id`.",
    )


def _no(code: str, message: str, hint: str) -> Refusal:
    return Refusal(code=code, message=message, hint=hint)
