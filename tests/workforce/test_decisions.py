"""The pure decisions about what agents have loaded and who was made for a run."""

from dataclasses import replace
from typing import Any

from dcf.values.instants import SECOND
from dcf.workforce.crew import roster
from dcf.workforce.crew.names import agent_name, default_prefix
from dcf.workforce.crew.roster import Allotted, Member, MemberPhase
from dcf.workforce.skills import holdings
from dcf.workforce.skills.holdings import Busy, HeldTool, Holding, Holdings, Repair, Reserved, Settled, SkillPhase
from tests.support.tables import rows

NOW = 1_000_000
NONE: frozenset[str] = frozenset()


def held(name: str, *tools: str, phase: SkillPhase = SkillPhase.LOADED, until: int = 0, **more: Any) -> Holding:
    return Holding(
        manifest_id=name,
        name=name,
        version="1.0.0",
        sha256=name,
        phase=phase,
        token=f"token-{name}",
        until=until,
        texts={f"directives-{name}": None},
        tools={tool: HeldTool(source="s", definition={}, tool_id=f"id-{tool}", foreign=False) for tool in tools},
        **more,
    )


def having(*all_: Holding) -> Holdings:
    return Holdings(skills={item.manifest_id: item for item in all_}, revision=1, mirrored=1)


def reserve(there: Holdings, wish: Holding) -> Any:
    return holdings.reserve(there, wish, NONE, NOW)[1]


def test_a_skill_waits_for_one_that_is_loading_the_same_tool() -> None:
    """Until that skill is loaded the owner of the tool is not known."""
    loading = held("a", "x", phase=SkillPhase.LOADING, until=NOW + 1)
    assert isinstance(reserve(having(loading), held("b", "x")), Busy)
    assert isinstance(reserve(having(loading), held("b", "y")), Reserved)


def test_a_hold_from_before_the_clock_stepped_back_keeps_nobody_out() -> None:
    loading = held("a", "x", phase=SkillPhase.LOADING, until=NOW + holdings.HOLD + 3600 * SECOND)
    wish = replace(held("a", "x"), token="another")
    assert isinstance(holdings.reserve(having(loading), wish, NONE, NOW)[1], Repair)
    assert isinstance(holdings.begin_removal(having(loading), "a", "t", NOW)[1], Reserved)
    making = Member(phase=MemberPhase.MAKING, token="dead", until=NOW + roster.HOLD + 3600 * SECOND)
    assert roster.allot({"A": making}, ("A",), "mine", NOW)[1] == Allotted(mine=("A",))
    alive = replace(making, until=NOW + roster.HOLD)
    assert roster.allot({"A": alive}, ("A",), "mine", NOW)[1] == Allotted(others=("A",))


def test_a_skill_waits_for_one_that_is_taking_its_tool_away() -> None:
    leaving = held("a", "x", "y", phase=SkillPhase.UNLOADING, until=NOW + 1, detach=("x",))
    assert isinstance(reserve(having(leaving), held("b", "x")), Busy)
    assert isinstance(reserve(having(leaving), held("b", "y")), Reserved), "it stays, since another skill uses it"


def test_a_skill_under_way_is_left_alone_until_its_time_is_over() -> None:
    loading = held("a", "x", phase=SkillPhase.LOADING, until=NOW + 1)
    wish = replace(held("a", "x"), token="another")
    assert isinstance(reserve(having(loading), wish), Busy)
    assert isinstance(holdings.begin_removal(having(loading), "a", "t", NOW)[1], Busy)
    assert isinstance(holdings.reserve(having(loading), wish, NONE, NOW + 1)[1], Repair)
    assert isinstance(holdings.begin_removal(having(loading), "a", "t", NOW + 1)[1], Reserved)


def test_the_same_request_again_finds_its_own_reservation() -> None:
    there, first = holdings.reserve(having(), held("a", "x"), NONE, NOW)
    again, second = holdings.reserve(there, held("a", "x"), NONE, NOW)
    assert first == second
    assert again is there


