"""Agents of a run: one per state, however many ask, assigned, and deleted again (traps.md, section 7)."""

import secrets
from dataclasses import replace
from typing import Any

import pytest

from dcf.errors import AgentUnknown, Conflict, InvalidArgument, PlatformUnavailable
from dcf.ports import AgentFound, AgentWish
from dcf.store.keys import table as keys
from dcf.workforce.crew.records import CrewWish, MadeWorkers
from dcf.workforce.crew.templates import Staffing, TemplateReference
from dcf.workforce.crew.workers import Workers
from tests.platforms.conftest import Site, Workshop, read
from tests.support.agents.faults import Died, Watched, always, once
from tests.support.agents.skill_manifests import manifest
from tests.support.racing import race
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import chain

DOWN = PlatformUnavailable("The platform does not answer.")


def wish(site: Site, run: str, *states: str, **more: Any) -> CrewWish:
    return CrewWish(workflow_id=run, staffing=site.staffing(*(states or ("A", "B", "C"))), **more)


def run_id() -> str:
    return f"t-{secrets.token_hex(6)}"


def tagged(site: Site, run: str) -> list[str]:
    return [agent.agent_id for agent in site.platform.find_agents((f"wf:{run}", "role:worker"))]


def roster(workshop: Workshop, run: str) -> Any:
    document, _ = workshop.world.documents.read(keys.workers(run))
    return document


def create(workers: Workers, crew_wish: CrewWish) -> MadeWorkers:
    crew = workers.create(crew_wish)
    assert crew.failure is None, crew.failure
    return crew


def test_each_state_gets_an_agent_that_is_named_and_tagged_for_it(workshop: Workshop, site: Site) -> None:
    run = run_id()
    crew = create(workshop.workers(), wish(site, run, tags=("team:x",)))
    assert [item.state for item in crew.created] == ["A", "B", "C"]
    assert crew.existing == ()
    agent = site.platform.retrieve_agent(crew.agents["B"])
    assert agent.name == f"wf-{run}-B" == crew.created[1].agent_name
    assert {f"wf:{run}", "state:B", "role:worker", "team:x"} <= set(agent.tags)
    assert site.blocks(crew.agents["B"])["persona"] == "You are a worker.", "D-60"


def test_asking_again_returns_the_same_agents_and_makes_none(workshop: Workshop, site: Site) -> None:
    """D-63: every call created a second set."""
    run = run_id()
    first = create(workshop.workers(), wish(site, run))
    watched = Watched(site.platform)
    again = create(workshop.workers(watched), wish(site, run))
    assert (again.agents, again.created) == (first.agents, ())
    assert [(item.state, item.agent_id, item.agent_name) for item in again.existing] == [
        (item.state, item.agent_id, item.agent_name) for item in first.created
    ]
    assert watched.calls == {"find_agents": 1}, "one look whether they are still there"


def test_an_agent_that_somebody_deleted_is_made_again_and_assigned(workshop: Workshop, site: Site) -> None:
    """A second call said that all existed before, and the run stood forever."""
    world = workshop.world
    run = world.create(chain("A", "B"))
    first = create(workshop.workers(), wish(site, run, "A", "B"))
    assert first.assigned == ("A", "B")
    site.platform.delete_agent(first.agents["B"])
    again = create(workshop.workers(), wish(site, run, "A", "B"))
    assert [item.state for item in again.created] == ["B"]
    assert again.agents["A"] == first.agents["A"]
    assert again.agents["B"] != first.agents["B"]
    assert again.assigned == ("B",)
    assert world.meta(run)["agents"] == again.agents
    assert sorted(tagged(site, run)) == sorted(again.agents.values())
    assert create(workshop.workers(), wish(site, run, "A", "B")).agents == again.agents


def test_what_an_agent_that_somebody_deleted_had_loaded_is_forgotten(workshop: Workshop, site: Site) -> None:
    run = run_id()
    lost = create(workshop.workers(), wish(site, run, "A")).agents["A"]
    workshop.equipment().load(lost, read(manifest()))
    site.platform.delete_agent(lost)
    create(workshop.workers(), wish(site, run, "A"))
    assert workshop.equipment().loaded(lost) == []


