"""Python functions as workers of Tasks with gates: what was sent back is worked on again, with what failed."""

import secrets
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.features.gates.judges import Judge
from dcf.features.gates.model import Judged
from dcf.features.gates.verdicts import Ruling
from dcf.tools.calling.direct import DirectTools, control_plane_here
from dcf.worker import Worker
from dcf.worker.context import TaskContext
from tests.support.waiting import wait_until

CRITERION = "Every claim has a source."
LONG = 60.0


def workflow(gate: dict[str, Any]) -> dict[str, Any]:
    return {"StartAt": "Write", "States": {"Write": {"Type": "Task", "Gates": [gate], "End": True}}}


def started(tools: DirectTools, gate: dict[str, Any], agent: str) -> str:
    answer = tools.call("start_run", workflow_json=workflow(gate), agents_map_json={"Write": agent})
    return str(answer["workflow_id"])


def judge(application: Application, run: str, *, passed: bool) -> None:
    (case,) = application.gates.cases(run)
    ruling = Ruling(
        state="Write",
        gate="review",
        verdict="pass" if passed else "fail",
        sha256=case.kept.sha256,
        by=Judge(name="rita", may_work=True),
        criteria=(Judged(criterion=CRITERION, passed=passed, feedback=None if passed else "None has."),),
    )
    application.gates.decide(run, ruling)


def is_judged(application: Application, run: str) -> bool:
    return any(case.doc.is_judged for case in application.gates.cases(run))


@pytest.mark.usefixtures("anyio_backend")
def test_a_function_works_again_on_what_was_sent_back_and_is_told_what_failed(application: Application) -> None:
    agent, seen = f"writer-{secrets.token_hex(4)}", list[Any]()

    def write(value: Any, context: TaskContext) -> Mapping[str, Any]:
        seen.append(context.brief.get("failed_criteria"))
        return {"text": len(seen)}

    stop = threading.Event()
    with control_plane_here(application) as here:
        run = started(DirectTools(here), {"name": "review", "kind": "review", "criteria": [CRITERION]}, agent)
        worker = Worker(DirectTools(here), agent, {"Write": write}, wait_s=0.2, pause_s=0.05)
        serving = threading.Thread(target=worker.serve, args=(stop,))
        serving.start()
        try:
            wait_until(lambda: is_judged(application, run), LONG)
            judge(application, run, passed=False)
            wait_until(lambda: len(seen) == 2 and is_judged(application, run), LONG)
            judge(application, run, passed=True)
        finally:
            stop.set()
            serving.join(LONG)
    assert seen[0] is None
    assert [item["feedback"] for item in seen[1]] == ["None has."]
    read = application.runs.read(run, ("Write",))
    assert (read.status.value, read.states["Write"].doc.status.value) == ("succeeded", "succeeded")
