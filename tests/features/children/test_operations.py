"""Child runs: a Task starts another run, waits for it as its Resource says, and takes it along when it ends."""

import json
import uuid
from typing import Any

from dcf.core.completing.resolving import wish_of
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Created
from dcf.core.documents.model import RunStatus
from dcf.core.documents.notices import NoticeKind
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.parents import MOST_DEPTH
from dcf.core.documents.premises import Premise
from dcf.core.lifecycle.starting import Start
from dcf.core.listing.runs import RunQuery
from dcf.features.children.model import child_id
from dcf.features.diagnosis.model import Cause
from dcf.runs.views.lists import RunList
from dcf.store.events.outbox import OutboxEntry
from dcf.store.lists.pages import Catalog
from tests.support.ahead import let_pass
from tests.support.tables import rows
from tests.support.trouble import dies
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World

CHILD = "arn:aws:states:::states:startExecution"


def starts(reference: str, how: str = ".sync:2", **fields: Any) -> Document:
    parameters = {"StateMachineArn": reference, "Input.$": "$", **fields.pop("asked", {})}
    to = {} if "Next" in fields else {"End": True}
    return {"Type": "Task", "Resource": f"{CHILD}{how}", "Parameters": parameters, **to, **fields}


def keep(world: World, document: Document | None = None, project: str | None = None) -> str:
    """Keep a workflow under a name of its own; its name."""
    name = f"inner-{uuid.uuid4().hex[:12]}"
    result = {**(document or chain("Do")), "workflow_name": name}
    assert world.starting.keep(read_definition(result), project) is None
    return name


def begin(world: World, document: Document, **options: Any) -> str:
    """Start a run, and do what it owes."""
    wish = world.wish(document, **options)
    answer = world.starting.start(Start(wish=wish))
    assert isinstance(answer, Created), answer
    settle(world)
    return wish.workflow_id


def settle(world: World) -> None:
    """Do what all runs of this test owe, their children's too."""
    for _ in range(MOST_DEPTH + 3):
        started = {child for run in world.runs for child in children(world, run)} - set(world.runs)
        world.runs.extend(sorted(started))
        if not started and not any(world.owed(run) for run in world.runs):
            return
        for run in world.runs:
            world.notifications.deliver_all(run)


def children(world: World, run: str) -> list[str]:
    page = RunList(Catalog(world.connections)).list_runs(RunQuery(limit=1000, parent=run))
    return [row.workflow_id for row in page.rows]


def only_child(world: World, run: str) -> str:
    (child,) = children(world, run)
    return child


def test_a_state_starts_a_run_of_its_own_and_waits_for_its_end(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}), run_input={"n": 1}, planner="boss")
    child = only_child(world, run)
    assert (world.doc(run, "Inner").kind, world.run_status(run)) == ("Child", RunStatus.RUNNING)
    assert child == child_id(run, "Inner", world.doc(run, "Inner").lease.epoch)
    assert world.meta(child)["parent"]["run"] == run
    assert world.meta(child)["planner_agent_id"] == "boss"
    assert world.given(child, "Do") == {"n": 1}
    world.do(child, "Do", output={"n": 2})
    settle(world)
    output = world.meta(run)["output"]
    assert (output["Output"], output["Status"], output["ExecutionArn"]) == ({"n": 2}, "SUCCEEDED", child)
    assert world.event_types(run, "Inner") == ["StateEntered", "ChildStarted", "StateConcluded", "StateSucceeded"]


def test_sync_gives_input_and_output_as_text(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world), ".sync")}), run_input={"n": 1})
    world.do(only_child(world, run), "Do", output={"n": 2})
    settle(world)
    output = world.meta(run)["output"]
    assert (json.loads(output["Output"]), json.loads(output["Input"])) == ({"n": 2}, {"n": 1})
    assert output["InputDetails"] == output["OutputDetails"] == {"Included": True}


@rows("how", [".sync", ".sync:2"])
def test_a_description_that_is_too_long_leaves_out_the_input_of_the_child(world: World, how: str) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world), how)}), run_input={"n": "i" * 150_000})
    world.do(only_child(world, run), "Do", output={"n": "o" * 150_000})
    settle(world)
    output = world.meta(run)["output"]
    assert (output["InputDetails"], "Input" in output) == ({"Included": False}, False)
    assert len(output["Output"]["n"] if how == ".sync:2" else output["Output"]) >= 150_000


def test_an_output_that_is_too_long_with_its_description_fails_the_state(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world), ".sync")}))
    world.do(only_child(world, run), "Do", output={"n": '"' * 100_000})  # each quote is four characters there
    settle(world)
    assert world.meta(run)["error"] == "States.DataLimitExceeded"