def test_eight_callers_make_a_deleted_agent_again_once(workshop: Workshop, site: Site) -> None:
    run = run_id()
    first = create(workshop.workers(), wish(site, run, "A"))
    site.platform.delete_agent(first.agents["A"])
    crews = race(8, lambda _: create(workshop.workers(), wish(site, run, "A")))
    assert {crew.agents["A"] for crew in crews} == set(tagged(site, run))
    assert len(tagged(site, run)) == 1


def test_agents_whose_platform_is_away_are_taken_to_be_there(workshop: Workshop, site: Site) -> None:
    run = run_id()
    first = create(workshop.workers(), wish(site, run, "A"))
    away = Watched(site.platform, fail={"find_agents": always(DOWN)})
    again = create(workshop.workers(away), wish(site, run, "A"))
    assert again.agents == first.agents
    assert "does not answer" in again.warnings[0]


def test_an_agent_that_lost_its_tags_is_still_there(workshop: Workshop, site: Site) -> None:
    run = run_id()
    first = create(workshop.workers(), wish(site, run, "A"))

    class Untagged(Watched):
        def find_agents(self, tags: tuple[str, ...] = (), name: str | None = None) -> list[AgentFound]:
            super().find_agents(tags, name)
            return []

    again = create(workshop.workers(Untagged(site.platform)), wish(site, run, "A"))
    assert (again.agents, again.created) == (first.agents, ())


def test_eight_callers_make_one_agent_per_state(workshop: Workshop, site: Site) -> None:
    run = run_id()
    watched = Watched(site.platform)
    crews = race(8, lambda _: create(workshop.workers(watched), wish(site, run)))
    assert all(crew.agents == crews[0].agents for crew in crews)
    assert sorted(tagged(site, run)) == sorted(crews[0].agents.values())
    assert watched.calls["create_agent"] == 3
    assert sum(len(crew.created) for crew in crews) == 3


def test_the_agents_are_assigned_in_the_run_and_nothing_else_of_it_changes(workshop: Workshop, site: Site) -> None:
    """D-29, D-65: the whole meta was rewritten, or not at all when the agents were there."""
    world = workshop.world
    run = world.create(chain("A", "B"), planner="p")
    before = dict(world.meta(run))
    crew = create(workshop.workers(), wish(site, run, "A", "B"))
    assert world.meta(run) == before | {"agents": dict(crew.agents)}
    assert world.event_types(run)[-1] == "AgentsAssigned"
    set_member(world.ask, world.store.keys(run).meta, "agents", {})
    create(workshop.workers(), wish(site, run, "A", "B"))
    assert world.meta(run)["agents"] == crew.agents, "a map that was lost is written again"


def test_eight_callers_and_a_planner_who_writes_meta_lose_nothing(workshop: Workshop, site: Site) -> None:
    world = workshop.world
    run = world.create(chain("A", "B"))

    def act(at: int) -> None:
        if at:
            create(workshop.workers(), wish(site, run, "A", "B"))
        else:
            world.do(run, "A", owner=workshop.workers().create(wish(site, run, "A", "B")).agents["A"])

    race(8, act)
    assert world.statuses(run)["A"] == "succeeded"
    assert set(world.meta(run)["agents"]) == {"A", "B"}


def test_a_state_that_is_assigned_already_gets_no_agent(workshop: Workshop, site: Site) -> None:
    run = workshop.world.create(chain("A", "B"), agents={"A": "python-worker"})
    crew = create(workshop.workers(), wish(site, run, "A", "B"))
    assert crew.agents["A"] == "python-worker"
    assert [item.state for item in crew.created] == ["B"]
    assert workshop.world.meta(run)["agents"] == {"A": "python-worker", "B": crew.agents["B"]}


