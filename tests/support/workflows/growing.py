"""Runs that grow, in tests: several servers on one run, and what must hold of its documents at every moment."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dcf.core.documents.answers import Created, Leased
from dcf.core.documents.decision import ReadSet, Snapshot
from dcf.core.documents.model import RunStatus, StateDoc
from dcf.core.documents.operations import RunAnswer
from dcf.core.documents.parts import WHOLE
from dcf.core.lifecycle.creation import Create
from dcf.features.growing.adding import Added, AddUnits
from dcf.features.growing.closing import Close, Seal
from dcf.features.growing.counts import GROWTH
from dcf.features.growing.definition import grown_definition, units_of
from dcf.features.growing.model import Units
from dcf.features.growing.opening import OpenRequest
from dcf.features.growing.operations import Growing
from dcf.features.growing.progress import WELL
from dcf.features.growing.syntax import read_units
from dcf.values.refusal import Refusal
from tests.support.world import World, new_token

Unit = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Server:
    """One server: a world of its own, with its own caches, on the Redis that others use too."""

    world: World

    @property
    def growing(self) -> Growing:
        return Growing(self.world.plane)

    def open(self, *units: Unit, run: str | None = None, **options: Any) -> str:
        """Open a run with these units; its id."""
        name = run or self.world.name()
        answer = self.try_open(name, **options)
        assert isinstance(answer, Created), answer
        if units:
            self.add(name, *units)
        return name

    def try_open(self, run: str, *, planner: str | None = None, **options: Any) -> Created | Refusal:
        wish = Create(
            workflow_id=run,
            definition=grown_definition("work"),
            run_input={},
            agents={},
            planner_agent_id=planner,
            retention_s=None,
            max_attempts=options.pop("max_attempts", 10),
        )
        return self.growing.open_run(OpenRequest(wish=wish, **options))

    def try_add(
        self, run: str, *units: Unit, owner: str = "w", token: str | None = None, request_id: str | None = None
    ) -> Added | Refusal:
        wish = AddUnits(units=read_units([dict(unit) for unit in units]), owner=owner, token=token or new_token())
        return self.growing.add_units(run, wish, request_id=request_id)

    def add(self, run: str, *units: Unit, **options: Any) -> Added:
        answer = self.try_add(run, *units, **options)
        assert isinstance(answer, Added), answer
        return answer

    def seal(self, run: str, group: str | None = None, **options: Any) -> RunAnswer | Refusal:
        return self.growing.seal_group(run, Seal(group=group, **options))

    def close(self, run: str, **options: Any) -> RunAnswer | Refusal:
        request_id = options.pop("request_id", None)
        return self.growing.close_run(run, Close(**options), request_id=request_id)

    def rewind(self, run: str, unit: str, **options: Any) -> RunAnswer | Refusal:
        return self.growing.rewind_unit(run, unit, **options)

    def retry(self, run: str, unit: str, **options: Any) -> RunAnswer | Refusal:
        return self.growing.retry_unit(run, unit, **options)

    def take(self, run: str, owner: str = "w") -> Leased:
        """Claim the next ready unit, which there must be."""
        answer = self.world.claim(run, owner)
        assert isinstance(answer, Leased), answer
        return answer

    def finish(self, run: str, *names: str) -> None:
        """Do these units, one after the other."""
        for name in names:
            self.world.do(run, name)

    def snapshot(self, run: str) -> tuple[Units, Snapshot]:
        """All documents of the run in Redis."""
        units = units_of(self.world.plane.run(run).definition)
        assert units is not None
        return units, self.world.store.read(run, ReadSet(states=tuple(units.by_name), parts=GROWTH.wanted(WHOLE)))


def check(server: Server, run: str) -> None:
    """The invariants of a run that grows at every moment; open states of an ended run are not looked at."""
    units, result = server.snapshot(run)
    docs, growth = result.states, result.part(GROWTH)
    assert growth is not None
    assert result.meta is not None
    assert set(docs) == set(units.by_name), "every unit has its document"
    assert growth.units == len(units.by_name)
    if result.meta.status is not RunStatus.RUNNING:
        return
    containers: list[str | None] = [None, *(name for name, unit in units.by_name.items() if unit.is_group)]
    for group in containers:
        inside = [name for name, unit in units.by_name.items() if unit.group == group]
        left = [name for name in inside if docs[name].status not in WELL]
        assert growth.of(group).open == len(left), f"what is open in {group}: {left}"
    for name in units.by_name:
        below = [item for item in units.children.get(name, ()) if docs[item].status not in WELL]
        assert growth.children.get(name, 0) == len(below), f"what is open below {name}"
    assert not growth.run.is_done, "a run that is sealed and done is over"
    timers = set(server.world.store.open_states(run))
    for name, doc in docs.items():
        _check_one(name, doc, docs, units, is_done=growth.of(name).is_done, is_timed=name in timers)


def _check_one(
    name: str, doc: StateDoc, docs: Mapping[str, StateDoc], units: Units, *, is_done: bool, is_timed: bool
) -> None:
    well = {wait for wait in units.waits[name] if docs[wait].status in WELL}
    if not doc.status.is_terminal:
        assert {item for item, epoch in doc.waits_for.items() if epoch} == well, f"{name} waits for what is not done"
        assert set(doc.waits_for) == set(units.waits[name])
    if units.by_name[name].is_group:
        assert (doc.status in WELL) == (is_done and well == set(units.waits[name])), f"the group {name}"
        return
    if doc.status in WELL or doc.lease.token is not None:
        assert well == set(units.waits[name]) or doc.status.value == "skipped", f"{name} went before its turn"
    is_open = not doc.status.is_terminal and doc.is_ready
    assert is_timed == is_open, f"the clock looks at {name}: {is_timed}; it is open: {is_open}"