def test_without_a_suffix_the_state_goes_on_with_the_id_of_the_child(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world), "")}))
    child = only_child(world, run)
    assert world.run_status(run) is RunStatus.SUCCEEDED
    assert world.meta(run)["output"] == {"ExecutionArn": child, "StartDate": world.meta(child)["created_at"]}
    assert world.run_status(child) is RunStatus.RUNNING
    world.do(child, "Do")
    settle(world)
    assert world.run_status(child) is RunStatus.SUCCEEDED


def test_with_a_task_token_the_child_answers_through_a_callback(world: World) -> None:
    request = {"Input": {"token.$": "$$.Task.Token"}}
    document = workflow({"Inner": {**starts(keep(world), ".waitForTaskToken"), "Parameters": {}}})
    document["asl"]["States"]["Inner"]["Parameters"] = {"StateMachineArn": keep(world), **request}
    run = begin(world, document)
    child = only_child(world, run)
    assert world.given(child, "Do")["token"]
    world.do(child, "Do")
    settle(world)
    assert world.doc(run, "Inner").waits_outside


def test_the_failure_of_a_child_fails_the_state_with_its_description(world: World) -> None:
    caught = [{"ErrorEquals": ["States.TaskFailed"], "Next": "Mend"}]
    run = begin(world, workflow({"Inner": starts(keep(world), Catch=caught), "Mend": task()}))
    child = only_child(world, run)
    world.fail(child, "Do", world.acquire(child, "Do"), "Broken", "no paper")
    settle(world)
    details = world.given(run, "Mend")
    assert details["Error"] == "States.TaskFailed"
    cause = json.loads(details["Cause"])
    assert (cause["Status"], cause["Error"], cause["Cause"]) == ("FAILED", "Broken", "no paper")
    assert cause["ExecutionArn"] == child


def test_a_cancelled_child_fails_the_state(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    world.lifecycle.cancel(only_child(world, run), reason="not wanted")
    settle(world)
    assert world.meta(run)["error"] == "States.TaskFailed"
    assert json.loads(world.meta(run)["cause"])["Status"] == "ABORTED"


def test_a_child_that_its_planner_finalizes_early_fails_the_state(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    world.finalize(only_child(world, run))
    settle(world)
    assert world.meta(run)["error"] == "States.TaskFailed"


@rows("how", ["", ".sync", ".sync:2"])
def test_a_workflow_that_is_not_kept_fails_the_state_as_on_aws(world: World, how: str) -> None:
    run = begin(world, workflow({"Inner": starts("no-such-workflow", how)}))
    assert world.meta(run)["error"] == "StepFunctions.StateMachineDoesNotExistException"
    assert children(world, run) == []


def test_a_child_is_found_among_the_workflows_of_its_parents_project(world: World) -> None:
    document = workflow({"Inner": starts(keep(world, project="shop"))})
    within, beyond = (begin(world, document, project=project) for project in ("shop", "lab"))
    assert world.meta(only_child(world, within))["project"] == "shop"
    assert world.meta(beyond)["error"] == "StepFunctions.StateMachineDoesNotExistException"
    assert children(world, beyond) == []


def test_a_child_that_is_over_when_it_is_created_ends_the_state(world: World) -> None:
    silent = workflow({"P": {"Type": "Pass", "Result": 7, "End": True}})
    run = begin(world, workflow({"Inner": starts(keep(world, silent))}))
    assert world.meta(run)["output"]["Output"] == 7


def test_a_name_is_a_tag_and_agents_do_the_tasks_of_the_child(world: World) -> None:
    request = {"Name": "friday", "Agents": {"Do": "ann"}}
    run = begin(world, workflow({"Inner": starts(keep(world), asked=request)}))
    meta = world.meta(only_child(world, run))
    assert (meta["tags"], meta["agents"]) == (["friday"], {"Do": "ann"})


def test_a_task_of_the_same_name_has_the_agents_that_it_has_in_the_parent(world: World) -> None:
    document = workflow({"Do": task("Inner"), "Inner": starts(keep(world))})
    run = begin(world, document, agents={"Do": "ann"})
    world.do(run, "Do", "ann")
    settle(world)
    assert world.meta(only_child(world, run))["agents"] == {"Do": "ann"}


def test_a_child_of_an_unknown_task_is_refused_in_words(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world), asked={"Agents": {"Dont": "ann"}})}))
    assert world.meta(run)["error"] == "DCF.ChildRefused"
    assert "Dont" in world.meta(run)["cause"]


# The end of the parent


