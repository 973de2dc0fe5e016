"""The birth of a run and its start signal."""

from typing import Any

import pytest

from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Created, Owed
from dcf.core.documents.model import Status
from dcf.errors import InvalidDefinition
from dcf.values.instants import SECOND
from dcf.values.refusal import Refusal
from tests.core.build import A_THEN_B, LOOP, NOW, MemoryRun, code, definition, leased, run, wish
from tests.support.tables import rows

SILENT = {
    "A": {"Type": "Pass", "Result": {"n": 1}, "Next": "B"},
    "B": {"Type": "Succeed"},
}
BY_INPUT = {
    "Pick": {
        "Type": "Choice",
        "Choices": [{"Variable": "$.go", "StringEquals": "A", "Next": "A"}],
        "Default": "Bad",
    },
    "A": {"Type": "Task", "End": True},
    "Bad": {"Type": "Fail", "Error": "E", "Cause": "c"},
}


def owed(answer: object) -> Owed:
    assert isinstance(answer, Owed), answer
    return answer


# Create


def test_a_new_run_has_a_document_for_every_state_and_only_the_first_is_ready() -> None:
    made = run(run_input={"x": 1})
    assert {name: (doc.status, doc.is_ready) for name, doc in made.states.items()} == {
        "A": (Status.PENDING, True),
        "B": (Status.PENDING, False),
    }
    assert made.states["B"].waits_for == {"A": 0}
    assert made.states["A"].lease.epoch == NOW
    assert made.inputs == {"A": {"x": 1}}
    assert made.types() == ["RunCreated", "StateEntered A"]
    assert set(made.timers) == {"A"}


def test_creating_owes_no_notification_since_the_start_signal_does() -> None:
    assert run().notices == []


def test_the_meta_document_shows_the_run_at_a_glance() -> None:
    made = run(agents={"A": ("ann",), "B": ("bob", "cy")}, planner_agent_id="plan", retention_s=9, max_attempts=3)
    assert made.meta_document is not None
    assert (
        made.meta_document.items()
        >= {
            "workflow_id": "w1",
            "workflow_name": "w",
            "definition_sha256": made.definition.sha256,
            "start_at": "A",
            "terminal_states": ["B"],
            "states": ["A", "B"],
            "agents": {"A": "ann", "B": ["bob", "cy"]},
            "deps": {"A": {"upstream": [], "downstream": ["B"]}, "B": {"upstream": ["A"], "downstream": []}},
            "status": "running",
            "planner_agent_id": "plan",
            "max_attempts": 3,
            "retention_s": 9,
            "input": {},
            "started_at": None,
            "finished_at": None,
        }.items()
    )


def test_creating_the_same_run_again_finds_it_and_writes_nothing() -> None:
    made = run(run_input={"x": 1})
    made.acquire("A", "t1")
    answer = made.create(wish(definition(), run_input={"x": 1}))
    assert isinstance(answer, Created)
    assert (answer.existed, made.last_changes) == (True, None)
    assert answer.meta == made.meta_document


def test_another_definition_is_a_conflict_that_names_both_hashes() -> None:
    made, other = run(), definition({"A": {"Type": "Task", "End": True}})
    answer = made.create(wish(other))
    assert code(answer) == "conflict"
    assert isinstance(answer, Refusal)
    assert made.definition.sha256 in answer.message
    assert other.sha256 in answer.message
    assert made.last_changes is None


def test_another_input_is_a_conflict() -> None:
    made = run(run_input={"x": 1})
    assert code(made.create(wish(made.definition, run_input={"x": 2}))) == "conflict"
    assert made.last_changes is None


def test_a_machine_of_silent_states_is_finished_when_it_is_created() -> None:
    made = MemoryRun(definition=definition(SILENT))
    answer = made.create(wish(made.definition))
    assert isinstance(answer, Created)
    assert (answer.existed, answer.meta["status"], answer.meta["output"]) == (False, "succeeded", {"n": 1})
    assert answer.meta == made.meta_document
    assert [doc.status for doc in made.states.values()] == [Status.SUCCEEDED, Status.SUCCEEDED]
    assert made.outputs == {"A": {"n": 1}, "B": {"n": 1}}
    assert [notice.type for notice in made.notices] == ["run_finished"]
    assert (made.timers, made.skip_unreached()) == ({}, 0)


def test_a_run_that_fails_at_its_start_shows_the_failed_state_as_visited() -> None:
    made = run(BY_INPUT, "Pick", run_input={"go": "nowhere"})
    doc = made.states["Bad"]
    assert (made.status, doc.status, doc.last_error) == ("failed", Status.FAILED, "E: c")
    assert (doc.is_ready, doc.attempts, doc.started_at, doc.lease.epoch) == (True, 1, NOW, NOW)
    assert made.skip_unreached() == 1
    assert made.states["A"].status is Status.SKIPPED


