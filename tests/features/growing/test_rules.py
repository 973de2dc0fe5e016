"""Adding units to a run that grows, as a pure decision: what is refused, and what is written."""

from typing import Any

import pytest

from dcf.core.documents.decision import Snapshot
from dcf.core.documents.model import Meta, RunStatus, StateDoc
from dcf.core.documents.operations import RunRequest
from dcf.errors import InvalidArgument, InvalidDefinition
from dcf.features.growing import checks as unit_checks
from dcf.features.growing.adding import AddUnits, add_units
from dcf.features.growing.counts import GROWTH, NO_GROWTH, Growth
from dcf.features.growing.definition import grown_definition
from dcf.features.growing.model import MOST_AT_ONCE, MOST_FOLLOWERS, MOST_UNITS, NewUnit, Unit, Units
from dcf.features.growing.syntax import read_units
from dcf.values.refusal import Refusal


def unit(name: str, **facts: Any) -> NewUnit:
    return NewUnit(unit=Unit(name=name, content=name, **facts))


def codes(new_units: list[NewUnit], units: Units, growth: Growth = NO_GROWTH) -> list[str]:
    docs = {name: StateDoc() for name in units.by_name}
    return [problem.code for problem in unit_checks.first_wrong(new_units, units, growth, docs)]


def test_a_run_takes_only_so_many_units_and_a_call_only_so_many() -> None:
    assert codes([unit("A")], Units(), Growth(units=MOST_UNITS - 1)) == []
    assert codes([unit("A"), unit("B")], Units(), Growth(units=MOST_UNITS - 1)) == ["too_many_units"]
    with pytest.raises(InvalidArgument, match="more than 200 units"):
        read_units([{"name": f"U{number}"} for number in range(MOST_AT_ONCE + 1)])


def test_only_so_many_units_wait_for_one() -> None:
    waiting = [Unit(name=f"U{number}", depends_on=("Root",)) for number in range(MOST_FOLLOWERS - 1)]
    units = Units().plus([Unit(name="Root"), *waiting])
    assert codes([unit("A", depends_on=("Root",))], units) == []
    assert codes([unit("A", depends_on=("Root",)), unit("B", depends_on=("Root",))], units) == ["too_many_units"]
    with pytest.raises(InvalidDefinition):
        read_units([{"name": "A", "depends_on": [f"U{number}" for number in range(101)]}])


def test_a_circle_through_a_group_that_was_there_is_found() -> None:
    units = Units().plus([Unit(name="G", kind="group"), Unit(name="After", depends_on=("G",))])
    assert codes([unit("M", group="G", depends_on=("After",))], units) == ["dependency_cycle"]
    assert codes([unit("M", group="G")], units) == []


def test_a_long_chain_is_no_circle() -> None:
    chain = [Unit(name="U0")] + [Unit(name=f"U{n}", depends_on=(f"U{n - 1}",)) for n in range(1, 5_000)]
    assert codes([unit("Last", depends_on=("U4999",))], Units().plus(chain)) == []


def test_what_is_in_a_group_waits_for_what_the_group_waits_for() -> None:
    units = Units().plus(
        [
            Unit(name="A"),
            Unit(name="G", kind="group", depends_on=("A",)),
            Unit(name="H", kind="group", group="G", depends_on=("B",)),
            Unit(name="M", group="H", depends_on=("C",)),
        ]
    )
    assert units.waits["M"] == ("C", "B", "A")
    assert set(units.followers_of("A")) == {"G", "H", "M"}


def test_a_refused_request_writes_nothing() -> None:
    meta = Meta(status=RunStatus.RUNNING, definition_sha256="x", is_started=True)
    snapshot = Snapshot(now=1_000_000, meta=meta, parts=GROWTH.seen(NO_GROWTH))
    wish = AddUnits(units=(unit("A"), unit("B", depends_on=("Nobody",))))
    decision = add_units(snapshot, RunRequest(verb="add_units", request_id="r"), wish, grown_definition("w"))
    assert isinstance(decision.answer, Refusal)
    assert decision.changes is None
