"""Child runs: which run a state starts, and what the state gets of it. Pure.

A child is a run of its own. Its id follows from the parent's id, the path of the state and its epoch. So a repeated
start finds it, and a state that is entered again starts another. The obligations between the two runs are in their
outboxes (`notices`), in the commit that causes them, and `features/children/operations.py` meets them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from dcf.asl.limits import bounded
from dcf.core.completing.conclusion import Conclusion, why_not
from dcf.core.definitions.model import Definition
from dcf.core.definitions.scopes import fenced, with_scopes
from dcf.core.documents.decision import Decision, Event, OtherRun, ReadSet, Snapshot, WriteSet
from dcf.core.documents.model import RunStatus
from dcf.core.documents.operations import RunAnswer, RunDecision, RunRequest, decided_once
from dcf.core.documents.parents import MOST_DEPTH, Parent, read_parent
from dcf.core.documents.premises import Premise
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.starting import check_tags, new_id
from dcf.errors import InvalidArgument, StateError
from dcf.features.children.request import ChildInput
from dcf.values.digest import fingerprint
from dcf.values.identifiers import check_agents
from dcf.values.json_text import Json, dump
from dcf.values.records import replace

CHILD: Final = "child"
"""The cause of the state's end, in the history."""

REFUSED: Final = "DCF.ChildRefused"
"""Error of a state whose child was not started: too deep, beyond a quota, or by a key that may start nothing."""

LOST: Final = "DCF.ChildLost"
"""Error of a state whose child was deleted before it ended."""

NOT_THERE: Final = "StepFunctions.StateMachineDoesNotExistException"
"""Error of a state whose definition is not kept, as on AWS."""

FAILED: Final = "States.TaskFailed"

_LONGEST_CAUSE: Final = 32 * 1024
"""Most characters of a cause, as on AWS: a child's long input is left out of it."""

_STATUSES: Final[Mapping[str, str]] = {
    RunStatus.RUNNING: "RUNNING",
    RunStatus.SUCCEEDED: "SUCCEEDED",
    RunStatus.FAILED: "FAILED",
    RunStatus.CANCELLED: "ABORTED",
    RunStatus.PARTIAL: "ABORTED",
}


def child_id(workflow_id: str, path: str, epoch: int) -> str:
    """Return the id of the run that this visit of a state starts."""
    return new_id(workflow_id, f"child\n{workflow_id}\n{path}\n{epoch}")


def link_of(document: Mapping[str, Json], workflow_id: str, path: str, epoch: int, how: str) -> Parent:
    """Return what the child of a run with this meta document knows of it."""
    parent = read_parent(document.get("parent"))
    depth, above = (1, ()) if parent is None else (parent.depth + 1, parent.ancestors)
    return Parent(run=workflow_id, state=path, epoch=epoch, how=how, depth=depth, above=above)


def wish_for(document: Mapping[str, Json], child_input: ChildInput, definition: Definition, link: Parent) -> Create:
    """Return the wish to create the child; raise InvalidArgument where what was asked for is not possible.

    The child has the planner, the creator, the project and the limits of its parent. Its Tasks are done by the `Agents`
    of the state's input, or else by who does those of the same name in the parent.
    """
    if link.depth > MOST_DEPTH:
        raise InvalidArgument(
            f"A child of a child would be {link.depth} levels deep; {MOST_DEPTH} are allowed.",
            "Let a run that is less deep start it, or do the work in states of this one.",
        )
    return Create(
        workflow_id=child_id(link.run, link.state, link.epoch),
        definition=definition,
        run_input=child_input.run_input,
        agents=_agents(document, child_input, definition),
        planner_agent_id=_text(document.get("planner_agent_id")),
        retention_s=_number(document.get("retention_s")),
        max_attempts=_number(document.get("max_attempts")) or 10,
        created_by=_text(document.get("created_by")),
        tags=() if child_input.name is None else check_tags([child_input.name], name="Name"),
        parent=link,
        project=_text(document.get("project")),
    )


def started(link: Parent, child: str, meta: Mapping[str, Json]) -> Conclusion:
    """Return the end of a state that only starts its child: as on AWS, its id and when it began."""
    output: Json = {"ExecutionArn": child, "StartDate": meta.get("created_at")}
    return Conclusion(
        state=link.state, epoch=link.epoch, by=CHILD, output=output, told={"run": child, "run_status": "started"}
    )


def over(link: Parent, child: str, meta: Mapping[str, Json]) -> Conclusion:
    """Return the end of a state whose child has ended: its output, or its failure as AWS gives it.

    A child may continue again, since somebody retries it or a power loss took its end back. That end does not stop it.
    """
    status = str(meta.get("status"))
    details: dict[str, Json] = {"run": child, "run_status": status}
    end = Conclusion(state=link.state, epoch=link.epoch, by=CHILD, told=details, stops=False)
    if status == RunStatus.SUCCEEDED:
        return replace(end, output=_output(child, meta, as_json=link.how == ".sync:2"))
    return replace(end, failed=True, error=FAILED, cause=_cause(child, meta))


@decided_once
def note_started(snapshot: Snapshot, _: RunRequest, link: Parent, child: str) -> RunDecision:
    """Write into the parent's history that its child was started, or refuse: its state no longer waits."""
    refusal = why_not(snapshot, link.state, link.epoch)
    if refusal is not None:
        return Decision(answer=refusal)
    data: dict[str, Json] = {"epoch": link.epoch, "run": child}
    return Decision(
        answer=RunAnswer(answer={"run": child}, at=snapshot.now),
        changes=WriteSet(
            states={link.state: snapshot.states[link.state]},  # so that of two that write it at once one comes later
            events=[Event(type="ChildStarted", state=link.state, data=data)],
        ),
    )


