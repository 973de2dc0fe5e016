"""`dcf watch`: a person on a terminal or a program follows a run until it has ended."""

import json

from dcf.core.completing.updates import Update
from dcf.core.documents.model import Status
from dcf.core.leasing.lease import Acquire
from tests.cli.conftest import Dcf, Seed
from tests.support.world import World


def take(world: World, run_id: str) -> None:
    world.plane.acquire(run_id, Acquire(state="Only", owner="agent-1", token="t", ttl_s=60))


def end(world: World, run_id: str, status: Status = Status.SUCCEEDED) -> None:
    made = Update(state="Only", token="t", status=status, has_output=True, output={"n": 1})
    failed = Update(state="Only", token="t", status=status, error="NoStock")
    world.plane.update(run_id, made if status is Status.SUCCEEDED else failed)


def test_the_exit_code_is_that_of_the_outcome(dcf: Dcf, seed: Seed, world: World) -> None:
    assert dcf("watch", seed()).exit_code == 0
    run_id = seed(agent="agent-1")
    take(world, run_id)
    end(world, run_id, Status.FAILED)
    over = dcf("watch", run_id)
    assert over.exit_code == 1
    assert "run failed, 1 of 1 state" in over.stdout
    assert "NoStock" in over.stdout
    assert dcf("watch", "nobody").exit_code == 3


def test_a_program_gets_one_object_at_the_end_and_the_lines_beside_it(dcf: Dcf, seed: Seed) -> None:
    run_id = seed({"a": 1})
    watched = dcf("watch", run_id, "--json")
    shown = json.loads(dcf("show", run_id, "--json").stdout)
    assert json.loads(watched.stdout) == {name: value for name, value in shown.items() if name != "findings"}
    assert "dcf: run succeeded, 1 of 1 state" in watched.stderr
