"""Starts a run: creates it and kicks it off, in one transaction. A repeated request finds the run that exists.

Pure. It writes the changes of `creation` and then those of `kickoff`, in one transaction.
"""

import base64
import hashlib
import re
from typing import Final

from dcf.core.documents.answers import Created
from dcf.core.documents.codec import read_meta
from dcf.core.documents.decision import Decision, Snapshot, WriteSet
from dcf.core.documents.model import RunReceipt, RunStatus
from dcf.core.documents.operations import RunRequest
from dcf.core.documents.refusals import RUN_REQUEST_ID_USED, START_OVERDUE
from dcf.core.lifecycle.creation import Create, create
from dcf.core.lifecycle.kickoff import kick_off
from dcf.errors import InvalidArgument
from dcf.values.identifiers import check_name
from dcf.values.json_text import Json
from dcf.values.records import record, replace
from dcf.values.refusal import Refusal

MOST_TAGS: Final = 20
_TAG: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:=/-]{0,63}\Z", re.ASCII)
_LONGEST_NAME: Final = 40
_INITIAL: Final = "initial"
_SHA256: Final = re.compile(r"[0-9a-f]{64}\Z", re.ASCII)
_LONGEST_REFERENCE: Final = 300


@record(frozen=True, slots=True, kw_only=True)
class Reference:
    """A reference to a kept definition: its hash, or its name, of the newest or of one version."""

    sha256: str | None = None
    name: str = ""
    version: str | None = None


def read_reference(text: str) -> Reference:
    """Read `name@version`, `name` (the newest) or a hash; raise InvalidArgument for any other text."""
    if _SHA256.match(text):
        return Reference(sha256=text)
    check_name(text, "The definition", _LONGEST_REFERENCE)
    name, at, version = text.rpartition("@")
    return Reference(name=name, version=version) if at and name and version else Reference(name=text)


@record(frozen=True, slots=True, kw_only=True)
class Start:
    """Request to start a run. `request` has the id by which a repetition is known, if the caller chose one.

    `bound_to` is the agent that the caller is restricted to: it does not kick off a run that another agent plans.
    `within`: the run is created between these points in server time only. An existing run is returned even then.
    """

    wish: Create
    request: RunRequest | None = None
    reason: str | None = None
    bound_to: str | None = None
    within: tuple[int, int] | None = None


def request_to_start(wish: Create, request_id: str) -> RunRequest:
    """Return the request that this wish is; another wish with the same id is another request."""
    arguments: dict[str, Json] = {
        "definition": wish.definition.sha256,
        "input": wish.run_input,
        "agents": {state: list(pool) for state, pool in wish.agents.items()},
        "planner": wish.planner_agent_id,
        "retention_s": wish.retention_s,
        "max_attempts": wish.max_attempts,
        "tags": list(wish.tags),
    }
    arguments |= {} if wish.project is None else {"project": wish.project}
    arguments |= {"gates": [gate.as_json() for gate in wish.gates]} if wish.gates else {}
    return RunRequest(verb="start_run", request_id=request_id, arguments=arguments)


def start(snapshot: Snapshot, start: Start) -> Decision[Created | Refusal]:
    """Create the run and queue the notifications of its first states. An existing, unstarted run is kicked off."""
    request = start.request
    run_receipt = None if request is None else snapshot.run_receipts.get(request.key)
    if request is not None and run_receipt is not None and run_receipt.content != request.content:
        return Decision(answer=RUN_REQUEST_ID_USED.refuse())
    if snapshot.meta_document is None and start.within is not None:
        first, last = start.within
        if not first <= snapshot.now < last:
            return Decision(answer=START_OVERDUE.refuse())
    made = create(snapshot, start.wish)
    answer, written = made.answer, made.changes
    if isinstance(answer, Refusal):
        return made
    if written is None:
        return _kicked_off(snapshot, start, answer)
    begun = _with_reason(written, start)
    kicked = kick_off(_as_created(snapshot, written), _INITIAL, start.wish.definition.machine.timeout_s).changes
    changes = begun if kicked is None else _together(begun, kicked)
    if request is not None:
        receipt = RunReceipt(content=request.content, at=snapshot.now, answer={"workflow_id": start.wish.workflow_id})
        changes = replace(changes, run_receipts={request.key: receipt})
    return replace(made, answer=Created(existed=False, meta=changes.meta_document or {}), changes=changes)


def new_id(name: str, seed: str) -> str:
    """Return a readable id of a run: the workflow's name, and ten characters that follow from the seed."""
    slug = re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-").lower()[:_LONGEST_NAME].strip("-") or "run"
    drawn = base64.b32encode(hashlib.sha256(seed.encode()).digest())[:10].decode().lower()
    return f"{slug}-{drawn}"


def check_tags(tags: Json, *, name: str = "tags") -> tuple[str, ...]:
    """Return the tags of a run, each once; raise InvalidArgument where one is no short name."""
    if not isinstance(tags, list | tuple) or not all(isinstance(tag, str) and _TAG.match(tag) for tag in tags):
        raise InvalidArgument(
            f"{name} is no list of short names.",
            "A tag has 1 to 64 letters, digits or _ . : = / -, and begins with a letter or digit.",
        )
    checked = tuple(dict.fromkeys(tags))
    if len(checked) > MOST_TAGS:
        raise InvalidArgument(f"A run has at most {MOST_TAGS} tags.", "Leave some out.")
    return checked


def _kicked_off(snapshot: Snapshot, start: Start, created: Created) -> Decision[Created | Refusal]:
    """Kick off a run that exists and was never started; otherwise change nothing."""
    meta = snapshot.meta
    is_anothers = start.bound_to is not None and created.meta.get("planner_agent_id") != start.bound_to
    if meta is None or meta.is_started or meta.status is not RunStatus.RUNNING or is_anothers:
        return Decision(answer=created)
    changes = kick_off(snapshot, _INITIAL, start.wish.definition.machine.timeout_s).changes
    document = {**created.meta, **({} if changes is None else changes.meta)}
    return Decision(answer=replace(created, meta=document), changes=changes)


def _as_created(snapshot: Snapshot, written: WriteSet) -> Snapshot:
    """Return what would be read after the creation: of the states those that are open."""
    document = written.meta_document or {}
    states = {path: doc for path, doc in written.states.items() if written.timers.get(path) is not None}
    return Snapshot(now=snapshot.now, meta=read_meta(dict(document)), states=states, meta_document=document)


def _with_reason(written: WriteSet, start: Start) -> WriteSet:
    """Put the reason into the event of the creation."""
    if start.reason is None:
        return written
    first, *others = written.events
    return replace(written, events=[replace(first, data={**first.data, "reason": start.reason}), *others])


def _together(begun: WriteSet, kicked: WriteSet) -> WriteSet:
    """Return the changes of the creation and, after them, those of the start."""
    return replace(
        begun,
        meta_document={**(begun.meta_document or {}), **kicked.meta},
        events=[*begun.events, *kicked.events],
        notices=[*begun.notices, *kicked.notices],
        timers={**begun.timers, **kicked.sooner},
    )
