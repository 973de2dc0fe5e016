"""find_work over runs that grow: units that are added are found, held and claimed as declared states are."""

import uuid
from typing import Any

from dcf.core.answers import Created
from dcf.core.growing import Added, AddUnits
from dcf.core.grown import grown_definition
from dcf.core.lease import Acquire
from dcf.core.opening import OpenRequest
from dcf.core.units import NewUnit, Unit
from dcf.core.work_list import WorkQuery, WorkStatus
from dcf.runs.growing import Growing
from dcf.runs.work_finding import FoundWork
from dcf.values.records import replace
from tests.support.counting import CountingPool
from tests.support.machines import chain
from tests.support.world import World, new_token


def opened(world: World, project: str, *units: tuple[Unit, tuple[str, ...]]) -> str:
    wish = world.wish(chain("A"), project=project)
    growing = Growing(world.plane)
    assert isinstance(growing.open_run(OpenRequest(wish=grown_wish(wish))), Created)
    new = tuple(NewUnit(unit=unit, agents=agents).identified() for unit, agents in units)
    assert isinstance(growing.add_units(wish.workflow_id, AddUnits(units=new)), Added)
    return wish.workflow_id


def grown_wish(wish: Any) -> Any:
    return replace(wish, definition=grown_definition("grown"))


def name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:10]}"


def rows(world: World, **query: Any) -> list[tuple[str, str, str]]:
    page = world.work.find_work(WorkQuery(limit=50, **query))
    return sorted((one.state, str(one.status), one.title) for one in page.items)


def test_units_of_mine_and_of_nobody_are_found_with_title_and_skill_and_claimed(real: World) -> None:
    me, project = name("a"), name("p")
    run = opened(
        real,
        project,
        (Unit(name="design", title="Draw it", told={"Skills": ["skill://style@1.0.0"]}), (me,)),
        (Unit(name="build", depends_on=("design",)), ()),
        (Unit(name="docs"), ()),
        (Unit(name="other"), ("somebody",)),
    )
    assert rows(real, agent=me, project=project) == [("design", "ready", "Draw it"), ("docs", "ready", "docs")]
    assert rows(real, agent=me, project=project, skill="skill://style@1.0.0") == [("design", "ready", "Draw it")]
    query = WorkQuery(limit=1, agent=me, status=WorkStatus.READY, project=project)
    for _ in range(2):
        taken = real.work.claim_work(query, Acquire(state="", owner=me, token=new_token(), ttl_s=60))
        assert isinstance(taken, FoundWork)
        assert taken.workflow_id == run
        real.complete(run, taken.leased.state, taken.leased.doc.lease.token, {})
    assert rows(real, agent=me, project=project) == [("build", "ready", "build")]
    assert rows(real, project=project, status=WorkStatus.DONE) == [
        ("design", "done", "Draw it"),
        ("docs", "done", "docs"),
    ]


def test_what_is_done_takes_three_round_trips_however_many_runs_there_are(worlds: Any, counting: CountingPool) -> None:
    world, project = worlds(pool=counting), name("p")
    for number in range(4):
        run = opened(world, project, (Unit(name="one"), ()))
        world.do(run, "one")
        with counting.counted() as packets:
            found = rows(world, project=project, status=WorkStatus.DONE)
        assert len(found) == number + 1
        assert len(packets) == 3
