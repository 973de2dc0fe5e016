"""Workflows of no-op Tasks, and a worker that carries them out with nothing in between."""

import itertools
import secrets
from collections.abc import Callable
from typing import Any

from dcf.core.completing.updates import Update
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Leased, NothingReady, Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.core.leasing.lease import Acquire
from dcf.core.lifecycle.creation import Create
from dcf.runs.control_plane import ControlPlane
from dcf.values.refusal import Refusal

AGENT = "bench"
LEASE_S = 300
_numbers = itertools.count()


def chain(length: int) -> dict[str, Any]:
    """Tasks one after the other."""
    names = [f"S{number:04d}" for number in range(length)]
    return _machine({name: _task(after) for name, after in zip(names, [*names[1:], None], strict=True)})


def diamonds(count: int, width: int, tail: int) -> dict[str, Any]:
    """Diamonds in a chain: a Task, a Choice over `width` Tasks, and the Task where they join; then a chain."""
    states: dict[str, Any] = {}
    for number in range(count):
        following = f"D{number + 1:02d}" if number + 1 < count else "T00"
        states |= _diamond(f"D{number:02d}", width, following)
    for number in range(tail):
        states[f"T{number:02d}"] = _task(f"T{number + 1:02d}" if number + 1 < tail else None)
    return _machine(states)


def join(upstreams: int) -> dict[str, Any]:
    """Make a Task with this number of states leading to it."""
    states = _diamond("Start", upstreams, "End")
    return _machine(states | {"End": _task(None)})


def loop() -> dict[str, Any]:
    """Two Tasks in a loop, left when the worker says so."""
    back = {"Variable": "$.again", "BooleanEquals": True, "Next": "Ping"}
    return _machine(
        {
            "Ping": _task("Pong"),
            "Pong": _task("More"),
            "More": {"Type": "Choice", "Choices": [back], "Default": "Done"},
            "Done": {"Type": "Succeed"},
        }
    )


def each(items: int) -> dict[str, Any]:
    """One Task for every item of a Map; the input has the items."""
    processor = {"StartAt": "Score", "States": {"Score": _task(None)}}
    state = {"Type": "Map", "ItemsPath": "$.items", "ItemProcessor": processor, "ResultPath": None, "End": True}
    return {**_machine({"Each": state}), "items": items}


def side_by_side(branches: int) -> dict[str, Any]:
    """Make a Parallel of this number of branches of one Task each, and the Task where they join."""
    return _machine({"Fan": {**_parallel("b", branches), "ResultPath": None, "Next": "Join"}, "Join": _task(None)})


def parallel_diamonds(count: int, width: int, tail: int) -> dict[str, Any]:
    """Diamonds in a chain: a Task, a Parallel of `width` Tasks, and the Task where they join; then a chain."""
    states: dict[str, Any] = {}
    for number in range(count):
        name, following = f"D{number:02d}", f"D{number + 1:02d}" if number + 1 < count else "T00"
        states[name] = _task(f"{name}p")
        states[f"{name}p"] = {**_parallel(f"{name}b", width), "ResultPath": None, "Next": f"{name}j"}
        states[f"{name}j"] = _task(following)
    for number in range(tail):
        states[f"T{number:02d}"] = _task(f"T{number + 1:02d}" if number + 1 < tail else None)
    return _machine(states)


def reshaping(length: int, language: str) -> dict[str, Any]:
    """Tasks one after the other that take and place data in either query language."""
    paths = {"Parameters": {"n.$": "$.way"}, "ResultSelector": {"got.$": "$.way"}, "ResultPath": "$.last"}
    queries = {
        "Arguments": "{% {'n': $states.input.way} %}",
        "Output": "{% $merge([$states.input, {'last': $states.result.way}]) %}",
    }
    document = chain(length)
    for state in document["asl"]["States"].values():
        state.update(paths if language == "JSONPath" else queries)
    document["asl"]["QueryLanguage"] = language
    return document


def _parallel(name: str, width: int) -> dict[str, Any]:
    branches = [
        {"StartAt": f"{name}{number:03d}", "States": {f"{name}{number:03d}": _task(None)}} for number in range(width)
    ]
    return {"Type": "Parallel", "Branches": branches}


def _diamond(name: str, width: int, following: str) -> dict[str, Any]:
    branches = [f"{name}b{number:03d}" for number in range(width)]
    rules = [{"Variable": "$.way", "NumericEquals": number, "Next": branch} for number, branch in enumerate(branches)]
    return {
        name: _task(f"{name}c"),
        f"{name}c": {"Type": "Choice", "Choices": rules, "Default": branches[0]},
        **{branch: _task(f"{name}j") for branch in branches},
        f"{name}j": _task(following),
    }


def _task(after: str | None) -> dict[str, Any]:
    return {"Type": "Task"} | ({"Next": after} if after else {"End": True})


def _machine(states: dict[str, Any]) -> dict[str, Any]:
    return {"workflow_name": "benchmark", "asl": {"StartAt": next(iter(states)), "States": states}}


def create(plane: ControlPlane, document: dict[str, Any], workflow_id: str = "") -> str:
    """Create a new run of the workflow. Processes that create runs at the same time name them themselves."""
    workflow_id = workflow_id or f"bench-{next(_numbers):04d}-{secrets.token_hex(2)}"
    request = Create(
        workflow_id=workflow_id,
        definition=read_definition(document),
        run_input={"way": 7, "items": list(range(document.get("items", 0)))},
        agents={},
        planner_agent_id=None,
        retention_s=None,
        max_attempts=1_000_000,
    )
    plane.create(request)
    return workflow_id


def try_claim(plane: ControlPlane, workflow_id: str, *, ttl_s: int = LEASE_S) -> Leased | NothingReady | Refusal:
    """Lease whatever is ready, if anything is."""
    wish = Acquire(state="", owner=AGENT, token=secrets.token_hex(16), ttl_s=ttl_s)
    return plane.claim(workflow_id, wish)


def claim(plane: ControlPlane, workflow_id: str) -> Leased:
    """Lease whatever is ready."""
    answer = try_claim(plane, workflow_id)
    assert isinstance(answer, Leased), answer
    return answer


def complete(
    plane: ControlPlane, workflow_id: str, leased: Leased, output: Any, *, claim_next: bool, ttl_s: int = LEASE_S
) -> Updated:
    """Complete a state, and lease the next one in the same transaction."""
    request = Update(
        state=leased.state,
        token=leased.doc.lease.token,
        status=Status.SUCCEEDED,
        has_output=True,
        output=output,
        claim_ttl_s=ttl_s if claim_next else None,
    )
    answer = plane.update(workflow_id, request)
    assert isinstance(answer, Updated), answer
    return answer


def carry_out(plane: ControlPlane, workflow_id: str, output: Callable[[int], Any]) -> int:
    """Work through the whole run as one worker; how many steps it took."""
    leased: Leased | None = claim(plane, workflow_id)
    steps, status = 0, RunStatus.RUNNING
    while leased is not None:
        answer = complete(plane, workflow_id, leased, output(steps), claim_next=True)
        leased, status = answer.claimed, answer.run_status
        if leased is None and status is RunStatus.RUNNING:
            leased = claim(plane, workflow_id)
        steps += 1
    assert status is RunStatus.SUCCEEDED, status
    return steps
