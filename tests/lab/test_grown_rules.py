"""Each rule of the lab for runs that grow, and for gates, sees the fault that it is for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lab import gate_rules, grown_rules, rules
from lab.evidence import Happening, Story
from lab.expectation import Expected
from lab.gate_rules import GATE_RULES
from lab.grown_rules import GROWN_RULES
from lab.rules import judge
from tests.lab.stories import call, document, happening, numbered
from tests.support.tables import rows

SHA = "a" * 64
OTHER = "b" * 64
PLANNER: dict[str, Any] = {"agent": "planner", "state": "", "token": None}
ADDED = call("grow", 1, content={"request": "g1", "units": ["Group_1", "Work_2", "Gated_3"]}, **PLANNER)
WRONG = call("misgrow", 2, "unknown_unit", content={"request": "g2", "units": ["Stray_4"]}, **PLANNER)
CLOSED = call("close", 9, content={"request": "c1", "force": False}, **PLANNER)


def judging(start: float, agent: str, verdict: str = "pass", code: str = "ok", sha: str = SHA) -> Any:
    content = {"request": f"v{start}", "verdict": verdict, "sha256": sha}
    return call("judge", start, code, agent=agent, state="Gated_3", token=None, content=content)


def decided(gate: str = "review", by: str = "bob", verdict: str = "pass", sha: str = SHA) -> Happening:
    return happening("GateDecided", "Gated_3", gate=gate, content_sha256=sha, verdict=verdict, judged_by=by, epoch=20)


OPENED = happening("GateOpened", "Gated_3", gate="review", content_sha256=SHA, author="ann", epoch=20)
LEASED = happening("LeaseAcquired", "Gated_3", epoch=20, owner="ann", attempt=1)
DONE = happening("StateSucceeded", "Gated_3", epoch=21)
ENTERED = happening("StateEntered", "Gated_3", epoch=11)
TOLD = happening("NotificationSent", "Gated_3", epoch=11, agent="ann")
REWOUND = happening("UnitRewound", "Work_2", epoch=13, was="succeeded", unit="Work_2")
RETRIED = happening("UnitRetried", "Gated_3", epoch=13, retry=1)

BEGINNING = (
    happening("RunCreated", grown=True),
    happening("RunStarted"),
    happening("UnitAdded", "Group_1", kind="group"),
    happening("UnitAdded", "Work_2", group="Group_1"),
    happening("UnitAdded", "Gated_3", depends_on=["Group_1"]),
    happening("StateEntered", "Work_2", epoch=1),
    happening("LeaseAcquired", "Work_2", epoch=10, owner="ann", attempt=1),
)
WORKED = happening("StateSucceeded", "Work_2", epoch=10)
SEALED = happening("GroupSealed", "Group_1")
GROUP_DONE = happening("StateSucceeded", "Group_1", epoch=11)
END = happening("RunClosed", status="succeeded", left=0)
RIGHT = (*BEGINNING, WORKED, SEALED, GROUP_DONE, ENTERED, TOLD, LEASED, decided("shape", "dcf"), OPENED, decided())


def told(*happenings: Happening, calls: tuple[Any, ...] = (), **more: Any) -> Story:
    """A story of a grown run with this history, and what its planner and reviewer did."""
    documents = {name: document() for name in ("Group_1", "Work_2", "Gated_3")}
    return Story(
        run="r",
        seed=4,
        expected=Expected(inputs={"Work_2": [{"n": 1}], "Gated_3": [{"n": 2}]}),
        calls=(ADDED, WRONG, judging(5, "bob"), CLOSED, *calls),
        happenings=numbered(*happenings),
        meta={"status": "succeeded", "agents": {"Gated_3": ["ann", "bob"]}},
        agents=frozenset({"ann", "bob"}),
        documents=more.pop("documents", documents),
        documents_later=more.pop("documents_later", documents),
        planner_notices=("run_finished",),
        is_grown=True,
        **more,
    )


def ending(*happenings: Happening) -> Story:
    """The right story, with this in place of what comes after the gates."""
    return told(*RIGHT, *happenings)


def without(*left_out: Happening) -> Story:
    return told(*(item for item in (*RIGHT, DONE, END) if item not in left_out))


def instead(happenings: tuple[Happening, ...], **more: Any) -> Story:
    """A story whose unit with gates was leased, and then this happened."""
    return told(*RIGHT[:-3], *happenings, **more)


FAILED = (OPENED, decided(verdict="fail"))
GATE_FAILED = happening("StateFailed", "Gated_3", epoch=21, error="DCF.GateFailed")

PLANTED: list[tuple[Callable[[Story], object], str, Story]] = [
    (
        grown_rules.a_unit_is_leased_only_when_all_it_waits_for_are_done,
        "a unit is leased before the group that it waits for has ended",
        without(GROUP_DONE),
    ),
    (
        grown_rules.a_unit_is_leased_only_when_all_it_waits_for_are_done,
        "a unit is leased although what it waits for was taken back",
        told(*BEGINNING, WORKED, SEALED, GROUP_DONE, replace(REWOUND, state="Group_1"), ENTERED, LEASED),
    ),
    (
        grown_rules.acknowledged_units_are_there_once,
        "a unit is there twice",
        told(*BEGINNING[:4], *BEGINNING[3:], WORKED),
    ),
    (grown_rules.acknowledged_units_are_there_once, "a unit is missing", without(BEGINNING[4])),
    (
        grown_rules.acknowledged_units_are_there_once,
        "a unit that nobody added",
        ending(happening("UnitAdded", "Work_9"), DONE, END),
    ),
    (
        grown_rules.refused_additions_leave_nothing,
        "a document of a refused addition",
        told(*RIGHT, DONE, END, documents_later={"Stray_4": document("pending")}),
    ),
    (
        grown_rules.refused_additions_leave_nothing,
        "what is wrong was added",
        told(*RIGHT, DONE, END, calls=(replace(WRONG, code="ok"),)),
    ),
    (grown_rules.a_group_ends_when_it_is_sealed_and_done, "a group ends unsealed", without(SEALED)),
    (grown_rules.a_group_ends_when_it_is_sealed_and_done, "a group ends while a member is open", without(WORKED)),
    (
        grown_rules.a_group_ends_when_it_is_sealed_and_done,
        "a unit is added to a sealed group",
        ending(happening("UnitAdded", "Work_9", group="Group_1"), DONE, END),
    ),
    (grown_rules.a_grown_run_ends_as_it_was_closed, "a strict close while a unit is open", without(DONE)),
    (grown_rules.a_grown_run_ends_as_it_was_closed, "who closed it does not find it", without(END)),
    (
        grown_rules.a_grown_run_ends_as_it_was_closed,
        "it ends by itself, and nobody sealed it",
        ending(DONE, happening("RunSucceeded")),
    ),
    (
        grown_rules.what_the_planner_asks_for_takes_effect_once,
        "one request takes a unit back twice",
        told(
            *RIGHT,
            REWOUND,
            REWOUND,
            calls=(call("rewind", 3, content={"request": "r1"}, **{**PLANNER, "state": "Work_2"}),),
        ),
    ),
    (
        grown_rules.what_the_planner_asks_for_takes_effect_once,
        "a retry that was told is not there",
        told(
            *RIGHT,
            DONE,
            END,
            calls=(call("retry_unit", 3, content={"request": "r1"}, **{**PLANNER, "state": "Gated_3"}),),
        ),
    ),
    (gate_rules.nothing_gated_ends_well_unjudged, "it ends well without a verdict", without(RIGHT[-1])),
    (gate_rules.nothing_gated_ends_well_unjudged, "it ends well without its schema", without(RIGHT[-3])),
    (
        gate_rules.nothing_gated_ends_well_unjudged,
        "its author lets it pass",
        instead((decided("shape", "dcf"), OPENED, decided(by="ann"), DONE)),
    ),
    (
        gate_rules.nothing_gated_ends_well_unjudged,
        "a verdict on another content counts",
        instead((decided("shape", "dcf"), OPENED, decided(sha=OTHER), DONE)),
    ),
    (
        gate_rules.nothing_gated_ends_well_unjudged,
        "an override of the try before counts",
        instead(
            (happening("GateOverridden", "Gated_3", gate="review"), RETRIED, decided("shape", "dcf"), OPENED, DONE)
        ),
    ),
    (gate_rules.a_verdict_counts_once, "a verdict counts twice", ending(decided(), DONE, END)),
    (
        gate_rules.a_verdict_counts_once,
        "a verdict that was told is not there",
        told(*RIGHT, DONE, END, calls=(judging(6, "cyd"),)),
    ),
    (gate_rules.rework_is_counted_and_bounded, "it is sent back once more than it may be", instead(FAILED * 4)),
    (gate_rules.rework_is_counted_and_bounded, "it fails too early", instead((*FAILED * 2, GATE_FAILED))),
]


def test_a_right_history_of_a_grown_run_breaks_no_rule() -> None:
    assert judge(ending(DONE, END)) == []


@rows(("rule", "what", "story"), PLANTED)
def test_a_planted_fault_is_seen(rule: Callable[[Story], object], what: str, story: Story) -> None:
    assert rule.__name__ in {name for name, _ in judge(story)}


def test_every_rule_has_a_planted_fault() -> None:
    assert {rule for rule, _, _ in PLANTED} == {*GROWN_RULES, *GATE_RULES}


def test_what_is_open_when_a_run_is_closed_with_force_and_what_is_waived_is_right() -> None:
    forced = replace(CLOSED, content={"request": "c1", "force": True})
    story = told(*RIGHT, happening("RunClosed", status="succeeded", left=1))
    assert judge(replace(story, calls=(ADDED, WRONG, judging(5, "bob"), forced))) == []
    failed = told(
        *RIGHT, happening("StateFailed", "Gated_3", epoch=21), happening("RunClosed", status="partial", left=0)
    )
    assert list(grown_rules.a_grown_run_ends_as_it_was_closed(failed)) == []
    waived = instead(
        (decided("shape", "dcf"), OPENED, happening("GateOverridden", "Gated_3", gate="review"), DONE, END)
    )
    assert judge(replace(waived, calls=(ADDED, WRONG, CLOSED))) == []
    assert "rework_is_counted_and_bounded" not in {name for name, _ in judge(instead((*FAILED * 3, GATE_FAILED)))}


@rows(("state", "is_wrong"), [("Work_2", False), ("Gated_3", True)])
def test_a_stranger_may_lease_a_unit_that_is_assigned_to_nobody(state: str, is_wrong: bool) -> None:
    leased = told(happening("LeaseAcquired", state, epoch=20, owner="a stranger", attempt=1))
    assert bool(list(rules.only_the_assigned_hold_states(leased))) is is_wrong
