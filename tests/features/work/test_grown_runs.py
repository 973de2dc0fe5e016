"""find_work over runs that grow: units that are added are found, held and claimed as declared states are."""

import uuid
from typing import Any

from dcf.core.documents.answers import Created, Leased
from dcf.core.leasing.lease import Acquire
from dcf.features.growing.adding import Added, AddUnits
from dcf.features.growing.definition import grown_definition
from dcf.features.growing.model import NewUnit, Unit
from dcf.features.growing.opening import OpenRequest
from dcf.features.growing.operations import Growing
from dcf.features.work.listing import WorkQuery, WorkStatus
from dcf.features.work.operations import TakenWork
from dcf.values.records import replace
from tests.support.redis.counting import CountingPool
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import task
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
    return sorted((item.state, str(item.status), item.title) for item in page.items)


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
        assert isinstance(taken, TakenWork)
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
            listed_commands = rows(world, project=project, status=WorkStatus.DONE)
        assert len(listed_commands) == number + 1
        assert len(packets) == 3


def test_who_gets_work_in_files_that_others_work_on_is_warned_and_never_refused(real: World) -> None:
    project = name("p")
    run = opened(
        real,
        project,
        (Unit(name="api", areas=("src/api/**",)), ()),
        (Unit(name="tests", areas=("src/*/test_*.py",)), ()),
        (Unit(name="docs", areas=("docs",)), ()),
    )
    other = opened(real, project, (Unit(name="fix", areas=("src/api/prices.py",)), ()))
    elsewhere = opened(real, name("p"), (Unit(name="fix", areas=("src/**",)), ()))

    def warnings(where: str, unit: str, owner: str) -> list[str]:
        leased = real.try_acquire(where, unit, owner)
        assert isinstance(leased, Leased)
        return real.work.areas.warn(where, leased)

    assert warnings(run, "api", "ann") == []
    assert warnings(elsewhere, "fix", "eve") == [], "another project"
    assert warnings(run, "docs", "dan") == []
    (warning,) = warnings(other, "fix", "bob")
    assert f"'api' of run '{run}' is worked on by 'ann'" in warning
    assert len(warnings(run, "tests", "carl")) == 1
    assert real.event_types(other).count("AreasOverlap") == 1
    assert real.event_types(run).count("AreasOverlap") == 1

    real.complete(other, "fix", real.doc(other, "fix").lease.token, {})
    again = opened(real, project, (Unit(name="again", areas=("src/api/prices.py",)), ()))
    assert len(warnings(again, "again", "bob")) == 1, "only what is still worked on"

    declared = real.create(
        workflow({"Mend": task("Tell", Areas=["src/api/prices.py"]), "Tell": task()}), project=project
    )
    assert len(warnings(declared, "Mend", "dora")) == 2, "a Task of a workflow names areas, too"
    later = opened(real, project, (Unit(name="later", areas=("src/api/p*",)), ()))
    assert f"'Mend' of run '{declared}' is worked on by 'dora'" in str(warnings(later, "later", "eve"))
    real.complete(declared, "Mend", real.doc(declared, "Mend").lease.token, {})
    assert warnings(declared, "Tell", "dora") == []
