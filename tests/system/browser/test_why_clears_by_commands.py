"""The command that the page of reasons shows clears the reason when it runs."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dcf.application.application import Application
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.world import World
from tests.web import stuck_runs
from tests.web.browsing import text_of
from tests.web.pages.test_why_clears import _clock, causes, here, visitor
from tests.web.visitors import Visitor

__all__ = ["_clock", "here", "visitor"]

pytestmark = pytest.mark.anyio


def dcf(url: str, *words: str) -> subprocess.Popen[str]:
    """A command of dcf on this Redis, in a process of its own."""
    command = [sys.executable, "-m", "dcf", *words]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "REDIS_URL": url}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


async def command_in(visitor: Visitor, run: str, pattern: str) -> list[str]:
    """Return the words of the command that the advice names, without the name of the program."""
    advice = re.search(pattern, text_of((await visitor.get(f"/ui/why?run={run}")).text))
    assert advice is not None, pattern
    return shlex.split(advice[0])[1:]


@pytest.mark.processes
async def test_a_state_that_nobody_takes_is_done_by_the_worker_whose_command_is_shown(
    here: Application, visitor: Visitor, real: World, tmp_path: Path
) -> None:
    run = stuck_runs.not_taken(real, f"a-{real.name()}")
    assert "not taken" in text_of((await visitor.get(f"/ui/why?run={run}")).text)
    functions = tmp_path / "functions.py"
    functions.write_text("from dcf.worker import task\n\n\n@task('A')\ndef work(given):\n    return {}\n", "utf-8")
    command = await command_in(visitor, run, r"dcf worker FUNCTIONS\.py --agent-id [\w-]+ --state A")
    words = [str(functions) if word == "FUNCTIONS.py" else word for word in command]
    worker = dcf(here.redis_url, *words, "--direct")
    try:
        wait_until(lambda: causes(here, run) == ["nobody_assigned"])  # that of B
    finally:
        worker.terminate()
        worker.communicate(timeout=120)
    assert "not taken" not in text_of((await visitor.get(f"/ui/why?run={run}")).text)


@pytest.mark.processes
@rows("script", [stuck_runs.clock_late, stuck_runs.clock_absent], ids=lambda item: str(item.__name__))
async def test_a_clock_that_does_not_come_is_the_one_whose_command_is_shown(
    here: Application, visitor: Visitor, real: World, script: Callable[[World], str]
) -> None:
    run = script(real)
    shown = script.__name__.replace("_", " ")
    assert shown in text_of((await visitor.get(f"/ui/why?run={run}")).text)
    clock = dcf(here.redis_url, *await command_in(visitor, run, "dcf store pulse"))
    try:
        wait_until(lambda: causes(here, run) != [script.__name__])
    finally:
        clock.terminate()
        clock.communicate(timeout=120)
    assert shown not in text_of((await visitor.get(f"/ui/why?run={run}")).text)