def test_a_first_task_that_cannot_be_entered_fails_the_run() -> None:
    made = run({"A": {"Type": "Task", "Parameters": {"n.$": "$.absent"}, "End": True}})
    assert (made.status, made.states["A"].status) == ("failed", Status.FAILED)
    assert made.inputs == {}


def test_a_choice_at_the_start_opens_only_the_chosen_task() -> None:
    made = run(BY_INPUT, "Pick", run_input={"go": "A"})
    assert [name for name, doc in made.states.items() if doc.is_claimable(NOW)] == ["A"]
    assert made.states["Pick"].status is Status.SUCCEEDED


@rows(("states", "start"), [(A_THEN_B, "A"), (LOOP, "A"), (BY_INPUT, "Pick")])
def test_a_state_that_was_not_entered_is_never_ready(states: dict[str, Any], start: str) -> None:
    made = run(states, start, run_input={"go": "A"})
    entered = {event.state for event in made.events if event.state is not None}
    assert entered
    assert {name for name, doc in made.states.items() if doc.is_ready} == entered


# The start signal


def test_the_start_signal_owes_a_notification_for_the_first_task() -> None:
    made = run()
    made.now += SECOND
    assert owed(made.kick_off("initial")).states == ("A",)
    assert [(n.type, n.state, n.epoch, n.source, n.reason) for n in made.notices] == [
        ("state_ready", "A", NOW, None, "initial")
    ]
    assert made.types()[-1] == "RunStarted"
    assert made.meta_document is not None
    assert made.meta_document["started_at"].endswith("21.000000Z")


def test_a_second_start_signal_owes_the_same_event_but_does_not_start_the_run_again() -> None:
    made = run()
    made.kick_off()
    started_at = (made.meta_document or {})["started_at"]
    made.now += SECOND
    made.kick_off()
    first, second = made.notices
    assert first == second
    assert made.types().count("RunStarted") == 1
    assert (made.meta_document or {})["started_at"] == started_at


def test_a_start_signal_wakes_nobody_when_the_task_is_held_or_done() -> None:
    made = run()
    leased(made.acquire("A", "t1"))
    assert owed(made.kick_off()).states == ()
    assert not made.notices
    assert (owed(made.kick_off()).states, made.last_changes) == ((), None)
    made.complete("A", "t1", 1)
    assert (owed(made.kick_off()).states, made.last_changes) == ((), None)


def test_a_start_signal_for_a_crashed_first_task_wakes_its_pool_again() -> None:
    made = run()
    made.acquire("A", "t1")
    made.now += 3600 * SECOND
    assert owed(made.kick_off()).states == ("A",)


def test_a_start_signal_goes_only_to_the_chosen_task() -> None:
    assert owed(run(BY_INPUT, "Pick", run_input={"go": "A"}).kick_off()).states == ("A",)


def test_a_run_that_is_over_is_not_started() -> None:
    assert code(run(SILENT).kick_off()) == "terminal"


# Definitions


def test_the_id_of_a_document_is_no_part_of_its_identity() -> None:
    first, second = definition(workflow_id="w1"), definition(workflow_id="w2")
    assert (first.workflow_id, second.workflow_id) == ("w1", "w2")
    assert first.sha256 == second.sha256 != definition(author="me").sha256


def test_skills_are_read_from_the_binding_of_each_task() -> None:
    states = {"A": {"Type": "Task", "AgentBinding": {"skills": ["s1", 5, "s2"]}, "End": True}}
    assert definition(states).skills == {"A": ("s1", "s2")}


def test_only_states_on_a_loop_or_behind_one_can_be_reached_again() -> None:
    assert definition(A_THEN_B).machine.revisitable == frozenset()
    assert definition(BY_INPUT, "Pick").machine.revisitable == frozenset()
    assert definition({"S": {"Type": "Pass", "Next": "A"}, **LOOP}, "S").machine.revisitable == {
        "A",
        "B",
        "Pick",
        "Done",
    }


def test_the_linear_form_is_a_chain_of_tasks() -> None:
    known = read_definition({"steps": [{"step_id": "One"}, {}, "odd"]})
    assert list(known.machine.states) == ["One", "Step_2", "Step_3"]
    assert known.machine.downstream("One") == ("Step_2",)
    assert (known.name, known.schema_version) == ("unnamed-workflow", "unknown")


@rows(
    ("document", "problem"),
    [
        ([], "not_an_object"),
        ({}, "missing_asl"),
        ({"steps": []}, "missing_asl"),
        ({"steps": [{"step_id": "A"}, {"step_id": "A"}]}, "duplicate_step"),
        ({"asl": None}, "wrong_type"),
    ],
)
def test_what_is_no_workflow_is_refused_with_a_code(document: Any, problem: str) -> None:
    with pytest.raises(InvalidDefinition) as refused:
        read_definition(document)
    assert problem in {problem.code for problem in refused.value.problems}


def test_far_too_many_steps_are_refused_quickly() -> None:
    with pytest.raises(InvalidDefinition):
        read_definition({"steps": [{}] * 30_000})