def test_without_a_run_the_agents_are_returned_for_the_planner(workshop: Workshop, site: Site) -> None:
    run = run_id()
    crew = create(workshop.workers(), wish(site, run, "A"))
    assert crew.warnings == ()
    assert workshop.world.ask("EXISTS", workshop.world.store.keys(run).meta) == 0


def test_nobody_is_assigned_in_a_run_that_is_over(workshop: Workshop, site: Site) -> None:
    run = workshop.world.create(chain("A"))
    workshop.world.finalize(run)
    before = workshop.world.meta(run)
    assert "The run has ended" in create(workshop.workers(), wish(site, run, "A")).warnings[0]
    assert workshop.world.meta(run) == before


# D-64: a failure in the middle


@rows("at", [1, 2, 3])
def test_what_was_made_is_deleted_when_the_rest_cannot_be(workshop: Workshop, site: Site, at: int) -> None:
    run = run_id()
    refusing = Watched(site.platform, fail={"create_agent": once(InvalidArgument("No such model."), at=at)})
    crew = workshop.workers(refusing).create(wish(site, run))
    assert isinstance(crew.failure, InvalidArgument)
    assert [staffed.state for staffed in crew.undone] == ["A", "B", "C"][: at - 1]
    assert (crew.agents, crew.created, tagged(site, run)) == ({}, (), [])
    assert roster(workshop, run) is None
    assert len(create(workshop.workers(), wish(site, run)).created) == 3


def test_what_cannot_be_deleted_is_used_by_the_next_call(workshop: Workshop, site: Site) -> None:
    run = run_id()
    down = {"create_agent": lambda number: DOWN if number == 3 else None, "delete_agent": always(DOWN)}
    crew = workshop.workers(Watched(site.platform, fail=down)).create(wish(site, run))
    assert crew.undone == ()
    assert "left over" in crew.warnings[0]
    again = create(workshop.workers(), wish(site, run))
    assert [item.state for item in again.created] == ["C"]
    assert len(tagged(site, run)) == 3


@rows("when", ["fail", "after"])
@rows("at", [1, 2])
def test_a_process_that_dies_while_it_makes_agents_leaves_no_second_ones(
    workshop: Workshop, site: Site, when: str, at: int
) -> None:
    """D-54: agents that were created but not recorded were never found again."""
    run = run_id()
    dying = Watched(site.platform)
    getattr(dying, when)["create_agent"] = once(Died(), at=at)
    with pytest.raises(Died):
        workshop.workers(dying).create(wish(site, run))
    workshop.expire(keys.workers(run))
    crew = create(workshop.workers(), wish(site, run))
    assert sorted(tagged(site, run)) == sorted(crew.agents.values())


def test_an_answer_that_was_lost_does_not_make_a_second_agent(workshop: Workshop, site: Site) -> None:
    """The platform made it and could not say so."""
    run = run_id()
    watched = Watched(site.platform, after={"create_agent": once(DOWN)}, fail={"delete_agent": always(DOWN)})
    assert workshop.workers(watched).create(wish(site, run, "A")).failure is DOWN
    crew = create(workshop.workers(), wish(site, run, "A"))
    assert tagged(site, run) == [crew.agents["A"]]


def test_of_several_agents_of_one_state_the_oldest_counts(workshop: Workshop, site: Site) -> None:
    run = run_id()
    oldest, younger = (site.make(f"wf:{run}", "state:A", "role:worker") for _ in range(2))
    crew = create(workshop.workers(), wish(site, run, "A"))
    assert crew.agents == {"A": oldest}
    assert tagged(site, run) == [oldest] != [younger]


def test_agents_may_be_refused_where_there_are_some(workshop: Workshop, site: Site) -> None:
    run = run_id()
    first = create(workshop.workers(), wish(site, run, "A", reuse=False))
    crew = workshop.workers().create(wish(site, run, "A", "B", reuse=False))
    assert isinstance(crew.failure, Conflict)
    assert tagged(site, run) == list(first.agents.values())


# Existing agents, shared agents, names