def failed(link: Parent, error: str, cause: str) -> Conclusion:
    """Return the end of a state whose child could not be started."""
    return Conclusion(state=link.state, epoch=link.epoch, by=CHILD, failed=True, error=error, cause=cause)


def ended_so(child: str, document: Mapping[str, Json]) -> Premise:
    """Return the premise that this child has ended as this meta document says."""

    def holds(meta: Mapping[str, Json]) -> bool:
        return all(meta.get(name) == document.get(name) for name in ("status", "finished_at", "parent"))

    return _of_meta(child, holds)


def is_there(child: str, link: Parent) -> Premise:
    """Return the premise that this child exists."""
    return _of_meta(child, lambda meta: read_parent(meta.get("parent")) == link)


def is_gone(child: str, noted: RunRequest) -> Premise:
    """Return the premise that this child does not exist, though its start was noted in its parent."""

    def holds(snapshot: Snapshot) -> bool:
        return _other(snapshot).meta is None and snapshot.run_receipts.get(noted.key) is not None

    return Premise(other=OtherRun(run=child, reads=ReadSet()), holds=holds, receipts=(noted.key,))


def is_awaited(link: Parent) -> Premise:
    """Return the premise that the parent's state waits for this child."""
    return Premise(other=_parent_of(link), holds=lambda snapshot: _waits(snapshot, link))


def is_forsaken(link: Parent) -> Premise:
    """Return the premise that the parent's state does not wait, or no longer waits, for this child."""
    return Premise(other=_parent_of(link), holds=lambda snapshot: not _waits(snapshot, link))


def request_to_stop(parent: str) -> str:
    """Return the id by which a parent's request to cancel its child is known."""
    return f"by its parent {parent}"


def was_stopped(child: str, parent: str) -> Premise:
    """Return the premise that this child has ended or is deleted, or was cancelled by its parent and retried since."""
    known_by = fingerprint(request_to_stop(parent))

    def holds(snapshot: Snapshot) -> bool:
        other = _other(snapshot)
        goes_on = other.meta is not None and other.meta.status is RunStatus.RUNNING
        return not goes_on or other.run_receipts.get(known_by) is not None

    return Premise(other=OtherRun(run=child, reads=ReadSet(run_receipts=(known_by,))), holds=holds)


def _parent_of(link: Parent) -> OtherRun:
    return OtherRun(run=link.run, reads=ReadSet(states=with_scopes([link.state])))


def _waits(snapshot: Snapshot, link: Parent) -> bool:
    parent = fenced(_other(snapshot))
    is_there = parent.meta is not None and link.state in parent.states
    return is_there and why_not(parent, link.state, link.epoch) is None


def _of_meta(run: str, holds: Callable[[Mapping[str, Json]], bool]) -> Premise:
    """Return the premise that there is such a run, and that this is true of its meta document."""

    def of(snapshot: Snapshot) -> bool:
        document = _other(snapshot).meta_document
        return document is not None and holds(document)

    return Premise(other=OtherRun(run=run, reads=ReadSet(whole_meta=True)), holds=of)


def _other(snapshot: Snapshot) -> Snapshot:
    assert snapshot.other is not None, "a premise has the other run read"
    return snapshot.other


def _output(child: str, meta: Mapping[str, Json], *, as_json: bool) -> Json:
    """Return the description of a child that succeeded, without an input that makes it too large for a state."""
    try:
        return bounded(_described(child, meta, as_json=as_json))
    except StateError:
        return _described(child, meta, as_json=as_json, with_input=False)


def _cause(child: str, meta: Mapping[str, Json]) -> str:
    whole = dump(_described(child, meta, as_json=False))
    if len(whole) <= _LONGEST_CAUSE:
        return whole
    return dump(_described(child, {**meta, "cause": _cut(meta.get("cause"))}, as_json=False, with_input=False))


def _described(child: str, meta: Mapping[str, Json], *, as_json: bool, with_input: bool = True) -> dict[str, Json]:
    """Return the description that AWS gives of an execution, with input and output as text or as JSON."""

    def data(value: Json) -> Json:
        return value if as_json else dump(value)

    status = str(meta.get("status"))
    description: dict[str, Json] = {
        "ExecutionArn": child,
        "InputDetails": {"Included": with_input},
        "Name": child,
        "StartDate": meta.get("created_at"),
        "StateMachineArn": meta.get("workflow_name"),
        "Status": "TIMED_OUT" if meta.get("error") == "States.Timeout" else _STATUSES.get(status, status.upper()),
        "StopDate": meta.get("finished_at"),
    }
    if with_input:
        description["Input"] = data(meta.get("input"))
    if status == RunStatus.SUCCEEDED:
        return {**description, "Output": data(meta.get("output")), "OutputDetails": {"Included": True}}
    return {**description, "Error": meta.get("error"), "Cause": meta.get("cause")}


def _agents(
    document: Mapping[str, Json], child_input: ChildInput, definition: Definition
) -> dict[str, tuple[str, ...]]:
    tasks = set(definition.skills)
    own_agents = check_agents(dict(child_input.agents or {}), tasks, name="Agents")
    above: Any = document.get("agents")
    same = {name: own for name, own in above.items() if name in tasks and own} if isinstance(above, dict) else {}
    return check_agents(same, tasks, name="agents") | own_agents


def _cut(value: Json) -> Json:
    return value[: _LONGEST_CAUSE // 4] if isinstance(value, str) else value


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) else None
