"""`dcf timeline` on a terminal."""

import re
import sys

import pytest

from tests.cli.conftest import Dcf
from tests.runs.test_diagnosis import started
from tests.support.machines import workflow
from tests.support.scopes import task
from tests.support.terminal import on_a_terminal
from tests.support.world import World
from tests.web.run_stories import let_a_moment_pass


@pytest.fixture
def run(world: World) -> str:
    """A run whose first state was tried, lost and taken over, and whose second is worked on."""
    states = {"First": task("Second"), "Second": task()}
    run = started(world, workflow(states), agents={"First": "ann", "Second": "bob"})
    world.acquire(run, "First", "ann")
    world.expire_lease(run, "First")
    let_a_moment_pass(world)
    token = world.acquire(run, "First", "ann")
    let_a_moment_pass(world)
    world.complete(run, "First", token, {})
    world.acquire(run, "Second", "bob")
    return run


def test_a_terminal_gets_a_bar_for_each_state(run: str, dcf: Dcf) -> None:
    with on_a_terminal(sys.executable, "-m", "dcf", "timeline", run) as terminal:
        assert terminal.end() == 0
        shown = terminal.text
    assert "█" in shown
    assert re.search(r"First .*█.*  [\d.]+ m?s +succeeded", shown)
    assert "lost lease" in shown
