"""A primary that was paused, replaced and continues has old data: no caller is refused by its word.

The process has a connection to the old primary left. New connections lead to the new one, as Sentinel
would. With `wait_replicas` a refusal is confirmed like a write, and the old primary has lost its replica.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dcf.core.documents.answers import Created, Leased, Released, Updated
from dcf.core.leasing.lease import Acquire
from dcf.errors import NotFound, UnknownRun
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits, Found
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.documents import Documents, Verdict
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore
from dcf.values.json_paths import MISSING
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from tests.support.redis.counting import CountingPool
from tests.support.redis.replaced import Replaced, replaceable
from tests.support.tables import rows
from tests.support.workflows.machines import chain
from tests.support.world import World, new_token

PATIENCE_MS = 4000
"""For a replica that confirms, on a machine that may be busy for a while."""


@pytest.fixture
def replaced(short_directory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Replaced]:
    monkeypatch.setattr("dcf.store.transaction.attempts._WAIT_MS", 100)
    with replaceable(short_directory / new_token()[-8:], tmp_path) as pair:
        yield pair


Prepare = Callable[[World, str, str], object]
"""The calls of a run to the new primary, by a token, while the old one was frozen."""


def taken(world: World, run: str, token: str) -> None:
    world.acquire(run, "A", token=token)


def completed(world: World, run: str, token: str) -> None:
    taken(world, run, token)
    world.complete(run, "A", token, {"x": 1})


def nothing(world: World, run: str, token: str) -> None:
    pass


ASKED: dict[str, tuple[Prepare, Callable[[World, str, str], object], type]] = {
    "a repeated completion": (completed, lambda world, run, token: world.complete(run, "A", token, {"x": 1}), Updated),
    "a renewal": (taken, lambda world, run, token: world.renew(run, "A", token), Leased),
    "a release": (taken, lambda world, run, token: world.release(run, "A", token), Released),
    "taking what became ready": (completed, lambda world, run, _: world.try_acquire(run, "B"), Leased),
    "claiming what became ready": (completed, lambda world, run, _: world.claim(run, "b"), Leased),
}


@rows("asked", ASKED)
def test_nobody_is_refused_by_the_word_of_a_primary_whose_place_another_took(replaced: Replaced, asked: str) -> None:
    prepare, ask, expected = ASKED[asked]
    token = new_token()
    run = replaced.waiting.create(chain("A", "B"), agents={"A": "w", "B": ("w", "b")})
    replaced.pause()
    prepare(replaced.new, run, token)
    replaced.go_on()
    answer = ask(replaced.waiting, run, token)
    assert isinstance(answer, expected), answer


@rows("ask", [lambda world, run: world.plane.run(run), lambda world, run: world.acquire(run, "A")])
def test_a_run_that_only_the_new_primary_knows_is_not_unknown(
    replaced: Replaced, ask: Callable[[World, str], object]
) -> None:
    replaced.waiting.create(chain("A"))
    replaced.pause()
    run = replaced.new.create(chain("A"))
    replaced.go_on()
    assert ask(replaced.waiting, run)


def test_a_run_that_the_new_primary_has_with_another_input_is_not_created_twice(replaced: Replaced) -> None:
    replaced.waiting.create(chain("A"))
    replaced.pause()
    wish = replaced.new.wish(chain("A"), run_input={"mine": False})
    replaced.new.plane.create(wish)
    replaced.go_on()
    other = replaced.new.wish(chain("A"), wish.workflow_id, run_input={"mine": True})
    assert isinstance(replaced.waiting.plane.create(other), Refusal)
    again = replaced.waiting.plane.create(wish)
    assert isinstance(again, Created)
    assert again.existed


@rows("says", ["an answer", "an error"])
def test_a_document_outside_runs_is_judged_by_what_the_new_primary_has(replaced: Replaced, says: str) -> None:
    def missing() -> str:
        if says == "an error":
            raise NotFound("There is no such document.")
        return "missing"

    def judge(document: Json, _: int) -> Verdict[str]:
        return Verdict(answer=missing() if document is None else "there")

    def look(result: Found) -> EditOutcome[str]:
        return EditOutcome(answer=missing() if result.document is MISSING else "there")

    readers = [Connections(open_pool(replaced.proxy.url)) for _ in range(2)]
    for reader in readers:
        reader.send(("TIME",))
    replaced.pause()
    write = EditedDocument(document={"n": 1}, receipt={}, life_s=60)
    Edits(replaced.new.connections).transact("doc:one", "r1", lambda _: EditOutcome(answer=None, written=write))
    replaced.go_on()
    assert Documents(readers[0], wait_replicas=1).transact("doc:one", judge) == "there"
    assert Edits(readers[1], wait_replicas=1).transact("doc:one", "r2", look) == "there"
    for reader in readers:
        reader.close()


# What it costs, and what it leaves behind


@rows(("replicas", "ending"), [(0, []), (1, [["UNWATCH", "SET", "WAIT"]])])
def test_a_refusal_costs_a_second_round_trip_only_where_replicas_confirm_it(
    replaced: Replaced, replicas: int, ending: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.transaction.attempts._WAIT_MS", PATIENCE_MS)
    counting = CountingPool(open_pool(replaced.proxy.url))
    connections = Connections(counting)
    plane = ControlPlane(RunStore(connections, wait_replicas=replicas), RunIndex(connections))
    run = replaced.old.create(chain("A", "B"))
    plane.run(run)
    with counting.counted() as packets:
        answer = plane.acquire(run, Acquire(state="B", owner="w", token=new_token(), ttl_s=60))
    assert isinstance(answer, Refusal)
    assert packets[1:] == ending
    connections.close()


def test_waiting_for_replicas_leaves_nothing_behind_for_ever(replaced: Replaced) -> None:
    """Neither of a run that expires and is read again, nor of a run that never was."""
    run = replaced.waiting.create(chain("A"), retention_s=100)
    replaced.waiting.finalize(run)
    replaced.waiting.notifications.pulse()
    replaced.waiting.notifications.pulse()
    replaced.waiting.finalize(run)
    replaced.waiting.try_acquire(run, "A")
    lives = {key: replaced.old.ask("TTL", key) for key in replaced.old.keys_of(run)}
    assert all(life > 0 for life in lives.values()), lives
    with pytest.raises(UnknownRun):
        replaced.waiting.try_acquire("never", "A")
    assert all(replaced.old.ask("TTL", key) > 0 for key in replaced.old.keys_of("never"))