def ended(world: World, run: str) -> str:
    settle(world)
    for item in list(world.runs):
        world.plane.skip_unreached(item) if world.run_status(item) is not RunStatus.RUNNING else None
    settle(world)
    return world.run_status(only_child(world, run)).value


def test_a_cancelled_parent_cancels_its_child_and_grandchild(world: World) -> None:
    middle = keep(world, workflow({"Innermost": starts(keep(world))}))
    run = begin(world, workflow({"Inner": starts(middle)}))
    child = only_child(world, run)
    grandchild = only_child(world, child)
    assert isinstance(world.lifecycle.cancel(run), RunAnswer)
    assert ended(world, run) == "cancelled"
    settle(world)
    assert world.run_status(grandchild) is RunStatus.CANCELLED
    assert run in world.meta(child)["cause"]


def test_a_state_that_times_out_cancels_its_child_and_its_retry_starts_another(timely: World) -> None:
    retry = [{"ErrorEquals": ["States.Timeout"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    run = begin(timely, workflow({"Inner": starts(keep(timely), TimeoutSeconds=30, Retry=retry)}))
    first = only_child(timely, run)
    let_pass(timely, 31)
    timely.plane.look(run, "Inner")
    settle(timely)
    assert timely.run_status(first) is RunStatus.CANCELLED
    let_pass(timely, 2)
    timely.plane.look(run, "Inner")
    settle(timely)
    (second,) = set(children(timely, run)) - {first}
    timely.do(second, "Do", output=1)
    settle(timely)
    assert timely.meta(run)["output"]["Output"] == 1


@rows("how", ["output", "error", "skip"])
def test_a_state_that_is_ended_by_hand_cancels_its_child(world: World, how: str) -> None:
    ways: dict[str, dict[str, Any]] = {"output": {"output": 1}, "error": {"error": "Enough"}, "skip": {"skip": True}}
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    assert isinstance(world.lifecycle.resolve(run, wish_of("Inner", **ways[how])), RunAnswer)
    assert ended(world, run) == "cancelled"


def test_a_scope_that_is_closed_cancels_the_children_inside(world: World) -> None:
    run = begin(world, workflow({"Both": parallel({"Inner": starts(keep(world))}, {"W": task()})}))
    world.fail(run, "Both/1/W", world.acquire(run, "Both/1/W"))
    assert ended(world, run) == "cancelled"


def test_a_scope_that_is_entered_again_stops_the_child_that_nobody_had_stopped(timely: World) -> None:
    retry = [{"ErrorEquals": ["States.ALL"], "IntervalSeconds": 1, "MaxAttempts": 1}]
    both = {**parallel({"Inner": starts(keep(timely))}, {"W": task()}), "Retry": retry}
    run = begin(timely, workflow({"Both": both}))
    first = only_child(timely, run)
    token = timely.acquire(run, "Both/1/W")
    assert dies(timely, 1, lambda: timely.fail(run, "Both/1/W", token))  # before it closes what is inside
    let_pass(timely, 2)
    timely.plane.look(run, "Both")
    settle(timely)
    (second,) = set(children(timely, run)) - {first}
    assert (timely.run_status(first), timely.run_status(second)) == (RunStatus.CANCELLED, RunStatus.RUNNING)


def test_so_does_one_that_is_caught_and_entered_again_at_once(world: World) -> None:
    catch = [{"ErrorEquals": ["States.ALL"], "Next": "Both"}]
    both = {**parallel({"Inner": starts(keep(world))}, {"V": task()}, {"W": task()}), "Catch": catch}
    run = begin(world, workflow({"Both": both}))
    first = only_child(world, run)
    world.acquire(run, "Both/1/V", "holder")
    world.fail(run, "Both/2/W", world.acquire(run, "Both/2/W"))
    settle(world)
    (second,) = set(children(world, run)) - {first}
    assert (world.run_status(first), world.run_status(second)) == (RunStatus.CANCELLED, RunStatus.RUNNING)
    assert [message["reason"] for message in world.messages("holder")] == ["cancelled"]


def test_a_parent_whose_only_start_it_was_leaves_its_child_alone(world: World) -> None:
    document = workflow({"Inner": starts(keep(world), "", Next="Last"), "Last": task()})
    run = begin(world, document)
    world.lifecycle.cancel(run)
    assert ended(world, run) == "running"


def test_a_retried_parent_starts_a_new_child(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    first = only_child(world, run)
    world.fail(first, "Do", world.acquire(first, "Do"))
    settle(world)
    assert isinstance(world.retrying.retry(run), RunAnswer)
    settle(world)
    (second,) = set(children(world, run)) - {first}
    world.do(second, "Do", output=2)
    settle(world)
    assert world.meta(run)["output"]["Output"] == 2


def test_a_child_that_nobody_waits_for_outlives_the_deletion_of_its_parent(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world), "")}))
    child = only_child(world, run)
    world.retention.delete(run)
    world.children._tell_started(child)  # again: the first caller died before noting that
    assert world.run_status(child) is RunStatus.RUNNING


