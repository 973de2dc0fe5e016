"""A definition that a start or a schedule depends on is there with it, whatever a process knew of it before."""

import uuid
from collections.abc import Callable
from dataclasses import replace

import pytest

from dcf.core.definitions.model import Definition, read_definition
from dcf.core.documents.answers import Created
from dcf.core.lifecycle.starting import Start
from dcf.errors import UnknownDefinition
from dcf.features.schedules import keys as schedule_keys
from dcf.features.schedules.model import ScheduleWish
from dcf.features.schedules.operations import ScheduleMade
from dcf.store.keys import table as keys
from dcf.values.instants import SECOND
from tests.support.redis.documents import set_member
from tests.support.redis.proxy import Fault, Proxy
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World


def drawn() -> Definition:
    """A definition that no other test has."""
    return read_definition(chain("A") | {"workflow_name": f"kept-{uuid.uuid4().hex}", "version": "1"})


def lose(world: World, definition: Definition) -> None:
    """Take a definition away, as a power loss or a failover may."""
    world.ask("DEL", keys.definition(definition.sha256), keys.definitions_named(definition.name))


def scheduled(world: World, definition: Definition, *, by_document: bool = True) -> str:
    """Create a schedule of a definition; return its name."""
    name = f"s-{uuid.uuid4().hex[:12]}"
    wish = ScheduleWish(name=name, workflow=f"{definition.name}@1", every_s=60, created_by="local")
    made = world.schedules.create(wish, {}, definition if by_document else None)
    assert isinstance(made, ScheduleMade), made
    return name


def started(world: World, definition: Definition, *, by_document: bool = True) -> None:
    wish = replace(world.wish(dict(definition.document)), definition=definition)
    entry = world.starting.resolve(f"{definition.name}@1", None, definition if by_document else None)
    answer = world.starting.start(Start(wish=wish), to_keep=entry)
    assert isinstance(answer, Created), answer


def is_kept(world: World, definition: Definition) -> bool:
    """Return True if the definition is found by its hash, its name and its version, so that all can start it."""
    references = (definition.sha256, definition.name, f"{definition.name}@1")
    try:
        definitions = [world.starting.definition(reference) for reference in references]
    except UnknownDefinition:
        return False
    return {stored.sha256 for stored in definitions} == {definition.sha256}


WAYS: dict[str, Callable[[World, Definition], object]] = {
    "start": started,
    "start of a reference": lambda world, definition: started(world, definition, by_document=False),
    "schedule of a document": scheduled,
    "schedule of a reference": lambda world, definition: scheduled(world, definition, by_document=False),
}


@rows("way", ["start", "schedule of a document"])
def test_a_process_that_kept_a_definition_writes_it_again_once_it_is_lost(world: World, way: str) -> None:
    definition = drawn()
    started(world, definition)
    lose(world, definition)
    WAYS[way](world, definition)
    assert is_kept(world, definition)


def test_a_schedule_whose_definition_was_lost_before_it_was_created_starts_its_runs(world: World) -> None:
    definition = drawn()
    started(world, definition)
    lose(world, definition)
    name = scheduled(world, definition)
    due = (world.schedules.read(name).next_at or 0) - 60 * SECOND
    set_member(world.ask, schedule_keys.schedule(name), "next_at", due)
    assert world.schedules.look(name) == 1
    assert [record.outcome for record in world.schedules.read(name).records] == ["started"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.LOSE_REPLY])
def test_a_definition_that_is_lost_between_two_attempts_is_written_in_the_second(
    real: World, worlds: Callable[..., World], proxy: Proxy, way: str, fault: Fault
) -> None:
    definition = drawn()
    real.starting.keep(definition)
    far = worlds(proxy.url)
    far.starting.keep(definition)
    proxy.plan(fault, meanwhile=lambda: lose(real, definition))
    WAYS[way](far, definition)
    assert proxy.is_spent
    assert is_kept(real, definition)


def test_a_definition_that_was_lost_is_listed_again(world: World) -> None:
    definition, listed = drawn(), list[str]()
    world.starting._definitions.after_keeping(lambda stored, _: listed.append(stored.sha256))
    for is_lost in (False, False, True):
        if is_lost:
            lose(world, definition)
        started(world, definition)
    assert listed == [definition.sha256] * 2
