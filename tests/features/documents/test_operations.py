"""Changes by hand on a real server: nothing is lost between threads, nothing is applied twice, whatever breaks."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from dcf.core.documents.answers import Leased
from dcf.errors import Forbidden, StoreUnavailable
from dcf.features.documents.operations import Changed, JsonDocuments, Operation, Wish
from dcf.features.documents.rules import Hand
from dcf.features.documents.storage import Edits
from dcf.store.keys import companions as companion_keys
from dcf.store.keys import table as keys
from dcf.store.keys.documents import RunDocument, document_of
from dcf.values import json_edits
from dcf.values.json_paths import parse_path
from dcf.values.refusal import Refusal
from tests.support.racing import race
from tests.support.redis.proxy import Fault, Proxy
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World

OPERATOR = Hand(who="operator", is_operator=True)
PREFIXES = ("cp:wf:", "dp:wf:", "doc:")


def documents(world: World) -> JsonDocuments:
    return JsonDocuments(Edits(world.connections), world.plane, PREFIXES, 100_000)


def wish(key: str, request_id: str | None = None, hand: Hand = OPERATOR, digest: str = "d") -> Wish:
    return Wish(key=key, operation="json_set", path=(), hand=hand, digest=digest, request_id=request_id)


def add(path: str, value: Any) -> Operation:
    return partial(json_edits.append, steps=parse_path(path), value=value)


def plus(path: str, delta: int = 1) -> Operation:
    return partial(json_edits.increment, steps=parse_path(path), delta=delta)


def put(path: str, value: Any) -> Operation:
    return partial(json_edits.set_value, steps=parse_path(path), value=value)


def changed(changed: Changed | Refusal) -> Changed:
    assert isinstance(changed, Changed), changed
    return changed


@pytest.fixture
def key(real: World) -> Iterator[str]:
    """A document that is gone after the test."""
    name = f"doc:t-{secrets.token_hex(6)}"
    yield name
    real.ask("DEL", name)


def test_eight_threads_lose_no_change_of_a_document(real: World, key: str) -> None:
    docs = documents(real)
    docs.create(wish(key), {}, overwrite=False)

    def work(number: int) -> list[int]:
        seen = []
        for turn in range(10):
            seen.append(changed(docs.change(wish(key), plus("a.n"))).value)
            changed(docs.change(wish(key), add("l", [number, turn])))
            changed(docs.change(wish(key), put(f"own.t{number}", turn)))
        return seen

    seen = race(8, work)
    result: Any = docs.read(key)
    assert result["a"] == {"n": 80}
    assert sorted(value for item in seen for value in item) == list(range(1, 81)), "no two were told the same number"
    assert sorted(result["l"]) == [[number, turn] for number in range(8) for turn in range(10)]
    assert result["own"] == {f"t{number}": 9 for number in range(8)}


def test_of_eight_creators_one_creates(real: World, key: str) -> None:
    docs = documents(real)
    results = race(8, lambda number: docs.create(wish(key), {"by": number}, overwrite=False))
    (first,) = [number for number, result in enumerate(results) if isinstance(result, Changed)]
    assert {result.code for result in results if isinstance(result, Refusal)} == {"already_exists"}
    assert docs.read(key) == {"by": first}


def test_a_value_that_eight_threads_move_is_always_in_one_place(real: World, key: str) -> None:
    docs = documents(real)
    places = ["p0", "p1.x", "p2[0]"]
    docs.create(wish(key), {"p0": "the one", "p1": {}, "p2": [None]}, overwrite=False)

    def work(number: int) -> None:
        for turn in range(10):
            source, target = places[(number + turn) % 2], places[(number + turn + 1) % 2]
            operate = partial(json_edits.move, source=parse_path(source), target=parse_path(target), overwrite=True)
            docs.change(wish(key), operate)
            assert str(docs.read(key)).count("the one") == 1

    race(8, work)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", list(Fault))
@pytest.mark.parametrize("request_id", [None, "request-1"])
def test_a_change_is_applied_once_through_any_fault(
    real: World, worlds: Callable[..., World], proxy: Proxy, key: str, fault: Fault, request_id: str | None
) -> None:
    documents(real).create(wish(key), {"n": 0, "l": [], "from": "x"}, overwrite=False)
    through = documents(worlds(proxy.url))
    move: Operation = partial(json_edits.move, source=("from",), target=("to",), overwrite=True)
    operations: list[Operation] = [plus("n"), add("l", 1), move]
    for number, operate in enumerate(operations):
        proxy.plan(fault)
        identity = None if request_id is None else f"{request_id}-{number}"
        changed(through.change(wish(key, identity), operate))
        assert proxy.is_spent
    assert documents(real).read(key) == {"n": 1, "l": [1], "to": "x"}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("fault", list(Fault))
def test_a_creator_is_not_told_that_its_own_document_was_there_before(
    worlds: Callable[..., World], proxy: Proxy, key: str, fault: Fault
) -> None:
    proxy.plan(fault)
    assert changed(documents(worlds(proxy.url)).create(wish(key), {"mine": True}, overwrite=False)).was_changed


def test_a_lost_reply_is_answered_with_the_value_of_that_time(
    real: World, worlds: Callable[..., World], proxy: Proxy, key: str
) -> None:
    """Another caller counts on before the first looks again: each gets its own number."""
    docs = documents(real)
    docs.create(wish(key), {"n": 0}, overwrite=False)
    proxy.plan(Fault.LOSE_REPLY, meanwhile=None)
    first = changed(documents(worlds(proxy.url)).change(wish(key, "mine"), plus("n")))
    second = changed(docs.change(wish(key), plus("n")))
    again = changed(docs.change(wish(key, "mine"), plus("n")))
    assert (first.value, second.value, again.value, again.repeated) == (1, 2, 1, True)


@pytest.mark.usefixtures("impatient")
def test_a_change_of_a_run_and_its_event_are_one(real: World, worlds: Callable[..., World], proxy: Proxy) -> None:
    run = real.create(chain("A"))
    through = documents(worlds(proxy.url))
    for fault in Fault:
        proxy.plan(fault)
        changed(through.change(wish(real.store.keys(run).meta), add("notes", fault.name)))
    assert real.meta(run)["notes"] == [fault.name for fault in Fault]
    assert real.event_types(run).count("DocumentEdited") == len(Fault)


def test_of_a_holder_and_a_hand_one_is_first(real: World) -> None:
    """Input is corrected while workers take the state: each worker has the stored input."""
    for number in range(20):
        run = real.create(chain("A"), run_input={"n": 0})
        taken, corrected = race(2, partial(_take_or_correct, real, run, number + 1))
        assert isinstance(taken, Leased)
        stored = real.given(run, "A")
        assert taken.given == stored
        if isinstance(corrected, Refusal):
            assert corrected.code == "lease_held"
            assert stored == {"n": 0}


def _take_or_correct(world: World, run: str, number: int, person: int) -> object:
    if person == 0:
        return world.try_acquire(run, "A")
    return documents(world).change(wish(world.store.keys(run).input("A")), put("n", number))


def test_hands_and_workers_do_not_lose_each_other_s_changes(real: World) -> None:
    docs = documents(real)
    run = real.create(chain("A", "B", "C"))
    meta = real.store.keys(run).meta

    def work(number: int) -> None:
        if number == 0:
            for state in "ABC":
                real.do(run, state)
            return
        for turn in range(5):
            change = docs.change(wish(meta), put(f"own.t{number}-{turn}", turn))
            assert isinstance(change, Changed) or change.code == "terminal"

    race(4, work)
    assert real.run_status(run).value == "succeeded"
    assert len(real.meta(run).get("own", {})) == real.event_types(run).count("DocumentEdited")


def test_a_hand_without_the_right_is_refused_before_anything_is_written(real: World) -> None:
    run = real.create(chain("A"), planner="p")
    stranger = Hand(who="x", is_operator=False, agent_id="x")
    with pytest.raises(Forbidden):
        documents(real).change(wish(real.store.keys(run).meta, hand=stranger), put("agents", {"A": "x"}))
    assert real.event_types(run).count("DocumentEdited") == 0


def test_receipts_are_forgotten(real: World, key: str) -> None:
    docs = documents(real)
    docs.create(wish(key), {}, overwrite=False)
    docs.change(wish(key, "kept-for-a-day"), put("a", 1))
    lives = [real.ask("TTL", name) for name in real.ask("KEYS", f"cp:idx:edit:{{{key}}}:*")]
    assert len(lives) == 2
    assert all(0 < life <= 24 * 3600 for life in lives)


def test_a_store_that_is_gone_is_named(real: World, worlds: Callable[..., World], proxy: Proxy, key: str) -> None:
    docs = documents(worlds(proxy.url))
    proxy.stop_listening()
    with pytest.raises(StoreUnavailable):
        docs.read(key)


@rows("state", ["A", "Each/17/Score", "co:lon", "a%b", "{x}"])
def test_every_document_is_recognised_by_its_key_and_no_other_key_is(state: str) -> None:
    run = keys.RunKeys("run-1")
    for kind, make in (("state", run.state), ("input", run.input), ("output", run.output), ("items", run.items)):
        document = document_of(make(state))
        assert document == RunDocument(run=run, kind=kind, state=state)
        assert companion_keys.edit(make(state), "r").startswith("cp:idx:edit:{")
    for kind, key in (("meta", run.meta), ("definition", run.definition), ("audit", run.audit)):
        assert document_of(key) == RunDocument(run=run, kind=kind)
        assert document_of(f"{key}:{state}") is None
    for other in (
        run.of("state"),
        run.join(state),
        run.events,
        run.outbox,
        run.timers,
        run.claims,
        run.barrier,
        f"x{run.meta}",
    ):
        assert document_of(other) is None


def test_a_receipt_lies_in_the_slot_of_its_document() -> None:
    from redis.crc import key_slot  # noqa: PLC0415

    for key in ("doc:a", "doc:{tag}:a", keys.RunKeys("r").meta, keys.RunKeys("r").state("A")):
        assert key_slot(companion_keys.edit(key, "x").encode()) == key_slot(key.encode())
