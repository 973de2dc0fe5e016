"""With `wait_replicas` a write is answered only when enough replicas have it: a failover cannot take it back."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from dcf.core.documents.answers import Leased
from dcf.core.leasing.lease import Acquire
from dcf.errors import StoreUnavailable, UnknownOutcome
from dcf.features.documents.storage import EditedDocument, EditOutcome, Edits, Found
from dcf.runs.control_plane import ControlPlane
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.connection.documents import Documents, Verdict
from dcf.store.connection.faults import PassingError, reply_error
from dcf.store.events.inbox import Inbox
from dcf.store.lists.index import RunIndex
from dcf.store.transaction.runs import RunStore
from dcf.values.json_text import Json
from dcf.values.refusal import Refusal
from tests.support.agents.owed import owing
from tests.support.redis.documents import asking, read_document
from tests.support.redis.servers import redis_server
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World


def once_written(document: Json, _: int) -> Verdict[str]:
    return Verdict(answer="written", changed=document is None, write={"done": True})


def an_edit(result: Found) -> EditOutcome[str]:
    again = result.receipt is not None
    return EditOutcome(
        answer="again" if again else "new",
        written=None if again else EditedDocument(document={"done": True}, receipt={}, life_s=60),
    )


@pytest.fixture
def replicated(tmp_path: Path) -> Iterator[tuple[World, ControlPlane, Connections]]:
    """A primary with one replica, a plane that waits for it, and a client of the replica."""
    with ExitStack() as stack:
        primary = stack.enter_context(redis_server(tmp_path))
        replica = stack.enter_context(redis_server(tmp_path, "--replicaof", "127.0.0.1", str(primary)))
        follower = Connections(open_pool(f"redis://127.0.0.1:{replica}"))
        stack.callback(follower.close)
        wait_until(lambda: is_linked(follower))
        connections = Connections(open_pool(f"redis://127.0.0.1:{primary}"))
        stack.callback(connections.close)
        waiting = RunStore(connections, wait_replicas=1)
        yield World(connections=connections), ControlPlane(waiting, RunIndex(connections)), follower


def is_linked(follower: Connections) -> bool:
    (info,) = follower.send(("INFO", "replication"))
    return b"master_link_status:up" in info


def acquire(plane: ControlPlane, run: str, token: str) -> Leased | Refusal:
    return plane.acquire(run, Acquire(state="S0", owner="w", token=token, ttl_s=60))


def hasty(world: World) -> ControlPlane:
    """A server that does not wait for long."""
    return ControlPlane(RunStore(world.connections, deadline_s=0.5, wait_replicas=1), world.index)


def test_the_mark_of_a_claim_is_on_no_replica(
    replicated: tuple[World, ControlPlane, Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dcf.store.transaction.open_states._MARK_MS", 60_000)
    world, plane, follower = replicated
    run = world.create(chain("S0"))

    answer = plane.claim(run, Acquire(state="", owner="w", token="t1", ttl_s=60))

    assert isinstance(answer, Leased)
    mark = world.store.keys(run).taking("S0")
    assert world.ask("EXISTS", mark), "the commit is on the replica, and the mark was made before it"
    assert follower.send(("EXISTS", mark)) == [0]


def test_an_answered_write_is_on_the_replica(replicated: tuple[World, ControlPlane, Connections]) -> None:
    world, plane, follower = replicated
    run = world.create(chain("S0"))

    granted = acquire(plane, run, "t1")

    assert isinstance(granted, Leased)
    copy = read_document(asking(follower), world.store.keys(run).state("S0"))
    assert copy["lease"]["token"] == "t1"


def test_a_write_that_no_replica_confirms_is_unknown_and_may_be_repeated(
    replicated: tuple[World, ControlPlane, Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, plane, follower = replicated
    monkeypatch.setattr("dcf.store.transaction.attempts._WAIT_MS", 50)
    run = world.create(chain("S0"))
    follower.send(("REPLICAOF", "NO", "ONE"))

    with pytest.raises(UnknownOutcome):
        acquire(hasty(world), run, "t1")

    follower.send(("REPLICAOF", "127.0.0.1", world.ask("CONFIG", "GET", "port")[1]))
    wait_until(lambda: is_linked(follower))
    repeated = acquire(plane, run, "t1")
    assert isinstance(repeated, Leased)
    assert repeated.outcome == "lease_already_held"


def test_a_primary_that_becomes_a_replica_during_a_wait_leaves_the_write_unknown(
    replicated: tuple[World, ControlPlane, Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Redis ends the WAIT with an error of its own, UNBLOCKED, which says nothing about the write before it."""
    world, _, follower = replicated
    monkeypatch.setattr("dcf.store.transaction.attempts._WAIT_MS", 60_000)
    run = world.create(chain("S0"))
    follower.send(("REPLICAOF", "NO", "ONE"))
    (port,) = follower.send(("CONFIG", "GET", "port"))
    connections = Connections(open_pool(f"redis://127.0.0.1:{world.ask('CONFIG', 'GET', 'port')[1].decode()}"))
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(acquire, hasty(world), run, "t1")
        wait_until(lambda: b"blocked_clients:1" in connections.send(("INFO", "clients"))[0])
        connections.send(("REPLICAOF", "127.0.0.1", port[1]))
        with pytest.raises(UnknownOutcome):
            waiting.result()
    connections.close()


