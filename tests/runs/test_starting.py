"""Starting a run in one call: from a document or a kept definition, once however often it is asked for."""

import uuid
from typing import Any

import pytest

from dcf.core.access.quotas import Account, Quotas
from dcf.core.definitions.model import read_definition
from dcf.core.documents.answers import Created
from dcf.core.documents.model import RunStatus
from dcf.core.lifecycle.creation import Create
from dcf.core.lifecycle.starting import Start, check_tags, new_id, request_to_start
from dcf.errors import InvalidArgument, UnknownDefinition
from dcf.store.access.authors import authored_by
from dcf.store.connection.connections import Connections
from dcf.store.keys import table as keys
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.tables import rows
from tests.support.trouble import Killed, Killer
from tests.support.workflows.machines import Document, chain, workflow
from tests.support.world import World

LOCAL = {"A": "ann", "B": "ann"}


def asked(wish: Create, request_id: str | None = None, **more: Any) -> Start:
    return Start(wish=wish, request=None if request_id is None else request_to_start(wish, request_id), **more)


def started(world: World, wish: Create, request_id: str | None = None, **more: Any) -> Created:
    answer = world.starting.start(asked(wish, request_id, **more))
    assert isinstance(answer, Created), answer
    return answer


def versioned(version: str, *states: str) -> tuple[str, Document]:
    """A workflow of a name that no other test has, in a version."""
    document = chain(*states) | {"workflow_name": f"flow-{uuid.uuid4().hex}", "version": version}
    return document["workflow_name"], document


def test_a_started_run_has_told_the_agents_of_its_first_state(world: World) -> None:
    wish = world.wish(chain("A", "B"), agents=LOCAL, tags=("nightly",))
    answer = started(world, wish, reason="the night's orders")
    run = wish.workflow_id
    assert (answer.existed, answer.meta["status"], answer.meta["tags"]) == (False, "running", ["nightly"])
    assert answer.meta["started_at"] == answer.meta["created_at"]
    assert world.event_types(run) == ["RunCreated", "StateEntered", "RunStarted"]
    assert world.events(run)[0].data["reason"] == "the night's orders"
    world.notifications.deliver_all(run)
    assert [event["target_state"] for event in world.messages("ann") if event["workflow_id"] == run] == ["A"]
    world.do(run, "A", "ann")
    world.do(run, "B", "ann")
    assert world.run_status(run) is RunStatus.SUCCEEDED


def test_a_started_run_is_what_a_created_and_kicked_off_one_is(world: World) -> None:
    parts = {"Type": "Parallel", "Branches": [chain("P")["asl"], chain("Q")["asl"]], "Next": "A"}
    document = workflow({"Both": parts, "A": {"Type": "Task", "End": True}})
    first, two = (world.wish(document, planner="boss") for _ in range(2))
    world.plane.create(first)
    world.plane.kick_off(first.workflow_id, "initial")
    started(world, two)
    assert world.event_types(first.workflow_id) == world.event_types(two.workflow_id)
    assert world.statuses(first.workflow_id) == world.statuses(two.workflow_id)
    assert world.owed(first.workflow_id) == world.owed(two.workflow_id) == 2


def test_a_map_at_the_beginning_is_opened_and_announced(world: World) -> None:
    each = {"Type": "Map", "ItemsPath": "$", "ItemProcessor": chain("P")["asl"], "End": True}
    wish = world.wish(workflow({"Each": each}), run_input=[1, 2, 3])
    started(world, wish)
    assert world.owed(wish.workflow_id) == 3


def test_a_run_without_tasks_is_over_when_it_is_started(world: World) -> None:
    wish = world.wish(workflow({"Only": {"Type": "Succeed"}}))
    assert started(world, wish).meta["status"] == "succeeded"


def test_a_repetition_finds_the_run_and_announces_nothing(world: World) -> None:
    wish = world.wish(chain("A"), agents={"A": "ann"})
    first = started(world, wish, "once")
    events = world.event_types(wish.workflow_id)
    again = started(world, wish, "once")
    assert (first.existed, again.existed) == (False, True)
    assert world.event_types(wish.workflow_id) == events
    assert world.owed(wish.workflow_id) == 1