@rows("place", ["Inner", "P/0/Inner"])
def test_a_retry_stops_the_child_of_a_state_that_nobody_had_closed(timely: World, place: str) -> None:
    inner = {"Inner": starts(keep(timely))}
    run = begin(timely, workflow(inner if place == "Inner" else {"P": parallel(inner, {"Other": task()})}))
    child = only_child(timely, run)
    dies(timely, 1, lambda: timely.lifecycle.cancel(run))  # before it closes what is open
    assert timely.doc(run, place).waits_outside
    assert isinstance(timely.retrying.retry(run), RunAnswer)
    settle(timely)
    assert timely.run_status(child) is RunStatus.CANCELLED
    (fresh,) = set(children(timely, run)) - {child}
    timely.do(fresh, "Do", output=2)
    settle(timely)
    assert not timely.doc(run, place).waits_outside


def test_a_child_that_is_retried_by_itself_changes_nothing_in_its_parent(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child = only_child(world, run)
    world.fail(child, "Do", world.acquire(child, "Do"))
    settle(world)
    world.retrying.retry(child)
    world.do(child, "Do", output=2)
    settle(world)
    assert (world.run_status(child), world.run_status(run)) == (RunStatus.SUCCEEDED, RunStatus.FAILED)


def test_a_retried_child_whose_parent_knows_its_end_is_not_stopped(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child = only_child(world, run)
    world.fail(child, "Do", world.acquire(child, "Do"))
    world.notifications.deliver_all(child)
    world.retrying.retry(child)
    settle(world)
    assert (world.run_status(child), world.run_status(run)) == (RunStatus.RUNNING, RunStatus.FAILED)


# Limits


def test_children_of_children_go_only_so_deep(world: World) -> None:
    name = f"deep-{uuid.uuid4().hex[:12]}"
    document = {**workflow({"Inner": starts(name)}), "workflow_name": name}
    world.starting.keep(read_definition(document))
    run = begin(world, document)
    settle(world)
    settle(world)
    assert world.run_status(run) is RunStatus.FAILED
    assert str(MOST_DEPTH) in world.meta(run)["cause"] or world.meta(run)["error"] == "States.TaskFailed"
    depths = [world.meta(run)["parent"]["depth"] for run in world.runs if "parent" in world.meta(run)]
    assert max(depths) == MOST_DEPTH


def test_every_iteration_of_a_map_has_a_child_of_its_own(world: World) -> None:
    run = begin(world, workflow({"Each": each({"Inner": starts(keep(world))})}), run_input=[1, 2, 3])
    for child in children(world, run):
        world.do(child, "Do", output=world.given(child, "Do") * 10)
    settle(world)
    assert [item["Output"] for item in world.meta(run)["output"]] == [10, 20, 30]


# Crashes and repetitions


def test_what_is_owed_may_be_done_again_and_again(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world), Next="Last"), "Last": task()}))
    child, epoch = only_child(world, run), world.doc(run, "Inner").lease.epoch
    for _ in range(2):
        world.children._begin(run, "Inner", epoch)
        world.children._tell_started(child)
    assert children(world, run) == [child]
    world.do(child, "Do")
    for _ in range(2):
        world.children._tell_over(child)
        world.children._begin(run, "Inner", epoch)
        world.children._tell_started(child)
        world.children._stop(run, "Inner", epoch)
    settle(world)
    assert world.event_types(run, "Inner").count("ChildStarted") == 1
    assert world.doc(run, "Last").lease.epoch
    assert world.run_status(child) is RunStatus.SUCCEEDED


def test_the_clock_finds_a_child_whose_start_was_lost(timely: World) -> None:
    name = keep(timely)
    run = timely.create(workflow({"Inner": starts(name)}))
    timely.ask("DEL", timely.store.keys(run).outbox)
    let_pass(timely, 61)
    timely.plane.look(run, "Inner")
    settle(timely)
    assert only_child(timely, run)


def test_the_clock_finds_a_child_whose_end_was_lost(timely: World) -> None:
    run = begin(timely, workflow({"Inner": starts(keep(timely))}))
    child = only_child(timely, run)
    timely.do(child, "Do", output=1)
    timely.ask("DEL", timely.store.keys(child).outbox)
    let_pass(timely, 61)
    timely.plane.look(run, "Inner")
    settle(timely)
    assert timely.run_status(run) is RunStatus.SUCCEEDED