@rows("kind", ["UNBLOCKED", "READONLY"])
def test_waiting_for_an_event_at_a_primary_that_becomes_a_replica_may_be_repeated(kind: str) -> None:
    passing_error = reply_error(redis.ResponseError(f"{kind} instance state changed"))
    assert isinstance(passing_error, PassingError)


def test_a_server_that_became_a_replica_between_a_write_and_its_confirmation_passes(
    replicated: tuple[World, ControlPlane, Connections],
) -> None:
    *_, follower = replicated
    with pytest.raises(StoreUnavailable, match="is a replica"):
        follower.send(("WAIT", 1, 1))


def test_a_document_outside_runs_is_on_the_replica_as_well(
    replicated: tuple[World, ControlPlane, Connections],
) -> None:
    world, _, follower = replicated
    documents, edits = Documents(world.connections, wait_replicas=1), Edits(world.connections, wait_replicas=1)
    assert documents.transact("cp:idx:agent:one", once_written) == "written"
    assert edits.transact("doc:one", "r1", an_edit) == "new"
    for key in ("cp:idx:agent:one", "doc:one"):
        assert read_document(asking(follower), key) == {"done": True}


def test_a_document_without_a_replicas_confirmation_is_unknown_and_can_be_repeated(
    replicated: tuple[World, ControlPlane, Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    world, _, follower = replicated
    monkeypatch.setattr("dcf.store.transaction.attempts._WAIT_MS", 50)
    edits = Edits(world.connections, wait_replicas=1, deadline_s=0.5)
    follower.send(("REPLICAOF", "NO", "ONE"))

    with pytest.raises(UnknownOutcome):
        edits.transact("doc:one", "r1", an_edit)

    follower.send(("REPLICAOF", "127.0.0.1", world.ask("CONFIG", "GET", "port")[1]))
    wait_until(lambda: is_linked(follower))
    assert edits.transact("doc:one", "r1", an_edit) == "again"


def test_a_full_redis_confirms_nothing(replicated: tuple[World, ControlPlane, Connections]) -> None:
    """Reads next to the write are refused then, and a connection without a write waits for no replica."""
    world, _, _ = replicated
    assert Edits(world.connections, wait_replicas=1).transact("doc:one", "r1", an_edit) == "new"
    world.ask("CONFIG", "SET", "maxmemory", "1")
    with pytest.raises(UnknownOutcome):
        Edits(world.connections, wait_replicas=1, deadline_s=0.2).transact("doc:one", "r1", an_edit)


def test_an_event_that_no_replica_confirms_is_owed_until_one_does(
    replicated: tuple[World, ControlPlane, Connections], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a failover takes the event from the inbox, and no entry owes it."""
    world, _, follower = replicated
    monkeypatch.setattr("dcf.store.transaction.attempts._WAIT_MS", 50)
    monkeypatch.setattr("dcf.store.events.inbox._DEADLINE_S", 0.2)
    monkeypatch.setattr("dcf.runs.notifying.notifications.STALLED_S", 0)
    waiting = World(connections=world.connections, wait_replicas=1)
    run = owing(world)
    follower.send(("REPLICAOF", "NO", "ONE"))

    with pytest.raises(UnknownOutcome):
        waiting.notifications.deliver_all(run)
    assert len(world.outbox.left(run)) == 1

    follower.send(("REPLICAOF", "127.0.0.1", world.ask("CONFIG", "GET", "port")[1]))
    wait_until(lambda: is_linked(follower))
    waiting.notifications.deliver_all(run)
    assert len(Inbox(follower).waiting("b", 5)) == 1