def test_a_request_id_stands_for_one_request(world: World) -> None:
    wish = world.wish(chain("A"), tags=("one",))
    started(world, wish, "once")
    other = world.starting.start(asked(world.wish(chain("A"), run=wish.workflow_id, tags=("two",)), "once"))
    assert isinstance(other, Refusal)
    assert other.code == "conflict"
    assert "request_id" in other.message


def test_another_input_under_the_id_of_a_run_is_refused(world: World) -> None:
    wish = world.wish(chain("A"), run_input=1)
    started(world, wish)
    other = world.starting.start(asked(world.wish(chain("A"), run=wish.workflow_id, run_input=2)))
    assert isinstance(other, Refusal)
    assert other.code == "conflict"


def test_a_run_that_was_only_created_is_kicked_off(world: World) -> None:
    wish = world.wish(chain("A"))
    world.plane.create(wish)
    answer = started(world, wish)
    assert answer.existed
    assert answer.meta["started_at"] is not None
    assert world.event_types(wish.workflow_id)[-1] == "RunStarted"
    assert world.owed(wish.workflow_id) == 1


def test_a_run_that_another_agent_plans_is_not_kicked_off(world: World) -> None:
    wish = world.wish(chain("A"), planner="boss")
    world.plane.create(wish)
    assert started(world, wish, bound_to="stranger").meta["started_at"] is None
    assert "RunStarted" not in world.event_types(wish.workflow_id)


def test_a_server_that_dies_before_the_commit_leaves_the_start_to_the_repetition(timely: World) -> None:
    wish = timely.wish(chain("A"))
    assert isinstance(timely.before_commit, Killer)
    with timely.before_commit.before_commit(0), pytest.raises(Killed):
        timely.starting.start(asked(wish, "once"))
    assert timely.keys_of(wish.workflow_id) == []
    assert not started(timely, wish, "once").existed
    assert timely.owed(wish.workflow_id) == 1


def test_a_server_that_dies_after_the_commit_leaves_a_map_that_the_clock_opens(timely: World) -> None:
    """The items of a Map are read between two transactions."""
    assert timely.items is not None
    timely.items.texts["b/things.json"] = "[1, 2]"
    reader = {
        "Resource": "arn:aws:states:::s3:getObject",
        "ReaderConfig": {"InputType": "JSON"},
        "Parameters": {"Bucket": "b", "Key": "things.json"},
    }
    processor = chain("P")["asl"] | {"ProcessorConfig": {"Mode": "DISTRIBUTED", "ExecutionType": "STANDARD"}}
    each = {"Type": "Map", "ItemReader": reader, "ItemProcessor": processor, "End": True}
    wish = timely.wish(workflow({"Each": each}), agents={"P": "ann"})
    assert isinstance(timely.before_commit, Killer)
    with timely.before_commit.before_commit(1), pytest.raises(Killed):
        timely.starting.start(asked(wish, "once"))
    assert started(timely, wish, "once").existed
    timely.make_due(wish.workflow_id, "Each")
    timely.notifications.pulse()
    assert [event["target_state"] for event in timely.messages("ann")] == ["Each/0/P", "Each/1/P"]


def test_starting_takes_two_round_trips_and_a_definition_one(counting: CountingPool, onlooker: Connections) -> None:
    world = World(connections=Connections(counting), onlooker=onlooker)
    name, document = versioned("1", "A")
    definition = read_definition(document)
    for trips in (4, 3):  # the text of a definition is sent only where it is not kept
        with counting.counted() as packets:
            world.starting.start(asked(world.wish(document)), to_keep=world.starting.resolve("", None, definition))
        assert len(packets) == trips
    with counting.counted() as packets:
        result = world.starting.definition(f"{name}@1")
        started(world, world.wish(dict(result.document)))
    assert len(packets) == 3
    world.close()


# Kept definitions


