"""Opens a run that grows: one without a graph, to which units are added while it is open. Pure."""

from typing import Final

from dcf.core.documents.answers import Created
from dcf.core.documents.codec import whole_meta
from dcf.core.documents.decision import Decision, Event, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.refusals import OTHER_OPENING, RUN_OVER
from dcf.core.lifecycle.creation import Create, meta_document, taken_elsewhere
from dcf.core.lifecycle.kickoff import deadline
from dcf.features.growing.counts import GROWTH, NO_GROWTH
from dcf.values.digest import content_fingerprint, fingerprint
from dcf.values.instants import to_text
from dcf.values.json_text import Json
from dcf.values.records import record
from dcf.values.refusal import Refusal

LONGEST_TITLE: Final = 200
OPENED_AS: Final = "opened_as"
"""The field of meta with the fingerprint of what a run was opened with."""


@record(frozen=True, slots=True, kw_only=True)
class OpenRequest:
    """Request to open a run: `wish` has no units yet.

    `timeout_s` is the time after which it is paused; `nested_in` names a run, and a unit of it, within which
    this one is worked on. `asked_ref` is the definition as the caller named it: without a version it may name a newer
    one when the request is repeated, and is the same request all the same.
    """

    wish: Create
    title: str | None = None
    timeout_s: int | None = None
    nested_in: tuple[str, str | None] | None = None
    reason: str | None = None
    asked_ref: str | None = None

    @property
    def content(self) -> str:
        """Fingerprint of what is asked for."""
        wish = self.wish
        return content_fingerprint(
            [
                wish.definition.name,
                wish.run_input,
                wish.planner_agent_id,
                wish.retention_s,
                wish.max_attempts,
                list(wish.tags),
                self.title,
                self.timeout_s,
                None if self.nested_in is None else list(self.nested_in),
                *([] if self.asked_ref is None else [self.asked_ref]),
            ]
        )


def open_run(snapshot: Snapshot, request: OpenRequest) -> Decision[Created | Refusal]:
    """Write the documents of a run without units. The same request again finds the run."""
    wish, now, result = request.wish, snapshot.now, snapshot.meta_document
    if result is not None:
        if result.get("project") != wish.project:  # nothing is said of a run that the caller may not see
            return Decision(answer=taken_elsewhere(wish))
        if result.get(OPENED_AS) != request.content:
            return Decision(answer=OTHER_OPENING.refuse(workflow_id=wish.workflow_id))
        return Decision(answer=Created(existed=True, meta=whole_meta(result)))
    document = meta_document(wish, now) | _of_the_opening(request, now)
    data: dict[str, Json] = {"definition_sha256": wish.definition.sha256, "grown": True}
    data |= {} if request.reason is None else {"reason": request.reason}
    events = [Event(type="RunCreated", data=data), Event(type="RunStarted")]
    return Decision(
        answer=Created(existed=False, meta=document),
        changes=WriteSet(
            meta_document=document,
            definition=wish.definition.document,
            parts=GROWTH.written(NO_GROWTH),
            events=events,
            listed=True,
        ),
    )


def nested_request(nested: str) -> RunRequest:
    """Return the request by which a run knows that this one was opened within it."""
    return RunRequest(verb="open_nested", request_id=f"{fingerprint(nested)} nested", arguments={"run": nested})


@decided_once
def note_nested(snapshot: Snapshot, _: RunRequest, nested: str, unit: str | None) -> RunDecision:
    """Write into the history of a run in progress, once, that another was opened within it."""
    meta = snapshot.existing_meta
    if meta.status is not RunStatus.RUNNING:
        return Decision(answer=RUN_OVER.refuse(status=meta.status))
    return Decision(
        answer=RunAnswer(answer={"run": nested}, at=snapshot.now),
        changes=WriteSet(
            meta={"definition_sha256": meta.definition_sha256},  # so that of two that write it at once one comes later
            events=[Event(type="RunNested", state=unit, data={"run": nested})],
        ),
    )


def _of_the_opening(request: OpenRequest, now: int) -> dict[str, Json]:
    """Return the fields of meta that only such a run has, or has at once."""
    rare: dict[str, Json] = {OPENED_AS: request.content, "grown": True, "started_at": to_text(now)}
    rare |= {} if request.title is None else {"title": request.title}
    if request.timeout_s is not None:
        rare |= {"timeout_s": request.timeout_s} | deadline(now, request.timeout_s)
    if request.nested_in is not None:
        run, unit = request.nested_in
        rare["nested_in"] = {"run": run} | ({} if unit is None else {"unit": unit})
    return rare
