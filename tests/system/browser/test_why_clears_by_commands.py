"""The command that the page of reasons shows clears the reason when it runs."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path

import pytest

from dcf.application import Application, open_application
from dcf.settings import Settings
from dcf.store import keys
from dcf.web.site import build_site
from tests.support.ahead import now
from tests.support.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.support.world import World
from tests.web import stuck_runs
from tests.web.browsing import text_of
from tests.web.visitors import Visitor

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def here(server: RestrictedRedis) -> Iterator[Application]:
    """A control plane on the Redis on which `real` scripts its runs, for whoever operates it on this machine."""
    with opened(server.url) as found:
        yield found


@contextmanager
def opened(url: str) -> Iterator[Application]:
    chosen = {"redis_url": url, "auth": "off", "allow_operator": True}
    with open_application(Settings.model_validate(chosen)) as found:
        yield found


@pytest.fixture
def visitor(here: Application) -> Visitor:
    return Visitor(build_site(here, may_act=True))


@pytest.fixture(autouse=True)
def _clock(real: World) -> None:
    real.ask("SET", keys.SERVER_TIME, now(real))


def causes(application: Application, run: str) -> list[str]:
    return [one.cause.value for one in application.diagnosis.explain(run).findings]


def dcf(url: str, *words: str) -> subprocess.Popen[str]:
    """A command of dcf on this Redis, in a process of its own."""
    command = [sys.executable, "-m", "dcf", *words]
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "REDIS_URL": url}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


async def command_on(visitor: Visitor, run: str) -> list[str]:
    """The words of the one command that the page shows, without the name of the program."""
    page = (await visitor.get(f"/ui/why?run={run}")).text
    (shown,) = re.findall(r'<pre class="command"><code>(.*?)</code>', page)
    program, *words = shlex.split(unescape(shown))
    assert program == "dcf"
    return words


@pytest.mark.processes
async def test_a_state_that_nobody_takes_is_done_by_the_worker_whose_command_is_shown(
    here: Application, visitor: Visitor, real: World, tmp_path: Path
) -> None:
    run = stuck_runs.not_taken(real, f"a-{real.name()}")
    assert "not taken" in text_of((await visitor.get(f"/ui/why?run={run}")).text)
    functions = tmp_path / "functions.py"
    functions.write_text("from dcf.worker import task\n\n\n@task('A')\ndef work(given):\n    return {}\n", "utf-8")
    words = [str(functions) if one == "FUNCTIONS.py" else one for one in await command_on(visitor, run)]
    worker = dcf(here.redis_url, *words, "--direct")
    try:
        wait_until(lambda: causes(here, run) == ["nobody_assigned"], 30)  # that of B
    finally:
        worker.terminate()
        worker.communicate(timeout=30)
    assert "not taken" not in text_of((await visitor.get(f"/ui/why?run={run}")).text)


@pytest.mark.processes
@rows("script", [stuck_runs.clock_late, stuck_runs.clock_absent], ids=lambda one: str(one.__name__))
async def test_a_clock_that_does_not_come_is_the_one_whose_command_is_shown(
    here: Application, visitor: Visitor, real: World, script: Callable[[World], str]
) -> None:
    run = script(real)
    shown = script.__name__.replace("_", " ")
    assert shown in text_of((await visitor.get(f"/ui/why?run={run}")).text)
    clock = dcf(here.redis_url, *await command_on(visitor, run))
    try:
        wait_until(lambda: causes(here, run) != [script.__name__], 30)
    finally:
        clock.terminate()
        clock.communicate(timeout=30)
    assert shown not in text_of((await visitor.get(f"/ui/why?run={run}")).text)
