"""The previous version and this one on the same Redis: one after the other, and side by side."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

import pytest

from lab.extras import Calls
from lab.two_versions import checked_out, why_not
from tests.support.command_line import call
from tests.support.redis.documents import STORED
from tests.support.redis.servers import redis_server
from tests.support.waiting import wait_until
from tests.system.upgrades.servers import served
from tests.system.upgrades.team import LONG_S, Team
from tests.system.upgrades.waiting_stages import STAGES

PREVIOUS: Final = "42e96b07"
"""The latest version before this one: a commit, or the tag of a release."""

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(STORED.name == "text", reason="the previous version keeps documents in RedisJSON only"),
]


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of the previous version."""
    if (why := why_not(PREVIOUS)) is not None:
        pytest.skip(why)
    return checked_out(tmp_path_factory.mktemp("previous"), PREVIOUS)


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """An empty Redis."""
    (home := tmp_path / "redis").mkdir()
    with redis_server(home) as result:
        yield result


@dataclass
class Turns(Iterator[Calls]):
    """All calls go to the one server that runs now."""

    now: Calls

    def __next__(self) -> Calls:
        return self.now


def assert_all_is_well(port: int, team: Team) -> None:
    """Every run has ended as it was meant to, and the lists have each of them."""
    ends = {name: (team.of(name).status(), team.of(name).output()) for name in STAGES}
    assert ends == {name: ("succeeded", stage.output) for name, stage in STAGES.items()}
    wait_until(lambda: _doctor(port)["ok"], LONG_S)
    lists = _doctor(port)["lists"]
    assert (lists["missing"], lists["dangling"]) == ({}, {})


def _doctor(port: int) -> dict[str, dict[str, object]]:
    document: dict[str, dict[str, object]] = json.loads(
        call("doctor", "--json", REDIS_URL=f"redis://127.0.0.1:{port}").stdout
    )
    return document


@pytest.mark.parametrize("begins", ["previous", "this"])
def test_runs_of_one_version_are_continued_by_the_other_and_then_by_the_first_again(
    port: int, previous: Path, tmp_path: Path, begins: str
) -> None:
    first, second = (previous, None) if begins == "previous" else (None, previous)
    log = tmp_path / "servers.log"
    with served(port, log, first) as server:
        turns = Turns(server.calls)
        team = Team("", turns)
        left = {name: stage.go_on(team.of(name), stage.begin(team.of(name))) for name, stage in STAGES.items()}
    with served(port, log, second) as server:
        turns.now = server.calls
        for steps in left.values():
            next(steps)
    with served(port, log, first) as server:
        turns.now = server.calls
        for steps in left.values():
            for _ in steps:
                pass
        assert_all_is_well(port, team)


@pytest.mark.parametrize("begins", ["previous", "this"])
def test_the_calls_of_a_run_may_go_to_servers_of_both_versions_by_turns(
    port: int, previous: Path, tmp_path: Path, begins: str
) -> None:
    programs = (previous, None) if begins == "previous" else (None, previous)
    first, other = programs
    with served(port, tmp_path / "one.log", first) as here, served(port, tmp_path / "other.log", other) as there:
        team = Team("", cycle((here.calls, there.calls)))
        for name, stage in STAGES.items():
            for _ in stage.go_on(team.of(name), stage.begin(team.of(name))):
                pass
        assert_all_is_well(port, team)
