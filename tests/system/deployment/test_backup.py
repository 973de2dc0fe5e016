"""Copies of Redis that are taken while runs move, and dcf on a restored copy.

Where there are several servers their copies are of different moments: a run is in one of them, lists are in others.
"""

import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from dcf.core.documents.answers import Leased
from dcf.core.listing.runs import RunQuery
from dcf.runs.clock.sweep import Sweep
from dcf.store.cluster.url import open_cluster
from dcf.store.connection.connections import Connections, open_pool
from dcf.store.lists.checks import Listings
from dcf.store.lists.pages import Catalog
from dcf.values.refusal import Refusal
from tests.support.ahead import Ahead, let_pass
from tests.support.paths import ROOT
from tests.support.redis.cluster import Cluster, Node, onlooker_of, redis_cluster
from tests.support.redis.servers import free_port, redis_server
from tests.support.waiting import wait_until
from tests.support.workflows.machines import chain
from tests.support.world import World
from tests.system.deployment.conftest import Container, container_in
from tests.system.deployment.test_redis_service import url
from tests.system.processes.site import LONG

LEASE_S = 60
LOGGED = ("--appendfsync", "always")
BACKUP = ROOT / "deploy" / "redis" / "backup.sh"
STEPS = dict.fromkeys(("A", "B", "C"), ("one", "other"))

Dcf = Callable[..., World]


@pytest.fixture
def dcf() -> Iterator[Dcf]:
    """dcf on a Redis, by its URL; the test lets time pass."""
    made: list[World] = []

    def on(where: str, *runs: str) -> World:
        made.append(World(connections=Connections(open_pool(where)), clock=Ahead()))
        made[-1].runs.extend(runs)
        return made[-1]

    yield on
    for world in made:
        world.connections.close()


def begun(world: World) -> str:
    """A run whose first state has ended, and whose second state's agent was notified."""
    run = world.create(chain(*STEPS), agents=STEPS, planner="boss")
    world.plane.kick_off(run, "start")
    world.do(run, "A", "one")
    world.notifications.pulse()
    return run


def go_on(world: World, run: str, state: str = "B") -> int:
    """Let leases end and the clock tell agents; one does the rest. The epoch of its first lease."""
    heard = [event["event_id"] for event in events(world)]
    let_pass(world, 2 * LEASE_S)
    world.make_due(run, state)
    world.notifications.pulse()
    assert state in {event["target_state"] for event in events(world) if event["event_id"] not in heard}
    taken = world.try_acquire(run, state, "other")
    assert isinstance(taken, Leased)
    world.complete(run, state, taken.doc.lease.token, {"by": "other"})
    for following in list(STEPS)[list(STEPS).index(state) + 1 :]:
        world.do(run, following, "other")
    assert world.run_status(run) == "succeeded"
    return taken.doc.lease.epoch


def events(world: World) -> list[dict[str, Any]]:
    """The contents of the agents' inboxes."""
    return [event for agent in ("one", "other") for event in world.messages(agent)]


def sweep(world: World) -> int:
    """Repair the lists; return the number of wrong entries."""
    return Sweep(Listings(world.connections)).look(repair=True).total


# One server: its log is copied while it is written


