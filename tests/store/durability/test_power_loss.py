"""A power loss leaves a beginning of what Redis logged: whatever is in it is on its lists."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import hiredis

from dcf.core.access.model import Scope
from dcf.core.listing.checks import ListKind
from dcf.runs.clock.sweep import Sweep
from dcf.store.access.api_keys import AccessKeys
from dcf.store.lists.agents import AgentRecord
from dcf.store.lists.checks import Listings
from dcf.workforce.crew.assigning import assign
from tests.support.redis.alone import world_alone
from tests.support.workflows.machines import chain

LOGGED = ("--appendonly", "yes", "--appendfsync", "always")


def test_however_much_of_the_log_is_left_nothing_in_it_is_missing_on_a_list(tmp_path: Path) -> None:
    home = tmp_path / "whole"
    home.mkdir()
    with world_alone(home, *LOGGED) as world:
        run = world.create(chain("A"), agents={"A": "a"})
        world.plane.kick_off(run, "go")
        assign(world.store, run, {"A": ("agent-1",)}, ("a",))
        world.records.create(AgentRecord(agent_id="agent-1", name="one", tags=("role:worker",)))
        AccessKeys(world.connections).create((Scope.READ,), agent_id=None, label=None, life_s=None)
    log = next(home.glob("appendonlydir/*.incr.aof")).relative_to(home)
    whole = (home / log).read_bytes()
    seen = [left(home, tmp_path / str(end), log, end) for end in ends_of_commands(whole)]
    assert [missing for missing, _ in seen] == [{}] * len(seen)
    assert [has_run for _, has_run in (seen[0], seen[-1])] == [False, True]


def ends_of_commands(log: bytes) -> Iterator[int]:
    """Where each command of a log ends."""
    reader, end = hiredis.Reader(), 0
    for line in log.splitlines(keepends=True):
        reader.feed(line)
        end += len(line)
        if reader.gets() is not False:
            yield end


def left(whole: Path, home: Path, log: Path, size: int) -> tuple[dict[ListKind, int], bool]:
    """Start again with so much of the log: what lists lack, and whether there is a run."""
    shutil.copytree(whole, home)
    with (home / log).open("r+b") as file:
        file.truncate(size)
    with world_alone(home, *LOGGED) as world:
        missing = Sweep(Listings(world.connections)).look(repair=False).missing
        return dict(missing), bool(world.ask("KEYS", "cp:wf:*:meta"))
