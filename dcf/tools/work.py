"""Work: a state whose lease an agent got, with all that it needs to do it. Reads nothing that the caller did not read.

The same record stands in every answer that grants a lease. Of a Task without instructions, skills and the like nothing
more is looked up, so that it costs no more than showing the lease.
"""

from typing import Final

from dcf.application import Application
from dcf.asl.state_paths import name_of
from dcf.core.answers import Leased
from dcf.core.definition import Definition
from dcf.core.provenance import mark_of_input
from dcf.values.instants import to_text
from dcf.values.json_text import Json, dump
from dcf.workforce.assignment import SkillAtHand
from dcf.workforce.steps import Step, load_skills, to_complete

LONGEST_INPUT: Final = 20_000
"""Longest input in an answer to a model, in characters of JSON. Letta cuts what a tool returns after 50,000."""

_LEFT_OUT: Final = (
    'It has {size} characters: read it in parts, json_read(redis_key="{key}", cursor=0), then next_cursor.'
)


def work_shown(
    app: Application, workflow_id: str, leased: Leased, agent_id: str | None = None, *, whole_input: bool = False
) -> dict[str, Json]:
    """Return the work of a lease that was granted; a long input is left out, unless it is wanted whole."""
    state, doc = leased.state, leased.doc
    lease = doc.lease
    found: dict[str, Json] = {"workflow_id": workflow_id, "state": state, "lease_token": lease.token}
    if lease.expires_at is not None:
        found["lease_expires_at"] = to_text(lease.expires_at)
    if doc.deadline is not None:
        found["deadline"] = to_text(doc.deadline)
    if doc.heartbeat_s is not None:
        found["heartbeat_s"] = doc.heartbeat_s
    found |= {"attempt": doc.attempts, "epoch": lease.epoch, "entry_epoch": leased.entry_epoch}
    token = app.callbacks.token_of(workflow_id, state, doc)
    if token is not None:
        found["task_token"] = token
    definition = app.control_plane.transactions.run(workflow_id).definition
    if definition.skills.get(name_of(state)):
        found["skills"] = _skills(app, agent_id or lease.owner_agent_id, definition, state)
    if doc.last_error is not None:
        found["last_error"] = doc.last_error
    found["provenance"] = mark_of_input(state, doc)
    size = 0 if whole_input else len(dump(leased.given))
    if size > LONGEST_INPUT:
        found["input_left_out"] = _LEFT_OUT.format(size=size, key=app.runs.input_key(workflow_id, state))
    else:
        found["input"] = leased.given
    return found


def steps_of(app: Application, work: dict[str, Json], agent_id: str | None) -> list[Step]:
    """Return the calls to make for work: load what must be loaded first, then write the result."""
    missing = [one["manifestId"] for one in work.get("skills", ()) if one.get("load")]
    loads = load_skills(work["workflow_id"], work["state"], agent_id or "", missing)
    return [*loads, to_complete(work, agent_id)]


def _skills(app: Application, agent_id: str | None, definition: Definition, state: str) -> list[Json]:
    found = app.desk.skills_for(agent_id or "", definition, state)
    return [_skill(app, one) for one in found]


def _skill(app: Application, one: SkillAtHand) -> dict[str, Json]:
    """Return a skill: to be loaded where the platform has blocks for its texts, elsewhere with these texts."""
    manifest = one.manifest
    if manifest is None:
        return {"reference": one.reference, "problem": one.problem}
    shown: dict[str, Json] = {"manifestId": manifest.manifest_id, "name": manifest.name}
    if app.platform.kind != "mailbox":
        return shown if one.loaded else shown | {"load": True}
    if manifest.tools:
        shown["tools"] = [tool.name for tool in manifest.tools]
    shown["directives"] = manifest.directives
    if manifest.data:
        shown["texts"] = [need.text for need in manifest.data]
    return shown