def test_who_lost_the_reservation_cannot_confirm_it() -> None:
    taken = having(held("a", phase=SkillPhase.UNLOADING))
    assert holdings.confirm(taken, replace(held("a"), token="late")) == (taken, False)
    assert holdings.confirm(having(), held("a")) == (having(), False)
    assert holdings.note_before(taken, "a", "late", ()) == (taken, False)
    assert holdings.end_removal(taken, "a", "late") is taken
    assert holdings.give_up_removal(taken, "a", "late") is taken


def test_two_removals_at_once_take_a_shared_tool_away_exactly_once() -> None:
    both = having(held("a", "x"), held("b", "x"))
    item, first = holdings.begin_removal(both, "a", "t1", NOW)
    _, second = holdings.begin_removal(item, "b", "t2", NOW)
    assert isinstance(first, Reserved)
    assert isinstance(second, Reserved)
    assert (first.holding.detach, second.holding.detach) == ((), ("x",))


def test_a_revision_is_never_repeated_when_the_document_begins_anew() -> None:
    there, _ = holdings.reserve(Holdings(), held("a"), NONE, NOW)
    loaded, done = holdings.confirm(there, replace(held("a"), token="token-a"))
    assert done
    assert loaded.revision > NOW
    assert loaded.mirrored < loaded.revision


@rows("name", ["a", "skill://a@1.0.0", "A@1.0.0"])
def test_a_loaded_skill_is_found_by_its_names(name: str) -> None:
    assert having(held("a")).find(name) is not None
    assert isinstance(holdings.begin_removal(having(held("a")), f"{name}x", "t", NOW)[1], Settled)


# Rosters


def test_a_part_is_allotted_to_one_caller_until_its_time_is_over() -> None:
    there, mine = roster.allot({}, ("A", "B"), "one", NOW)
    assert mine == Allotted(mine=("A", "B"))
    assert roster.allot(there, ("A",), "one", NOW)[1].mine == ("A",), "the same caller, whose reply was lost"
    assert roster.allot(there, ("A",), "two", NOW)[1].others == ("A",)
    assert roster.allot(there, ("A",), "two", NOW + roster.HOLD)[1].mine == ("A",)


def test_a_lost_part_or_a_closed_part_cannot_be_confirmed() -> None:
    there, _ = roster.allot({}, ("A",), "one", NOW)
    made = Member(phase=roster.MemberPhase.MADE, token="one", until=0, agent_id="agent-1")
    assert roster.confirm(there, "A", replace(made, token="two"))[1] is False
    closed, leaving = roster.dismiss(there, "cleaner")
    assert set(leaving) == {"A"}
    assert roster.confirm(closed, "A", made)[1] is False
    assert roster.confirm(there, "A", made)[1] is True


def test_agents_that_were_made_before_are_remembered_as_the_runs_own() -> None:
    there, _ = roster.allot({}, ("A",), "one", NOW)
    there, _ = roster.confirm(
        there, "A", Member(phase=roster.MemberPhase.MADE, token="one", until=0, agent_id="agent-1")
    )
    there, _ = roster.dismiss(there, "cleaner")
    there, _ = roster.allot(there, ("A",), "two", NOW)
    there, _ = roster.confirm(
        there, "A", Member(phase=roster.MemberPhase.MADE, token="two", until=0, agent_id="agent-2")
    )
    assert there["A"].agent_ids == ("agent-1", "agent-2")
    assert roster.read_roster(roster.write_roster(there)) == there


def test_only_the_agent_that_is_gone_is_forgotten_not_one_that_took_its_place() -> None:
    there = {"A": Member(phase=MemberPhase.MADE, token="t", until=0, name="a", agent_id="agent-2")}
    assert roster.lose(there, {"A": "agent-1"}) == there
    assert roster.lose(there, {"A": "agent-2"})["A"].phase is MemberPhase.DELETED


def test_the_prefix_is_not_doubled() -> None:
    assert default_prefix("wf-order") == "wf-order-"
    assert default_prefix("order") == "wf-order-"
    assert agent_name("wf-order-", "A") == "wf-order-A"
