"""How a run stands, in command line, tools and assignments: which agents may take which state, and since when."""

from dcf.runs.views.status import StateView
from dcf.values.instants import from_text
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, parallel, task
from tests.support.world import World


def view(world: World, run: str, path: str) -> StateView:
    return world.views.overview(run).states[path]


def test_a_state_is_ready_for_its_agents_from_the_end_of_what_it_waited_for(world: World) -> None:
    run = world.create(chain("A", "B"), agents={"B": ("b-1", "b-2")})
    before = view(world, run, "B")
    assert (before.ready, before.ready_since) == (False, None)
    world.do(run, "A")
    result = view(world, run, "B")
    assert (result.ready, result.agents) == (True, ("b-1", "b-2"))
    assert result.ready_since == world.doc(run, "A").finished_at
    assert result.is_for("b-2")
    assert not result.is_for("w")


def test_the_first_state_is_ready_from_the_creation_and_awaits_the_start(world: World) -> None:
    run = world.create(chain("A", "B"))
    result = view(world, run, "A")
    assert result.ready_since == from_text(world.meta(run)["created_at"])
    assert result.awaits_start
    assert result.is_for("anybody")
    world.plane.kick_off(run, "initial")
    assert not view(world, run, "A").awaits_start


def test_what_was_entered_later_awaits_no_start_even_if_the_run_was_never_kicked_off(world: World) -> None:
    run = world.create(chain("A", "B"))
    world.do(run, "A")
    assert not view(world, run, "B").awaits_start


def test_a_state_given_back_is_ready_from_then_on(timely: World) -> None:
    run = timely.create(chain("A"))
    token = timely.acquire(run, "A")
    timely.release(run, "A", token)
    result = view(timely, run, "A")
    assert result.ready_since == result.doc.lease.ts
    assert result.ready_since is not None


def test_a_state_whose_lease_ran_out_is_ready_from_then_on(world: World) -> None:
    run = world.create(chain("A"))
    world.acquire(run, "A")
    world.expire_lease(run, "A")
    result = view(world, run, "A")
    assert (result.ready, result.ready_since) == (True, from_text("2001-01-01T00:00:00.000000Z"))


def test_a_state_at_the_start_of_a_branch_is_ready_from_the_opening_of_its_parallel(world: World) -> None:
    run = world.create(workflow({"First": task("Both"), "Both": parallel({"L": task()}, {"R": task()})}))
    world.do(run, "First")
    assert view(world, run, "Both/1/R").ready_since == world.doc(run, "Both").started_at


def test_of_an_iteration_that_began_later_nobody_claims_to_know_since_when(world: World) -> None:
    run = world.create(workflow({"Each": each({"S": task()}, MaxConcurrency=1)}), run_input=[0, 1])
    assert view(world, run, "Each/0/S").ready_since == world.doc(run, "Each").started_at
    world.do(run, "Each/0/S")
    result = view(world, run, "Each/1/S")
    assert (result.ready, result.ready_since) == (True, None)


def test_the_same_is_told_of_one_state_asked_for_as_of_the_whole_run(world: World) -> None:
    run = world.create(workflow({"Each": each({"S": task()})}), run_input=[0], agents={"S": "s-1"})
    whole = view(world, run, "Each/0/S")
    item = world.views.read(run, ("Each/0/S",)).states["Each/0/S"]
    paged = dict(world.views.each_state(run))["Each/0/S"]
    details = [(result.doc, result.ready, result.agents, result.awaits_start) for result in (whole, item, paged)]
    assert details == [(whole.doc, True, ("s-1",), True)] * 3


def test_a_state_that_no_parallel_opened_yet_has_no_standing(world: World) -> None:
    run = world.create(workflow({"First": task("Both"), "Both": parallel({"L": task()})}))
    assert world.views.read(run, ("Both/0/L",)).states == {}