def test_a_child_that_was_deleted_fails_the_state(timely: World) -> None:
    run = begin(timely, workflow({"Inner": starts(keep(timely))}))
    child = only_child(timely, run)
    timely.lifecycle.cancel(child)
    timely.ask("DEL", timely.store.keys(child).outbox)
    timely.retention.delete(child)
    let_pass(timely, 61)
    timely.plane.look(run, "Inner")
    settle(timely)
    assert timely.meta(run)["error"] == "DCF.ChildLost"


def test_who_is_late_to_stop_a_child_that_is_waited_for_again_leaves_it_alone(world: World) -> None:
    """A failover takes back what ended the state, but not the entry that a process had read before."""
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child, epoch = only_child(world, run), world.doc(run, "Inner").lease.epoch
    read_before = OutboxEntry(
        entry_id="1-1", type=NoticeKind.CHILD_STOP, state="Inner", epoch=epoch, source=None, reason="cancelled"
    )
    world.children.handle(run, read_before)
    assert world.run_status(child) is RunStatus.RUNNING
    world.do(child, "Do")
    settle(world)
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_child_that_is_started_while_its_parent_is_cancelled_is_cancelled_too(world: World) -> None:
    run = world.create(workflow({"Inner": starts(keep(world))}))
    epoch, start = world.doc(run, "Inner").lease.epoch, world.starting.start

    def late(start_request: Start, premise: Premise | None = None, **_: Any) -> Any:
        assert premise is not None, "it held before"
        world.lifecycle.cancel(run)
        world.notifications.deliver_all(run)
        return start(start_request)

    world.starting.start = late  # type: ignore[method-assign]
    world.children._begin(run, "Inner", epoch)
    world.starting.start = start  # type: ignore[method-assign]
    assert ended(world, run) == "cancelled"


@rows("number", range(4))
def test_whoever_dies_on_the_way_leaves_what_the_next_finds(timely: World, number: int) -> None:
    run = timely.create(workflow({"Inner": starts(keep(timely))}))
    epoch = timely.doc(run, "Inner").lease.epoch
    dies(timely, number, lambda: timely.children._begin(run, "Inner", epoch))
    settle(timely)
    child = only_child(timely, run)
    token = timely.acquire(child, "Do")
    dies(timely, number, lambda: timely.complete(child, "Do", token, 1))
    timely.complete(child, "Do", token, 1)
    dies(timely, number, lambda: timely.children._tell_over(child))
    settle(timely)
    assert timely.meta(run)["output"]["Output"] == 1
    assert children(timely, run) == [child]


def test_a_diagnosis_names_the_child_and_what_holds_it_up(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child = only_child(world, run)
    (finding,) = world.diagnosis.explain(run).findings
    assert (finding.cause, finding.evidence["run"]) == (Cause.WAITING_FOR_CHILD, child)
    assert f"a child run '{child}' since" in finding.sentence
    assert "State 'Do' is ready" in finding.sentence


def test_a_diagnosis_says_that_a_child_is_about_to_be_started(world: World) -> None:
    run = world.create(workflow({"Inner": starts(keep(world))}))
    world.plane.kick_off(run, "go")
    assert "not been started yet" in world.diagnosis.explain(run).findings[0].sentence


def test_a_parent_that_is_deleted_as_soon_as_it_is_over_leaves_no_child_behind(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child = only_child(world, run)
    world.lifecycle.cancel(run)
    world.retention.delete(run)
    assert world.run_status(child) is RunStatus.CANCELLED
    assert world.keys_of(run) == []


def test_a_child_that_is_deleted_as_soon_as_it_is_over_has_told_its_parent(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child = only_child(world, run)
    world.do(child, "Do", output=3)
    world.retention.delete(child)
    assert world.meta(run)["output"]["Output"] == 3


def test_a_deletion_does_not_rely_on_who_has_taken_what_the_run_owes(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child = only_child(world, run)
    world.do(child, "Do", output=3)
    assert world.outbox.take(child, "another, which is slow")
    world.retention.delete(child)
    assert world.meta(run)["output"]["Output"] == 3


def test_nor_does_the_deletion_of_a_parent(world: World) -> None:
    run = begin(world, workflow({"Inner": starts(keep(world))}))
    child = only_child(world, run)
    world.lifecycle.cancel(run)
    world.plane.skip_unreached(run)
    assert world.outbox.take(run, "another, which is slow")
    world.retention.delete(run)
    assert world.run_status(child) is RunStatus.CANCELLED
