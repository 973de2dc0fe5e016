"""A capability is one folder, added by one line: it works through an engine that knows none of it."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dcf.core.completing.updates import Update
from dcf.core.definitions.extensions import ENDS
from dcf.core.documents.answers import Updated
from dcf.core.documents.attached import ATTACHED
from dcf.core.extensions import EXTENSIONS, Capability
from dcf.core.leasing.extensions import LEASING
from dcf.features.installed import CAPABILITIES
from dcf.runs.clock.clock import RunClock
from dcf.store.connection.server_time import ServerTime
from dcf.store.extensions import PARTS
from dcf.store.transaction import state_texts
from dcf.values.refusal import Refusal
from tests.support.ahead import look
from tests.support.capabilities.stamps.capability import STAMPS
from tests.support.capabilities.stamps.model import WORKFLOW, Stamp
from tests.support.capabilities.stamps.operations import Stamps
from tests.support.capabilities.stamps.storage import ROW
from tests.support.capabilities.stamps.verbs import STAMP_OUTPUT
from tests.support.workflows.machines import chain
from tests.support.world import World

STAMPED = chain("A", "B") | {"workflow_name": WORKFLOW}


def install(*capabilities: Capability) -> None:
    """Give this process these capabilities; it forgets the documents that it read before."""
    EXTENSIONS.install(capabilities)
    state_texts._records.clear()


@pytest.fixture(autouse=True)
def _stamps() -> Iterator[None]:
    """Install stamps with all other capabilities until the test ends."""
    tables = (EXTENSIONS, LEASING, ATTACHED, ENDS, PARTS)
    before = [dict(vars(table)) for table in tables]
    try:
        install(*CAPABILITIES, STAMPS)
        PARTS.install([*PARTS.rows.values(), ROW])
        yield
    finally:
        for table, rows in zip(tables, before, strict=True):
            vars(table).clear()
            vars(table).update(rows)
        state_texts._records.clear()


def submitted(world: World) -> tuple[str, str]:
    """Return a run whose first output waits for its stamp, and the token of the lease."""
    run = world.create(STAMPED)
    token = world.acquire(run, "A")
    answer = world.try_complete(run, "A", token, {"price": 1})
    assert isinstance(answer, Refusal)
    assert answer.code == "unstamped"
    return run, token


def test_an_output_counts_only_once_it_is_stamped(world: World) -> None:
    stamps, (run, token) = Stamps(world.plane), submitted(world)
    assert world.doc(run, "A").has(Stamp.field)
    assert stamps.stamp(run, "A", "rita") == ("submitted",)
    assert world.complete(run, "A", token, {"price": 1}).next_states == ("B",)
    assert world.doc(run, "A").attached == ()
    assert stamps.book(run) == ("submitted", "stamped by rita")


def test_other_workflows_need_no_stamp(world: World) -> None:
    run = world.create(chain("A"))
    assert isinstance(world.do(run, "A"), Updated)


def test_other_writes_are_held_until_the_stamp(world: World) -> None:
    run, token = submitted(world)
    partial = world.plane.update(run, Update(state="A", token=token, output={"part": 1}, has_output=True))
    assert isinstance(partial, Refusal)
    assert partial.code == "unstamped"
    Stamps(world.plane).stamp(run, "A", "rita")
    assert isinstance(world.update(run, "A", token, output={"part": 1}), Updated)


def test_the_clock_reminds_once(timely: World) -> None:
    run, _ = submitted(timely)
    look(timely, run, times=2)
    assert Stamps(timely.plane).book(run) == ("submitted", "reminded after 1")


def test_the_clock_does_the_duty_at_each_look(world: World) -> None:
    stamps = Stamps(world.plane)
    lists = (world.index, world.due, world.outbox, world.retention, world.notifications.deliveries)
    clock = RunClock(world.plane, *lists, ServerTime(world.connections), duties=[stamps.look])
    clock.pulse()
    clock.pulse()
    assert stamps.looks == 2


def test_a_verb_stamps(world: World) -> None:
    on, (run, _) = SimpleNamespace(stamps=Stamps(world.plane), settings=None), submitted(world)
    arguments, run_verb = cast("Any", STAMP_OUTPUT.models()[0]), cast("Any", STAMP_OUTPUT.run)
    assert run_verb(on, arguments(workflow_id=run, state="A", by="rita")).lines == 1
    assert run_verb(on, arguments(workflow_id=run, state="B", by="rita")).code == "not_waiting"


def test_a_process_without_the_capability_passes_on_what_it_cannot_read(world: World) -> None:
    run, token = submitted(world)
    before = world.doc(run, "A")
    install(*CAPABILITIES)
    seen = world.doc(run, "A")
    assert seen.attached == ()
    assert Stamp.field in seen.extra
    world.renew(run, "A", token)
    install(*CAPABILITIES, STAMPS)
    assert world.doc(run, "A").attached == before.attached
