"""Work: a state whose lease an agent got, with all that it needs to do it.

Every answer that grants a lease has the same record. It is made of what the caller has read: a Task without
skills, instructions and the like costs no more than showing its lease.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from dcf.core.access.provenance import mark_of_input
from dcf.core.definitions.briefs import brief_of
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import entry_epoch_of, with_scopes
from dcf.core.documents.answers import Leased, Updated
from dcf.core.documents.model import StateDoc
from dcf.core.leasing.first_terms import FIRST_TERM_S, is_short
from dcf.telemetry import tracing
from dcf.values.instants import to_text
from dcf.values.json_text import Json, dump
from dcf.values.records import replace
from dcf.workforce.steps import Step, load_skills, read_input, to_complete

if TYPE_CHECKING:
    from dcf.application.application import Application
    from dcf.workforce.assignment import SkillAtHand

LONGEST_INPUT: Final = 20_000
"""Longest input in an answer to a model, in characters of JSON. Letta cuts what a tool returns after 50,000."""

_LEFT_OUT: Final = (
    "It has {size} characters. `acquire_state_lease` with this `state` and `lease_token` answers with all of it; in "
    'parts: `json_read(redis_key="{key}", cursor=0)`, then `next_cursor`.'
)


def work_shown(app: "Application", workflow_id: str, leased: Leased, *, whole_input: bool = False) -> dict[str, Json]:
    """Return the work of a lease that was granted; a long input is left out, unless it is wanted whole."""
    state, doc, lease = leased.state, leased.doc, leased.doc.lease
    work: dict[str, Json] = {"workflow_id": workflow_id, "state": state, "lease_token": lease.token}
    work |= _times(doc)
    work["attempt"], work["epoch"], work["entry_epoch"] = doc.attempts, lease.epoch, leased.entry_epoch
    work |= tracing.of_attempt(workflow_id, state, lease.epoch)
    if doc.visit is not None:
        work["task_token"] = app.callbacks.token_of(workflow_id, state, doc)
    definition = app.control_plane.transactions.run_with(workflow_id, state).definition
    brief = brief_of(definition, state, leased.given).as_json()
    if "skills" in brief:
        brief["skills"] = _skills(app, definition, state, lease.owner_agent_id)
    work |= brief
    if doc.last_error is not None:
        work["last_error"] = doc.last_error
    if doc.parked is not None:
        work["parked"] = {"times": doc.parked.count, "seconds": doc.parked.seconds}
    if doc.attached and doc.has("questions"):
        work["questions"] = app.talking.questions_of(workflow_id, state, doc)
    work |= _warned(app, workflow_id, leased, definition)
    if doc.attached and doc.has("gated"):
        work |= app.gates.sent_back(workflow_id, state)
    work["provenance"] = mark_of_input(state, doc)
    size = 0 if whole_input else len(dump(leased.given))
    if size > LONGEST_INPUT:
        work["input_left_out"] = _LEFT_OUT.format(size=size, key=app.runs.input_key(workflow_id, state))
    else:
        work["input"] = leased.given
    return work


def _times(doc: StateDoc) -> dict[str, Json]:
    """Return until when the holder must do what."""
    lease = doc.lease
    times: dict[str, Json] = {} if lease.expires_at is None else {"lease_expires_at": to_text(lease.expires_at)}
    if is_short(lease):
        times["sign_within_s"] = FIRST_TERM_S
    if doc.deadline is not None:
        times["deadline"] = to_text(doc.deadline)
    if doc.heartbeat_s is not None:
        times["heartbeat_s"] = doc.heartbeat_s
    return times


def _warned(app: "Application", workflow_id: str, leased: Leased, definition: Definition) -> dict[str, Json]:
    """Return who works in the same files, if an agent does; a state without areas is not looked up."""
    warnings = app.work.areas.warn(workflow_id, leased) if leased.doc.extra or definition.areas else []
    return {"warnings": list[Json](warnings)} if warnings else {}


def claimed_work(
    app: "Application", workflow_id: str, agent_id: str | None, answer: Updated, *, whole_input: bool
) -> list[dict[str, Json]]:
    """Return the work that came with a completion; for a repeated answer the states are read again."""
    claims = _read_again(app, workflow_id, answer.claims) if answer.repeated and answer.claims else answer.claims
    return [
        work_shown(app, workflow_id, claimed, whole_input=whole_input)
        for claimed in claims
        if agent_id in {None, claimed.doc.lease.owner_agent_id}
    ]


def steps_of(work: Mapping[str, Json], agent_id: str | None) -> list[dict[str, Json]]:
    """Return the calls to make for work: load what must be loaded first, then write the result."""
    missing = [skill["manifestId"] for skill in work.get("skills", ()) if skill.get("load")]
    steps: list[Step] = load_skills(work["workflow_id"], work["state"], agent_id or "", missing)
    if "input_left_out" in work:
        steps.append(read_input(work, agent_id))
    return [step.as_json() for step in (*steps, to_complete(work, agent_id))]


def _read_again(app: "Application", workflow_id: str, claims: Sequence[Leased]) -> Sequence[Leased]:
    """Return the leases that are still held, with the documents of their states and the inputs."""
    view = app.control_plane.read(workflow_id, with_scopes(claim.state for claim in claims), whole_meta=False)
    assert view.meta is not None, "read() raises for a run that does not exist"
    return [
        replace(
            claim,
            doc=doc,
            given=view.inputs.get(claim.state),
            entry_epoch=entry_epoch_of(claim.state, view.states.get, view.meta),
        )
        for claim in claims
        if (doc := view.states.get(claim.state)) is not None
        and doc.lease.is_held_with(claim.doc.lease.token)
        and not doc.status.is_terminal
    ]


def _skills(app: "Application", definition: Definition, state: str, agent_id: str | None) -> list[Json]:
    """Return the skills of a state: to be loaded where the platform has blocks, elsewhere with their texts."""
    is_loading = agent_id is not None and app.platforms.equips(agent_id)
    skills = app.desk.skills_of(definition, state, agent_id if is_loading else None)
    return [_skill(app, skill, is_loading=is_loading) for skill in skills]


def _skill(app: "Application", skill: "SkillAtHand", *, is_loading: bool) -> dict[str, Json]:
    manifest = skill.manifest
    if manifest is None:
        return {"manifestId": skill.reference, "problem": skill.problem}
    shown: dict[str, Json] = {"manifestId": manifest.manifest_id, "name": manifest.name}
    if is_loading:
        return shown if skill.loaded else shown | {"load": True}
    if manifest.tools:
        shown["tools"] = [tool.name for tool in manifest.tools]
    return shown | app.equipment.told(manifest)
