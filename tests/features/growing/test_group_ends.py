"""A group ends as its planner says although units in it failed, and its times are those of its work."""

from dcf.core.documents.model import RunStatus, Status
from dcf.core.documents.operations import RunAnswer
from dcf.values.refusal import Refusal
from tests.support.tables import rows
from tests.support.workflows.growing import Server, check
from tests.support.world import World


def with_a_failure(world: World) -> tuple[Server, str]:
    """A run with a group in which one unit failed, and a unit that waits for the group."""
    server = Server(world)
    run = server.open({"name": "G", "kind": "group"}, {"name": "A", "group": "G"}, {"name": "B", "depends_on": ["G"]})
    world.fail(run, "A", world.acquire(run, "A"))
    return server, run


@rows(("ends", "following"), [(Status.SUCCEEDED, ["B"]), (Status.FAILED, [])])
def test_a_group_with_a_failed_unit_ends_as_the_planner_says(real: World, ends: Status, following: list[str]) -> None:
    server, run = with_a_failure(real)
    answer = server.seal(run, "G", ends=ends)
    assert isinstance(answer, RunAnswer)
    assert answer.answer["next_states"] == following
    assert real.statuses(run) == {"G": ends.value, "A": "failed", "B": "pending"}
    assert isinstance(server.close(run, status=RunStatus.FAILED, force=True), RunAnswer)
    assert real.statuses(run)["G"] == ends.value, "what has ended is not cancelled with the run"


def test_a_group_is_not_ended_while_a_unit_is_open(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "G", "kind": "group"}, {"name": "A", "group": "G"})
    refused = server.seal(run, "G", ends=Status.SUCCEEDED)
    assert isinstance(refused, Refusal)
    assert (refused.code, real.statuses(run)["G"]) == ("units_open", "pending")
    check(server, run)


def test_a_group_that_waits_for_another_unit_does_not_end_before_it(real: World) -> None:
    server = Server(real)
    run = server.open({"name": "A"}, {"name": "G", "kind": "group", "depends_on": ["A"]})
    assert isinstance(server.seal(run, "G", ends=Status.SUCCEEDED), RunAnswer)
    assert real.statuses(run)["G"] == "pending"
    server.finish(run, "A")
    assert real.statuses(run)["G"] == "succeeded"
    check(server, run)


def test_a_failed_group_succeeds_once_its_failed_unit_was_done_again(real: World) -> None:
    server, run = with_a_failure(real)
    server.seal(run, "G", ends=Status.FAILED)
    assert isinstance(server.retry(run, "A"), RunAnswer)
    server.finish(run, "A")
    assert real.statuses(run) == {"G": "succeeded", "A": "succeeded", "B": "pending"}
    check(server, run)


def test_a_group_begins_when_it_can_be_worked_on_and_not_when_it_ends(real: World) -> None:
    server = Server(real)
    run = server.open(
        {"name": "First", "kind": "group"},
        {"name": "A", "group": "First"},
        {"name": "G", "kind": "group", "depends_on": ["A"]},
        {"name": "B", "group": "G"},
    )
    server.finish(run, "A")
    first = real.doc(run, "A").finished_at
    server.seal(run, "First")
    earlier, started = real.doc(run, "First").started_at, real.doc(run, "A").started_at
    assert earlier is not None
    assert started is not None
    assert earlier <= started
    server.finish(run, "B")
    server.seal(run, "G")
    group, unit = real.doc(run, "G"), real.doc(run, "B")
    times = (first, group.started_at, unit.started_at, unit.finished_at, group.finished_at)
    assert sorted(times, key=lambda time: time or 0) == list(times)
