"""Risky evaluations: they are marked while they last, and a run whose evaluations end processes is put on hold."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dcf.asl.jsonata.expressions import Query
from dcf.core.completing.evaluation_marks import LONGEST_EVALUATION, Mark
from dcf.core.documents.answers import Updated
from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.core.lifecycle.finalization import Finalize
from dcf.core.listing.runs import RunQuery
from dcf.errors import Conflict, RunOnHold
from dcf.features.diagnosis.model import Cause
from dcf.runs.views.lists import RunList
from dcf.store.keys import table as keys
from dcf.store.lists.pages import Catalog
from dcf.store.transaction.evaluation_marks import EvaluationMarks
from dcf.values.refusal import Refusal
from tests.support.advised import advised_command
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

SUM = "{% $sum([1..3]) %}"


def risky(output: str = SUM, **more: Any) -> Document:
    """A run whose first state evaluates something risky when it ends."""
    first = {"Type": "Task", "QueryLanguage": "JSONata", "Output": output, "Next": "B", **more}
    return workflow({"A": first, "B": task()})


def marks(world: World, run: str) -> list[Mark]:
    probe = Mark(mark_id="probe", state="?", process="?", since=0)
    _, stored = world.store.marks.put(run, probe)
    world.store.marks.remove(run, ["probe"])
    return stored


def dies(world: World, run: str, state: str, *processes: str, ago: int = LONGEST_EVALUATION + 1_000_000) -> None:
    """As if these processes had died over a state, so long ago."""
    seconds, micros = world.ask("TIME")
    since = int(seconds) * 1_000_000 + int(micros) - ago
    for process in processes:
        about = json.dumps({"state": state, "process": process})
        world.ask("HSET", world.store.keys(run).evaluating, process, f"{since} {about}")


@contextmanager
def watched() -> Iterator[list[tuple[str, tuple[str, ...]]]]:
    """What is put and taken off by commands of its own."""
    calls: list[tuple[str, tuple[str, ...]]] = []
    put, remove = EvaluationMarks.put, EvaluationMarks.remove
    with pytest.MonkeyPatch.context() as patch:

        def putting(self: EvaluationMarks, run: str, mark: Mark) -> Any:
            calls.append(("put", (mark.state,)))
            return put(self, run, mark)

        def removing(self: EvaluationMarks, run: str, mark_ids: Any) -> None:
            calls.append(("remove", tuple(mark_ids)))
            remove(self, run, mark_ids)

        patch.setattr(EvaluationMarks, "put", putting)
        patch.setattr(EvaluationMarks, "remove", removing)
        yield calls


@rows(
    "document",
    [
        chain("A", "B"),
        risky("{% $states.result.total %}"),
        workflow({"A": {"Type": "Task", "ResultSelector": {"x.$": "$.x"}, "Next": "B"}, "B": task()}),
    ],
)
def test_a_step_that_risks_nothing_marks_nothing(world: World, document: Document) -> None:
    run = world.create(document)
    with watched() as calls:
        world.do(run, "A", output={"total": 7, "x": 1})
    assert calls == []


@rows(
    ("document", "output"),
    [
        (risky(), 6),
        (workflow({"A": {**task("B"), "OutputPath": "$.items[*].id"}, "B": task()}), [1, 2]),
    ],
)
def test_risky_step_is_marked_until_its_evaluation_ends(world: World, document: Document, output: Any) -> None:
    run = world.create(document)
    with watched() as calls:
        world.do(run, "A", output={"items": [{"id": 1}, {"id": 2}]})
    assert calls == [("put", ("A",))]
    assert world.given(run, "B") == output
    assert marks(world, run) == []


def test_the_mark_says_which_process_evaluates_for_which_state(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run, seen = world.create(risky()), list[Mark]()
    evaluate = Query._evaluate

    def look(self: Query, *arguments: Any) -> Any:
        seen.extend(marks(world, run))
        return evaluate(self, *arguments)

    monkeypatch.setattr(Query, "_evaluate", look)
    world.do(run, "A")
    (mark,) = seen
    assert mark.state == "A"
    assert mark.process.count(":") == 2  # host, process, and a number of its own


def test_a_refused_step_leaves_no_mark(world: World) -> None:
    first, second = world.create(risky()), world.create(risky())
    world.do(first, "A")  # from now on such a step is known to be risky, and marked before it is read
    answer = world.try_complete(second, "A", "no-such-token", output={})
    assert isinstance(answer, Refusal)
    assert marks(world, second) == []


def test_after_one_death_another_process_evaluates_and_the_death_is_forgotten(world: World) -> None:
    run = world.create(risky())
    dies(world, run, "A", "host:1:a")
    assert isinstance(world.do(run, "A"), Updated)
    assert marks(world, run) == []


def test_a_third_process_does_not_evaluate_while_two_do(world: World) -> None:
    run = world.create(risky())
    token = world.acquire(run, "A")
    dies(world, run, "A", "host:1:a", "host:2:b", ago=1_000_000)
    with pytest.raises(Conflict):
        world.complete(run, "A", token)
    assert world.doc(run, "A").status is Status.RUNNING
    assert {mark.process for mark in marks(world, run)} == {"host:1:a", "host:2:b"}


def run_on_hold(world: World, **options: Any) -> tuple[str, str]:
    """A run on hold, and the lease token of its first state."""
    run = world.create(risky(), **options)
    token = world.acquire(run, "A", "ann")
    dies(world, run, "A", "host:1:a", "host:2:b")
    with pytest.raises(RunOnHold, match=r"'A' ended 2 processes .*host:1:a and host:2:b"):
        world.complete(run, "A", token)
    return run, token


def test_after_two_deaths_the_run_is_held_and_everybody_is_told_why(world: World) -> None:
    run, token = run_on_hold(world, planner="pat")
    assert "RunBlocked" in world.event_types(run)
    world.notifications.deliver_all(run)
    assert [message["reason"] for message in world.messages("pat")] == ["run_blocked"]
    (finding,) = world.diagnosis.explain(run).findings
    assert (finding.cause, finding.stuck) == (Cause.KILLED_PROCESS, True)
    assert advised_command(finding.remedy) == f"dcf retry {run}"
    refusal = world.try_acquire(run, "A", "bob")
    assert isinstance(refusal, Refusal)
    assert world.ask("ZSCORE", keys.HELD, run) is not None
    (row,) = RunList(Catalog(world.connections)).list_runs(RunQuery(limit=1, stuck=True)).rows
    assert (row.workflow_id, row.blocked) == (run, True)
    with pytest.raises(RunOnHold):
        world.complete(run, "A", token)
    assert world.run_status(run) is RunStatus.RUNNING


def test_a_held_run_does_not_succeed_and_the_refusal_names_what_releases_it(world: World) -> None:
    run, _ = run_on_hold(world)
    refused = world.plane.finalize(run, Finalize(workflow_id=run, status=RunStatus.SUCCEEDED))
    assert isinstance(refused, Refusal)
    assert refused.code == "issues_open"
    assert "ended 2 processes" in refused.message
    assert "retry_run" in refused.hint
    assert "resolve_issue" not in refused.hint


def test_whatever_says_why_a_run_is_on_hold_shows_what_cannot_be_seen(world: World) -> None:
    run = world.create(risky())
    token = world.acquire(run, "A", "ann")
    dies(world, run, "A", "host\u202e:1:a", "host:2:b")
    with pytest.raises(RunOnHold) as raised:
        world.complete(run, "A", token)
    refused = world.try_acquire(run, "A", "bob")
    assert isinstance(refused, Refusal)
    (finding,) = world.diagnosis.explain(run).findings
    for text in (raised.value.message, refused.message, finding.sentence, world.meta(run)["blocked_by"][0]["text"]):
        assert "host\\u202e:1:a" in text


def test_other_runs_of_the_same_workflow_go_on(world: World) -> None:
    run_on_hold(world)
    other = world.create(risky())
    world.do(other, "A")
    world.do(other, "B")
    assert world.run_status(other) is RunStatus.SUCCEEDED


def test_the_clock_leaves_a_held_run_alone_and_goes_on_with_it_once_it_is_released(world: World) -> None:
    document = workflow({"A": task("Pause"), "Pause": {"Type": "Wait", "Seconds": 1, "Next": "End"}, "End": _sum()})
    run = world.create(document)
    world.do(run, "A")
    dies(world, run, "Pause", "host:1:a", "host:2:b")
    key = world.store.keys(run).state("Pause")
    set_member(world.ask, key, "not_before", "2001-01-01T00:00:00.000000Z")
    for _ in range(3):  # it finds the deaths, then that the run is on hold
        world.make_due(run, "Pause")
        world.notifications.pulse()
    assert world.run_status(run) is RunStatus.RUNNING
    assert world.doc(run, "Pause").kind == "Wait"
    assert isinstance(world.retrying.retry(run), RunAnswer)
    world.notifications.pulse()
    assert world.run_status(run) is RunStatus.SUCCEEDED


def _sum() -> dict[str, Any]:
    return {"Type": "Pass", "QueryLanguage": "JSONata", "Output": SUM, "End": True}


def test_only_an_operator_releases_a_held_run_and_then_it_goes_on(world: World) -> None:
    run, token = run_on_hold(world)
    refused = world.retrying.retry(run, may_release=False)
    assert isinstance(refused, Refusal)
    assert refused.code == "run_held"
    released = world.retrying.retry(run, reason="more memory", request_id="r-1")
    assert isinstance(released, RunAnswer)
    again = world.retrying.retry(run, reason="more memory", request_id="r-1")
    assert isinstance(again, RunAnswer)
    assert (again.repeated, again.answer) == (True, released.answer)
    assert marks(world, run) == []
    assert world.ask("ZSCORE", keys.HELD, run) is None
    assert world.ask("ZSCORE", keys.STUCK, run) is None
    assert isinstance(world.complete(run, "A", token), Updated)


def test_a_held_run_can_be_cancelled(world: World) -> None:
    run, _ = run_on_hold(world)
    assert isinstance(world.lifecycle.cancel(run), RunAnswer)
    assert world.run_status(run) is RunStatus.CANCELLED


def test_deaths_over_one_iteration_hold_the_run_before_another_is_evaluated(world: World) -> None:
    leaf = {"Type": "Task", "QueryLanguage": "JSONata", "Output": SUM, "End": True}
    run = world.create(workflow({"Each": each({"Leaf": leaf})}), run_input=[1, 2])
    first, second = world.acquire(run, "Each/0/Leaf"), world.acquire(run, "Each/1/Leaf")
    dies(world, run, "Each/0/Leaf", "host:1:a", "host:2:b")
    with pytest.raises(RunOnHold):
        world.complete(run, "Each/0/Leaf", first)
    with pytest.raises(RunOnHold):
        world.complete(run, "Each/1/Leaf", second)


def test_what_is_risky_at_the_beginning_is_put_off_until_there_is_a_run_to_hold(world: World) -> None:
    first = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": SUM, "Next": "B"}
    with watched() as calls:
        run = world.create(workflow({"A": first, "B": task()}))
    assert calls == [("put", ("A",))]
    assert (world.given(run, "B"), marks(world, run)) == (6, [])
    world.do(run, "B")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_run_that_begins_with_deaths_is_created_and_held(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    run, put = world.name(), EvaluationMarks.put

    def after_two_deaths(self: EvaluationMarks, workflow_id: str, mark: Mark) -> Any:
        dies(world, workflow_id, "A", "host:1:a", "host:2:b")
        return put(self, workflow_id, mark)

    monkeypatch.setattr(EvaluationMarks, "put", after_two_deaths)
    first = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": SUM, "Next": "B"}
    world.create(workflow({"A": first, "B": task()}), run=run)
    monkeypatch.undo()
    assert [finding.cause for finding in world.diagnosis.explain(run).findings] == [Cause.KILLED_PROCESS]
    world.retrying.retry(run)
    world.notifications.pulse()
    assert world.given(run, "B") == 6


def ended(world: World) -> str:
    """A run that failed, whose retry evaluates something risky at once: the input of the Task that failed."""
    risks = {"Type": "Task", "QueryLanguage": "JSONata", "Arguments": SUM, "End": True}
    run = world.create(workflow({"A": task("Risk"), "Risk": risks}))
    world.do(run, "A")
    world.fail(run, "Risk", world.acquire(run, "Risk"))
    assert world.run_status(run) is RunStatus.FAILED
    return run


def test_a_retry_of_an_ended_run_is_marked_while_it_evaluates(world: World) -> None:
    run = ended(world)
    with watched() as calls:
        assert isinstance(world.retrying.retry(run), RunAnswer)
    assert calls == [("put", ("Risk",))]
    assert marks(world, run) == []


def test_after_two_deaths_the_retry_of_an_ended_run_evaluates_nothing(world: World) -> None:
    run = ended(world)
    dies(world, run, "Risk", "host:1:a", "host:2:b")
    for _ in range(2):  # a planner gets no further
        with pytest.raises(RunOnHold, match="'Risk' ended 2 processes"):
            world.retrying.retry(run, may_release=False)
    assert world.run_status(run) is RunStatus.FAILED
    with pytest.raises(RunOnHold):
        world.retrying.retry(run)
    assert isinstance(world.retrying.retry(run), RunAnswer)  # an operator who has read that


def test_a_run_that_is_gone_is_not_marked(world: World) -> None:
    run = world.create(risky())
    world.ask("DEL", world.store.keys(run).meta)
    world.store.marks.put(run, Mark(mark_id="m", state="A", process="p", since=0))
    assert world.ask("EXISTS", world.store.keys(run).evaluating) == 0