@rows("by", ["id", "name"])
def test_an_existing_agent_is_used_as_it_is_and_never_deleted(workshop: Workshop, site: Site, by: str) -> None:
    """D-48: a clone was made even for agent_ref."""
    run, name = run_id(), f"expert {secrets.token_hex(4)}"
    expert = site.platform.create_agent(AgentWish(name=name, template=site.agent, bundle=site.bundle))
    reference = TemplateReference(ident=expert) if by == "id" else TemplateReference(name=name)
    crew = create(workshop.workers(), CrewWish(workflow_id=run, staffing=[Staffing(state="A", existing=reference)]))
    assert (crew.agents, crew.created) == ({"A": expert}, ())
    assert crew.existing[0].agent_name == name
    assert workshop.workers().delete_workers(run) == []
    assert site.platform.retrieve_agent(expert).agent_id == expert


def test_an_existing_agent_that_does_not_exist_is_named(workshop: Workshop) -> None:
    staffing = [Staffing(state="A", existing=TemplateReference(name="nobody-at-all"))]
    with pytest.raises(AgentUnknown, match="'nobody-at-all' of state 'A'"):
        workshop.workers().create(CrewWish(workflow_id=run_id(), staffing=staffing))


def test_states_with_one_reuse_key_share_an_agent(workshop: Workshop, site: Site) -> None:
    """D-68: one agent per state even for 100 trivial states."""
    run = run_id()
    shared = [replace(staffing, shared="clerk") for staffing in site.staffing(*(f"S{number}" for number in range(5)))]
    crew = create(workshop.workers(), CrewWish(workflow_id=run, staffing=[*shared, *site.staffing("Own")]))
    assert len(set(crew.agents.values())) == 2 == len(tagged(site, run))


@rows("state", ["a.b", "a:b", "a/b", "Zwölf Übel", "状態", "x" * 80, 'quo"te', " ", "%41", "-", "_", "it's"])
def test_any_state_gets_an_agent_with_a_name_that_every_platform_takes(
    workshop: Workshop, site: Site, state: str
) -> None:
    run = run_id()
    crew = create(workshop.workers(), wish(site, run, state, "Other"))
    name = crew.created[0].agent_name
    assert len(name) <= 56
    assert all(item.isascii() and (item.isalnum() or item in " -_'") for item in name)
    assert create(workshop.workers(), wish(site, run, state)).agents[state] == crew.agents[state]


def test_names_that_only_differ_where_they_are_cut_or_replaced_stay_apart(workshop: Workshop, site: Site) -> None:
    """D-67: a random suffix made a name that no later call could find."""
    states = ["x" * 79 + "1", "x" * 79 + "2", "a.b", "a:b", "a-b"]
    run = run_id()
    names = [item.agent_name for item in create(workshop.workers(), wish(site, run, *states)).created]
    assert len(set(names)) == len(states)


# Deleting


def test_deleting_the_workers_of_a_run_leaves_all_other_agents(workshop: Workshop, site: Site) -> None:
    """D-53: every id in meta.agents was deleted, which any agent could edit."""
    world = workshop.world
    stranger, other_run = site.make(), run_id()
    other = create(workshop.workers(), wish(site, other_run, "A")).agents["A"]
    run = world.create(chain("A", "B", "C"))
    crew = create(workshop.workers(), wish(site, run))
    set_member(world.ask, world.store.keys(run).meta, ("agents", "C"), stranger)
    results = workshop.workers().delete_workers(run)
    assert {(result.state, result.agent_id, result.deleted, result.error) for result in results} == {
        (state, agent, True, None) for state, agent in crew.agents.items()
    }
    assert tagged(site, run) == []
    for left in (stranger, other):
        assert site.platform.retrieve_agent(left).agent_id == left
    assert workshop.workers().delete_workers(run) == [], "safe to repeat"


def test_agents_that_were_never_noted_are_found_by_their_tags(workshop: Workshop, site: Site) -> None:
    run = run_id()
    lost = site.make(f"wf:{run}", "state:A", "role:worker")
    (result,) = workshop.workers().delete_workers(run)
    assert (result.state, result.agent_id, result.deleted) == ("A", lost, True)