def back_up(data: Path, target: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command, environment = ["sh", str(BACKUP), str(target)], os.environ | more
    return subprocess.run(command, cwd=data, env=environment, capture_output=True, text=True, timeout=LONG, check=False)


def restored(place: Path, copy: Path) -> Container:
    """The same service with the copy as its data."""
    container = container_in(place)
    shutil.copytree(copy / "appendonlydir", place / "appendonlydir")
    return container


@contextmanager
def moving(world: World) -> Iterator[list[str]]:
    """While the block lasts, one run after the other is created and done."""
    done: list[str] = []
    over = threading.Event()

    def move() -> None:
        while not over.is_set():
            run = world.create(chain(*STEPS))
            for state in STEPS:
                world.do(run, state)
            done.append(run)

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield done
    finally:
        over.set()
        thread.join()


def test_a_copy_taken_while_runs_move_is_whole_and_its_runs_go_on(
    container: Container, short_directory: Path, tmp_path: Path, dcf: Dcf
) -> None:
    with container.running():
        before = dcf(url(container))
        run = begun(before)
        heard = [event["event_id"] for event in events(before)]
        token = before.acquire(run, "B", "one", ttl_s=LEASE_S)
        with moving(dcf(url(container))) as done:
            wait_until(lambda: done)
            assert back_up(container.place, tmp_path / "copy").returncode == 0
            copied = len(done)
            wait_until(lambda: len(done) > copied)
        before.complete(run, "B", token, {"by": "one"})
        later = before.acquire(run, "C", "one")
        epoch = before.doc(run, "C").lease.epoch
    copy = restored(short_directory / "restored", tmp_path / "copy")
    with copy.running():
        after = dcf(url(copy), run)
        assert after.statuses(run) == {"A": "succeeded", "B": "running", "C": "pending"}, "as it was then"
        assert {after.run_status(item) for item in done[:1]} == {"succeeded"}
        assert sweep(after) == 0, "the lists are of the same moment"
        assert [event["event_id"] for event in events(after)] == heard, "agents hear of it again, and can tell"
        assert isinstance(after.try_complete(run, "C", later), Refusal), "what was done since counts no more"
        go_on(after, run)
        assert after.doc(run, "C").lease.epoch > epoch, "epochs grow over what is forgotten"
        late = after.try_complete(run, "B", token, {"by": "one"})
        assert isinstance(late, Refusal)


def test_a_copy_is_not_written_over_another(tmp_path: Path) -> None:
    (tmp_path / "copy" / "appendonlydir").mkdir(parents=True)
    refused = back_up(tmp_path, tmp_path / "copy")
    assert (refused.returncode, "a copy already" in refused.stderr) == (1, True)


def test_a_copy_is_made_again_if_the_log_was_rewritten_meanwhile(tmp_path: Path) -> None:
    files, programs = tmp_path / "appendonlydir", tmp_path / "bin"
    manifest = files / "appendonly.aof.manifest"
    for folder in (files, programs):
        folder.mkdir()
    manifest.write_text("the first")
    rewriting = f'cp "$@"; [ -e {tmp_path}/once ] || {{ touch {tmp_path}/once; echo the second >{manifest}; }}'
    (programs / "cp").write_text(f"#!/bin/sh\nPATH={os.defpath}; {rewriting}\n")
    (programs / "cp").chmod(0o755)
    assert back_up(tmp_path, tmp_path / "copy", PATH=f"{programs}:{os.defpath}").returncode == 0
    assert (tmp_path / "copy" / "appendonlydir" / manifest.name).read_text() == "the second\n"


# A snapshot in place of the log


def durable(port: int) -> bool:
    with redis.Redis(port=port, protocol=2) as client:
        info = client.info("persistence")
        return bool(info["aof_enabled"] and not info["aof_rewrite_in_progress"] and not info["loading"])


def test_a_snapshot_is_read_with_the_log_off_which_is_then_turned_on(tmp_path: Path, dcf: Dcf) -> None:
    (tmp_path / "source").mkdir()
    (tmp_path / "restored").mkdir()
    with redis_server(tmp_path / "source", "--appendonly", "yes") as port, redis.Redis(port=port) as client:
        run = begun(dcf(f"redis://127.0.0.1:{port}"))
        client.bgsave()
        wait_until(lambda: not client.info("persistence")["rdb_bgsave_in_progress"])
    shutil.copy(tmp_path / "source" / "dump.rdb", tmp_path / "restored")
    with redis_server(tmp_path / "restored", "--appendonly", "no") as port, redis.Redis(port=port) as client:
        client.config_set("appendonly", "yes")
        wait_until(lambda: durable(port))
    with redis_server(tmp_path / "restored", "--appendonly", "yes") as port:
        wait_until(lambda: durable(port))
        go_on(dcf(f"redis://127.0.0.1:{port}", run), run)


# Several servers: copies of different moments


def test_a_cluster_is_restored_from_copies_of_its_nodes_each_run_whole(tmp_path: Path) -> None:
    with redis_cluster(tmp_path, *LOGGED) as old:
        before = on_cluster(old)
        runs = [begun(before) for _ in range(9)]
        at = {run: old.nodes.index(old.owner(slot_of(run))) for run in runs}
        for number, node in enumerate(old.nodes[:3]):
            assert back_up(node.directory, tmp_path / f"copy-{number}").returncode == 0
            for run in runs if number < 2 else []:
                before.do(run, "BC"[number], "one")
        slots = served(old.nodes[0])
        before.connections.close()
    with restored_nodes(old, tmp_path) as new:
        assert served(new.nodes[2]) == slots
        after = on_cluster(new, *runs)
        sweep(after)
        assert sweep(after) == 0
        assert {row.workflow_id for row in Catalog(after.connections).page(RunQuery(limit=20)).rows} == set(runs)
        for run, number in at.items():
            result = list(after.statuses(run).values())
            assert result == ["succeeded"] * (number + 1) + ["pending"] * (2 - number), (
                "as its node was when it was copied"
            )
            if number < 2:
                go_on(after, run, "BC"[number])
        after.connections.close()


def on_cluster(cluster: Cluster, *runs: str) -> World:
    """dcf on a cluster; the test lets time pass."""
    return World(connections=open_cluster(cluster.url), onlooker=onlooker_of(cluster), clock=Ahead(), runs=[*runs])


@contextmanager
def restored_nodes(old: Cluster, copies: Path) -> Iterator[Cluster]:
    """Primaries with copies of the old ones as their data, at other addresses."""
    nodes = [
        Node(free_port(), copies / f"copy-{number}", node.password, node.options)
        for number, node in enumerate(old.nodes[:3])
    ]
    new = Cluster(nodes, old.passwords)
    try:
        for node in nodes:
            node.start()
        for node in nodes[1:]:
            node.ask("CLUSTER", "MEET", "127.0.0.1", nodes[0].port)
        ports = {node.port for node in nodes}
        wait_until(lambda: new.is_whole() and all(serving(node) == ports for node in nodes), 30)
        yield new
    finally:
        for node in nodes:
            node.kill()


def slot_of(run: str) -> int:
    return key_slot(run.encode())


def served(node: Node) -> list[list[int]]:
    """The ranges of slots of the primaries."""
    return [result[:2] for result in node.ask("CLUSTER", "SLOTS")]


def serving(node: Node) -> set[int]:
    """The ports at which a node takes the slots to be served."""
    return {result[2][1] for result in node.ask("CLUSTER", "SLOTS")}


def contents(client: redis.Redis, *, lists: bool) -> dict[bytes, bytes]:
    """The lists across runs, or the runs; as what a copy has of each key."""
    keys = [key for key in client.scan_iter(count=1000) if key.startswith(b"cp:idx:") is lists]
    return {key: client.dump(key) for key in keys}  # type: ignore[misc]


@pytest.mark.parametrize("newer", ["lists", "runs"])
def test_runs_and_lists_of_different_moments_are_made_to_fit_by_the_sweep(tmp_path: Path, dcf: Dcf, newer: str) -> None:
    with redis_server(tmp_path) as port, redis.Redis(port=port) as client:
        source = dcf(f"redis://127.0.0.1:{port}")
        going, ending, leaving = (begun(source) for _ in range(3))
        first = contents(client, lists=newer == "runs")
        for state in ("B", "C"):
            source.do(ending, state, "one")
        source.lifecycle.cancel(leaving)
        coming = begun(source)
        second = contents(client, lists=newer == "lists")
    with redis_server(tmp_path) as port, redis.Redis(port=port) as client:
        for key, dumped in {**first, **second}.items():
            client.restore(key, 0, dumped)
        after = dcf(f"redis://127.0.0.1:{port}", going, ending, leaving, coming)
        assert sweep(after) > 0
        assert sweep(after) == 0
        there = {going, ending, leaving} | ({coming} if newer == "runs" else set())
        moving = there - {ending, leaving} if newer == "runs" else there
        assert {row.workflow_id for row in Catalog(after.connections).page(RunQuery(limit=10)).rows} == there
        wait_until(lambda: after.notifications.pulse() == 0 and set(after.index.live()) >= moving)
        for run in moving:
            go_on(after, run)