def test_a_definition_is_found_by_name_version_and_hash(real: World) -> None:
    name, first = versioned("1", "A")
    second = first | {"version": "2", "asl": chain("A", "B")["asl"]}
    for document in (first, second):
        assert real.starting.keep(read_definition(document)) is None
    definition, two = read_definition(first), read_definition(second)
    assert real.starting.definition(f"{name}@1").sha256 == definition.sha256
    assert real.starting.definition(f"{name}@2").sha256 == two.sha256
    assert real.starting.definition(name).sha256 == two.sha256
    assert real.starting.definition(definition.sha256).sha256 == definition.sha256


def test_keeping_an_earlier_version_again_does_not_make_it_the_newest(worlds: Any, real: World) -> None:
    name, first = versioned("1", "A")
    second = first | {"version": "2"}
    for document in (first, second):
        real.starting.keep(read_definition(document))
    worlds().starting.keep(read_definition(first))
    assert real.starting.definition(name).version == "2"


def test_a_document_without_a_version_is_the_newest_of_its_name(real: World) -> None:
    name, document = versioned("1", "A")
    del document["version"]
    changed = document | {"asl": chain("B")["asl"]}
    for item in (document, changed):
        assert real.starting.keep(read_definition(item)) is None
    assert real.starting.definition(name).sha256 == read_definition(changed).sha256


def test_a_version_stands_for_one_document(real: World) -> None:
    _, document = versioned("1", "A")
    changed = document | {"asl": chain("B")["asl"]}
    real.starting.keep(read_definition(document))
    refusal = real.starting.keep(read_definition(changed))
    assert refusal is not None
    assert refusal.code == "conflict"
    assert read_definition(document).sha256 in refusal.message
    assert read_definition(changed).sha256 in refusal.message


def test_the_id_of_a_run_is_no_part_of_a_kept_definition(real: World) -> None:
    name, document = versioned("1", "A")
    real.starting.keep(read_definition(document | {"workflow_id": "order-1"}))
    assert real.starting.definition(name).workflow_id is None


@rows("reference", ["nobody-made-this", "nobody-made-this@1", "0" * 64])
def test_what_is_not_kept_is_not_found(real: World, reference: str) -> None:
    with pytest.raises(UnknownDefinition, match="is kept"):
        real.starting.definition(reference)


def test_a_definition_expires_and_its_version_is_free_again(real: World) -> None:
    name, document = versioned("1", "A")
    real.starting.keep(read_definition(document))
    definition = keys.definition(read_definition(document).sha256)
    assert 0 < real.ask("TTL", definition) <= 90 * 24 * 3600
    real.ask("DEL", definition)
    with pytest.raises(UnknownDefinition):
        real.starting.definition(name)
    assert real.starting.keep(read_definition(document | {"asl": chain("B")["asl"]})) is None


def test_a_definition_counts_as_a_document_of_the_key_that_kept_it(real: World) -> None:
    account = Account(key_id=uuid.uuid4().hex[:12], quotas=Quotas(documents=1))
    _, document = versioned("1", "A")
    _, two = versioned("1", "A")
    with authored_by("key:test", account):
        assert real.starting.keep(read_definition(document)) is None
        refusal = real.starting.keep(read_definition(two))
    assert refusal is not None
    assert refusal.code == "quota_exceeded"
    real.ask("DEL", keys.definition(read_definition(document).sha256))
    real.ask("ZADD", keys.quota(account.key_id, "docs"), 1, keys.definition(read_definition(document).sha256))
    with authored_by("key:test", account):
        assert real.starting.keep(read_definition(two)) is None, "what expired is given back"


# Names


def test_an_id_is_readable_and_follows_from_its_seed() -> None:
    assert new_id("Order Processing!", "a") == new_id("Order Processing!", "a")
    assert new_id("Order Processing!", "a").startswith("order-processing-")
    assert new_id("Order Processing!", "a") != new_id("Order Processing!", "b")
    assert len(new_id("x" * 300, "a")) <= 64
    assert new_id("日本", "a").startswith("run-")


def test_tags_are_short_names_each_once() -> None:
    assert check_tags(["a", "b", "a"]) == ("a", "b")
    for wrong in (["a b"], [""], "a", ["x" * 65], [1]):
        with pytest.raises(InvalidArgument):
            check_tags(wrong)
    with pytest.raises(InvalidArgument):
        check_tags([f"t{number}" for number in range(21)])
