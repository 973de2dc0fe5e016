"""A process uses its cache of a run for that run and that visit only, and the cache is bounded."""

from collections.abc import Callable
from typing import Any

import pytest

from dcf.asl.steps import Entry
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import Definition, read_definition
from dcf.core.definitions.needs import to_update
from dcf.core.documents.answers import Created
from dcf.core.documents.decision import More, ReadSet, Snapshot
from dcf.core.documents.model import Lease, Meta, RunStatus, ScopeBounds, StateDoc, StateInput, Status
from dcf.runs.kept_scopes import KeptScopes
from tests.support.redis.documents import set_member
from tests.support.tables import rows
from tests.support.workflows.machines import chain, workflow
from tests.support.workflows.scopes import each, task
from tests.support.world import World

READS = ReadSet(scopes=("Each",))


def record(value: Any) -> StateInput:
    return StateInput(entry=Entry(raw=value, variables={}, entered_at=""), effective=value)


def opened(*, created_at: str = "c", epoch: int = 7, started_at: int = 9, read: StateInput | None = None) -> Snapshot:
    """A run with one open Map, whose record was read or not."""
    doc = StateDoc(
        status=Status.RUNNING,
        kind="Map",
        lease=Lease(epoch=epoch),
        started_at=started_at,
        scope=ScopeBounds(size=3, concurrency=1),
    )
    return Snapshot(
        now=10,
        meta=Meta(status=RunStatus.RUNNING, definition_sha256="d", created_at=created_at),
        states={"Each": doc},
        scopes={} if read is None else {"Each": read},
    )


def completed(scopes: KeptScopes, run: str, snapshot: Snapshot) -> Any:
    """The record as a decision sees it, or None where it must be read first."""
    answer = scopes.add_to(run, snapshot, ("Each",))
    return None if isinstance(answer, More) else answer.scopes["Each"].effective


def test_the_record_of_an_open_map_is_read_once() -> None:
    scopes = KeptScopes()
    assert scopes.without("r", READS) == READS
    assert completed(scopes, "r", opened(read=record("v"))) == "v"
    assert scopes.without("r", READS) == ReadSet()
    assert completed(scopes, "r", opened()) == "v"


@rows("change", [{"created_at": "later"}, {"epoch": 8}, {"started_at": 10}], ids=str)
def test_a_record_of_another_visit_is_read_again(change: dict[str, Any]) -> None:
    scopes = KeptScopes()
    completed(scopes, "r", opened(read=record("old")))
    assert completed(scopes, "r", opened(**change)) is None
    assert completed(scopes, "r", opened(**change, read=record("new"))) == "new"
    assert completed(scopes, "r", opened(**change)) == "new"


def test_the_oldest_records_are_forgotten() -> None:
    scopes = KeptScopes(most=2)
    for run in ("a", "b", "c"):
        completed(scopes, run, opened(read=record(run)))
    assert [scopes.without(run, READS) == READS for run in ("a", "b", "c")] == [True, False, False]
    completed(scopes, "b", opened(read=record("b")))
    completed(scopes, "d", opened(read=record("d")))
    assert [scopes.without(run, READS) == READS for run in ("b", "c", "d")] == [False, True, False]


def test_a_map_that_opens_again_after_a_rollback_gives_all_items_one_input(
    worlds: Callable[..., World],
) -> None:
    """A power loss or a failover takes the opening back, and the same completion comes again with another output."""
    survivor, other = worlds(), worlds()
    values = each({"Score": task()}, ItemsPath="$.list", ItemSelector={"v.$": "$.v"}, MaxConcurrency=1)
    run = survivor.create(workflow({"First": task("Each"), "Each": values}))
    token = survivor.acquire(run, "First")
    before = {key: survivor.ask("DUMP", key) for key in survivor.keys_of(run)}
    survivor.complete(run, "First", token, {"v": "old", "list": [1, 2, 3]})
    survivor.do(run, "Each/0/Score")

    survivor.ask("DEL", *survivor.keys_of(run))
    for key, dump in before.items():
        survivor.ask("RESTORE", key, 0, dump)
    other.complete(run, "First", token, {"v": "new", "list": [1, 2, 3]})
    for number in range(3):
        assert survivor.given(run, f"Each/{number}/Score") == {"v": "new"}
        survivor.do(run, f"Each/{number}/Score")


def test_a_process_that_knew_an_earlier_run_sees_input_and_start_of_this_one(
    worlds: Callable[..., World],
) -> None:
    """The definition is the same, so only the time of creation tells the two apart."""
    old, new = worlds(), worlds()
    seen = {"input.$": "$$.Execution.Input", "started.$": "$$.Execution.StartTime"}
    document = workflow({"First": task("Last"), "Last": task(Parameters=seen)})
    run = old.create(document, run_input="of the earlier run")
    old.acquire(run, "First")
    old.ask("DEL", *old.keys_of(run))
    answer = new.plane.create(new.wish(document, run=run, run_input="of the present run"))
    assert isinstance(answer, Created)
    assert not answer.existed

    old.do(run, "First")

    assert old.given(run, "Last") == {"input": "of the present run", "started": answer.meta["created_at"]}


def test_runs_of_one_workflow_share_what_was_worked_out_for_it(world: World) -> None:
    first, second = world.create(chain("A", "B")), world.create(chain("A", "B"))
    other = world.create(chain("A", "C"))
    definition = world.plane.run(first).definition
    assert world.plane.run(second).definition is definition
    assert world.plane.run(other).definition is not definition
    world.do(first, "A")
    needed = dict(definition.needed)
    world.do(second, "A")
    assert needed
    assert definition.needed == needed


def test_a_process_that_did_not_create_the_runs_of_a_workflow_parses_it_once(
    worlds: Callable[..., World], monkeypatch: pytest.MonkeyPatch
) -> None:
    creator, worker, parsed = worlds(), worlds(), list[object]()

    def noted(document: object) -> Definition:
        parsed.append(document)
        return read_definition(document)

    monkeypatch.setattr("dcf.runs.transactions.read_stored", noted)
    runs = [creator.create(chain("A", "B")) for _ in range(3)]
    assert len({id(worker.plane.run(run).definition) for run in runs}) == 1
    assert len(parsed) == 1


def test_a_workflow_that_was_changed_by_hand_is_not_taken_for_the_one_that_is_known(
    worlds: Callable[..., World],
) -> None:
    creator, worker = worlds(), worlds()
    first, second = (creator.create(chain("A", "B")) for _ in range(2))
    definition = worker.plane.run(first).definition
    set_member(creator.ask, creator.store.keys(second).definition, "workflow_name", "changed")
    assert worker.plane.run(second).definition is not definition
    assert worker.plane.run(second).definition.name == "changed"


def test_cached_results_for_the_iterations_of_a_map_are_bounded() -> None:
    definition = read_definition(workflow({"Each": each({"Leaf": task()})}))
    for number in range(5000):
        request = Update(state=f"Each/{number}/Leaf", token="t", status=Status.SUCCEEDED, has_output=True)
        assert to_update(definition, request).states == (f"Each/{number}/Leaf", "Each")
    assert len(definition.needed) <= 2048
    assert len(definition.machine.places) <= 1024