def test_a_deletion_that_failed_is_told_and_tried_again(workshop: Workshop, site: Site) -> None:
    run = run_id()
    crew = create(workshop.workers(), wish(site, run))
    down = Watched(site.platform, fail={"delete_agent": once(DOWN, at=2)})
    results = workshop.workers(down).delete_workers(run)
    assert sorted(result.deleted for result in results) == [False, True, True]
    assert [result.error for result in results if not result.deleted] == [
        "platform_unavailable: The platform does not answer."
    ]
    again = workshop.workers().delete_workers(run)
    assert [(item.state, item.deleted) for item in again] == [
        (result.state, True) for result in results if not result.deleted
    ]
    assert tagged(site, run) == []
    assert len(crew.agents) == 3


def test_the_planner_and_agents_that_are_to_stay_are_spared(workshop: Workshop, site: Site) -> None:
    run = run_id()
    staffing = [replace(staffing, keep=staffing.state == "B") for staffing in site.staffing("A", "B", "C")]
    crew = create(workshop.workers(), CrewWish(workflow_id=run, staffing=staffing))
    results = workshop.workers().delete_workers(run, spare=(crew.agents["C"],))
    assert [result.state for result in results] == ["A"]
    assert sorted(tagged(site, run)) == sorted([crew.agents["B"], crew.agents["C"]])


def test_workers_that_were_deleted_can_be_made_again_and_are_assigned_in_their_place(
    workshop: Workshop, site: Site
) -> None:
    run = workshop.world.create(chain("A"))
    first = create(workshop.workers(), wish(site, run, "A"))
    workshop.workers().delete_workers(run)
    second = create(workshop.workers(), wish(site, run, "A"))
    assert second.agents != first.agents
    assert workshop.world.meta(run)["agents"] == second.agents


def test_agents_made_while_the_run_is_cleaned_up_do_not_stay(workshop: Workshop, site: Site) -> None:
    run = run_id()
    cleaned = False

    def clean(number: int) -> None:
        nonlocal cleaned
        if number == 2 and not cleaned:
            cleaned = True
            workshop.workers().delete_workers(run)

    crew = workshop.workers(Watched(site.platform, fail={"create_agent": clean})).create(wish(site, run))
    assert isinstance(crew.failure, Conflict)
    workshop.workers().delete_workers(run)
    assert tagged(site, run) == []


def test_what_a_deleted_agent_had_loaded_is_forgotten(workshop: Workshop, site: Site) -> None:
    run = run_id()
    agent = create(workshop.workers(), wish(site, run, "A")).agents["A"]
    workshop.equipment().load(agent, read(manifest()))
    workshop.workers().delete_workers(run)
    assert workshop.equipment().loaded(agent) == []


# Names and limits


def test_a_name_is_resolved_when_it_means_one_agent(workshop: Workshop, site: Site) -> None:
    """D-06, D-108: no match was two nulls, and of several the first was taken."""
    name = f"twin {secrets.token_hex(4)}"
    make = AgentWish(name=name, template=site.agent, bundle=site.bundle)
    with pytest.raises(AgentUnknown):
        workshop.workers().resolve(name)
    create_agent = site.platform.create_agent(make)
    assert workshop.workers().resolve(name) == create_agent
    two = site.platform.create_agent(make)
    with pytest.raises(InvalidArgument) as refused:
        workshop.workers().resolve(name)
    assert create_agent in refused.value.hint
    assert two in refused.value.hint


def test_the_cost_of_an_agent_does_not_grow_with_the_agents_there_are(workshop: Workshop, site: Site) -> None:
    def calls(existing: int) -> int:
        for _ in range(existing):
            site.make("role:worker", f"wf:{run_id()}")
        watched = Watched(site.platform)
        create(workshop.workers(watched), wish(site, run_id(), "A", "B"))
        return watched.total

    assert calls(1) == calls(20) == 3, "one look by tags and two agents"
