"""A capability is one folder, added by rows of tables: it works through an engine that knows none of it.

`tests/system/quality/test_toy_capability.py` adds it to dcf itself, with its tool, command and method.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from dcf.asl.tasks.extensions import LANGUAGE, LanguageOffer
from dcf.core.completing.updates import Update
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Updated
from dcf.core.extensions import EXTENSIONS, Capability
from dcf.errors import InvalidDefinition
from dcf.features.installed import offers
from dcf.runs import offers as of_runs
from dcf.runs.clock.clock import RunClock
from dcf.runs.clock.duties import DUTIES
from dcf.store.connection.server_time import ServerTime
from dcf.store.transaction import state_texts
from dcf.values.refusal import Refusal
from tests.support.ahead import look
from tests.support.capabilities.installation import own_tables
from tests.support.capabilities.stamps import capability, run_offers, syntax
from tests.support.capabilities.stamps.model import Stamp
from tests.support.capabilities.stamps.operations import LOOKS, Stamps
from tests.support.capabilities.stamps.storage import book_key
from tests.support.workflows.machines import chain, workflow
from tests.support.world import World

DECISIONS: Final = offers("capability", Capability)
STAMPED = workflow({"A": {"Type": "Task", "Stamp": ["rita"], "Next": "B"}, "B": {"Type": "Task", "End": True}})


def install(*capabilities: Capability) -> None:
    """Give this process these capabilities; it forgets the documents that it read before."""
    EXTENSIONS.install(capabilities)
    state_texts._records.clear()


@pytest.fixture(autouse=True)
def _stamps() -> Iterator[None]:
    """Install stamps with all other capabilities until the test ends."""
    with own_tables():
        install(*DECISIONS, capability.OFFER)
        of_runs.install([*offers("run_offers", of_runs.RunOffer), run_offers.OFFER])
        LANGUAGE.install([*offers("syntax", LanguageOffer), syntax.OFFER])
        yield


def submitted(world: World) -> tuple[str, str]:
    """Return a run whose first output waits for its stamp, and the token of the lease."""
    run = world.create(STAMPED)
    token = world.acquire(run, "A")
    answer = world.try_complete(run, "A", token, {"price": 1})
    assert isinstance(answer, Refusal)
    assert answer.code == "unstamped"
    return run, token


def refusal(answer: object) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def test_an_output_counts_only_once_it_is_stamped(world: World) -> None:
    stamps, (run, token) = Stamps(world.plane), submitted(world)
    assert world.doc(run, "A").has(Stamp.field)
    assert stamps.stamp(run, "A", "rita") == ("submitted",)
    assert world.complete(run, "A", token, {"price": 1}).next_states == ("B",)
    assert world.doc(run, "A").attached == ()
    assert stamps.book(run) == ("submitted", "stamped by rita")


def test_the_field_of_the_task_says_who_may_stamp(world: World) -> None:
    stamps, (run, _) = Stamps(world.plane), submitted(world)
    assert refusal(stamps.stamp(run, "A", "rob")) == "not_allowed"
    assert refusal(stamps.stamp(run, "B", "rita")) == "not_waiting"
    assert stamps.book(run) == ("submitted",)


def test_what_is_wrong_with_the_field_is_reported_with_the_workflow() -> None:
    with pytest.raises(InvalidDefinition, match="Stamp must be an array of names"):
        read_definition(workflow({"A": {"Type": "Task", "Stamp": "rita", "End": True}}))


def test_a_task_without_the_field_needs_no_stamp(world: World) -> None:
    assert isinstance(world.do(world.create(chain("A")), "A"), Updated)
    run, token = submitted(world)
    Stamps(world.plane).stamp(run, "A", "rita")
    world.complete(run, "A", token)
    assert isinstance(world.do(run, "B"), Updated)


def test_other_writes_are_held_until_the_stamp(world: World) -> None:
    run, token = submitted(world)
    partial = world.plane.update(run, Update(state="A", token=token, output={"part": 1}, has_output=True))
    assert refusal(partial) == "unstamped"
    Stamps(world.plane).stamp(run, "A", "rita")
    assert isinstance(world.update(run, "A", token, output={"part": 1}), Updated)


def test_the_clock_reminds_once(timely: World) -> None:
    run, _ = submitted(timely)
    look(timely, run, times=2)
    assert Stamps(timely.plane).book(run) == ("submitted", "reminded after 1")


def test_the_clock_does_the_duty_at_each_look(world: World) -> None:
    LOOKS.clear()
    lists = (world.index, world.due, world.outbox, world.retention, world.notifications.deliveries)
    duties = [make(world.plane, world.connections) for make in DUTIES.makers]
    clock = RunClock(world.plane, *lists, ServerTime(world.connections), duties=duties)
    clock.pulse()
    clock.pulse()
    assert len(LOOKS) == 2


def test_the_book_is_deleted_with_its_run(world: World) -> None:
    run, token = submitted(world)
    Stamps(world.plane).stamp(run, "A", "rita")
    world.complete(run, "A", token)
    world.do(run, "B")
    key = book_key(world.store.keys(run))
    assert world.ask("EXISTS", key) == 1
    assert not isinstance(world.retention.delete(run), Refusal)
    assert world.ask("EXISTS", key) == 0


def test_a_process_without_the_capability_passes_on_what_it_cannot_read(world: World) -> None:
    run, token = submitted(world)
    before = world.doc(run, "A")
    install(*DECISIONS)
    seen = world.doc(run, "A")
    assert seen.attached == ()
    assert Stamp.field in seen.extra
    world.renew(run, "A", token)
    install(*DECISIONS, capability.OFFER)
    assert world.doc(run, "A").attached == before.attached
