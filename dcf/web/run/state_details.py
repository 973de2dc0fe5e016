"""Reads all data of one state of a run, for the panel on its page. Never writes.

What is long comes whole: callers cut it. Of journal, artifacts and questions the latest are read.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from dcf.application.application import Application
from dcf.asl.machine import Task
from dcf.core.definitions import needs
from dcf.core.definitions.briefs import NOTHING, Brief, brief_of
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.definitions.sources import line_of
from dcf.core.documents.decision import ReadSet
from dcf.core.documents.parts import WHOLE
from dcf.core.documents.usage_sums import sums_shown
from dcf.errors import UnknownRun
from dcf.features.artifacts.model import Artifact
from dcf.features.children.model import child_id
from dcf.features.gates.model import NO_GATES, RECORDS, GateRecord, record_of
from dcf.features.journal.model import JournalEntry
from dcf.features.journal.query import JournalQuery
from dcf.features.questions.model import NO_TALK, TALK, Question
from dcf.runs.views.status import StateView, view_of
from dcf.store.events.notified import NEVER_TOLD, Told
from dcf.values.json_text import Json
from dcf.values.records import record, replace

_ENTRIES: Final = 20
_ARTIFACTS: Final = 200


@record(frozen=True, slots=True, kw_only=True)
class Closeup:
    """A state at `now`; `view` is None as long as nothing has reached it. `child` is the run that it started.

    `source` is the line of code that it was compiled from.
    """

    path: str
    kind: str
    now: int
    view: StateView | None = None
    brief: Brief = NOTHING
    gates: GateRecord = NO_GATES
    questions: Sequence[Question] = ()
    entries: Sequence[JournalEntry] = ()
    artifacts: Sequence[Artifact] = ()
    usage: Mapping[str, Json] | None = None
    told: Told = NEVER_TOLD
    child: str | None = None
    source: str | None = None


def closeup(
    application: Application, definition: Definition, workflow_id: str, path: str, *, has_usage: bool = True
) -> Closeup:
    """Return what is known of a state; its usage is only looked for if the run has any. Raise UnknownRun."""
    place = needs.place_of(definition, path)
    assert place is not None, "the caller has looked"
    reads = ReadSet(
        states=with_scopes([path]),
        inputs=(path,),
        outputs=(path,),
        agents=(path,),
        tallies=(path,),
        parts={**TALK.wanted(WHOLE), **(RECORDS.wanted((path,)) if definition.is_gated else {})},
    )
    snapshot = fenced(application.control_plane.transactions.store.read(workflow_id, reads))
    if snapshot.meta is None:
        raise UnknownRun(workflow_id)
    error = snapshot.states[path].last_error if path in snapshot.states else None
    source = line_of(definition.document, path, error)
    seen = Closeup(
        path=path, kind=place.state.kind(), now=snapshot.now, brief=brief_of(definition, path), source=source
    )
    if path not in snapshot.states:
        return seen
    view = view_of(snapshot, path, snapshot.states[path], snapshot.meta)
    page = application.artifacts.page(workflow_id, None, _ARTIFACTS)
    used = application.usages.of_run(workflow_id).states.get(path) if has_usage else None
    is_child = isinstance(place.state, Task) and place.state.served_by.kind == "child"
    return replace(
        seen,
        view=view,
        brief=brief_of(definition, path, view.given),
        gates=record_of(snapshot, path),
        questions=[question for question in (snapshot.part(TALK) or NO_TALK).questions if question.state == path],
        entries=application.journal.read_journal(workflow_id, JournalQuery(limit=_ENTRIES, state=path)).entries,
        artifacts=[artifact for artifact in page.artifacts if artifact.kind.state == path],
        usage=None if not used else sums_shown(used),
        told=application.runs.told(workflow_id, path),
        child=child_id(workflow_id, path, view.doc.lease.epoch) if is_child and view.doc.lease.epoch else None,
    )
