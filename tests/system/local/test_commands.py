"""Commands of gates: which may run here, without a shell, with what environment, and how they end."""

import os
import shlex
import signal
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from anyio.abc import Process

from dcf.local import commands
from dcf.local.command_templates import Allowed
from dcf.local.commands import TAIL_BYTES, Outcome, end_all
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, is_alive

pytestmark = pytest.mark.anyio


async def run(command: str | list[str], root: Path, limit_s: float | None = None) -> Outcome:
    """Run a command that a person allowed as it is."""
    words = shlex.split(command) if isinstance(command, str) else command
    return await commands.run(command, root, Allowed((tuple(words),)), limit_s)


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


async def test_exit_code_zero_passes_and_any_other_fails(tmp_path: Path) -> None:
    passed = await run(python("print('fine')"), tmp_path)
    assert (passed.verdict, passed.exit_code, passed.tail) == ("pass", 0, "fine\n")
    failed = await run(python("import sys; print('no', file=sys.stderr); sys.exit(3)"), tmp_path)
    assert (failed.verdict, failed.exit_code, failed.tail) == ("fail", 3, "no\n")


async def test_what_could_not_be_run_is_unavailable_and_no_failure(tmp_path: Path) -> None:
    missing = await run("no-such-program-here --x", tmp_path)
    assert (missing.verdict, missing.exit_code) == ("unavailable", None)
    (tmp_path / "check").write_text("neither a binary nor a script")
    (tmp_path / "check").chmod(0o755)
    broken = await run("./check", tmp_path)
    assert (broken.verdict, broken.why) == ("unavailable", "'./check' cannot be started.")
    not_allowed = await commands.run("true", tmp_path, Allowed(), None)
    assert (not_allowed.verdict, "allowed" in not_allowed.why) == ("unavailable", True)
    slow = await _run_until_it_says(python("import time; print('begun', flush=True); time.sleep(60)"), tmp_path)
    assert (slow.verdict, slow.tail, slow.exit_code) == ("unavailable", "begun\n", None)
    assert (await commands.run("'open", tmp_path, Allowed(), None)).verdict == "unavailable"
    assert (await run([], tmp_path)).verdict == "unavailable"


async def test_children_end_with_the_command(tmp_path: Path) -> None:
    """Also those that outlive it and keep its output open."""
    code = "import subprocess, sys, time; print(subprocess.Popen(['sleep', '60']).pid, flush=True); time.sleep(%s)"
    lasting = await _run_until_it_says(python(code % 60), tmp_path)
    outlived = await run(python(code % 0), tmp_path, LONG)
    for result in (lasting, outlived):
        wait_until(partial(_has_ended, int(result.tail)))


async def _run_until_it_says(command: list[str], root: Path) -> Outcome:
    """Run a command, again with more time where the machine was so busy that it could not say anything."""
    for limit_s in (0.5, 2.0, 8.0, 32.0):
        finished = await run(command, root, limit_s)
        if finished.tail:
            return finished
    pytest.fail("it said nothing")


async def test_a_command_that_is_just_being_started_ends_with_this_process_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    spawn = anyio.open_process

    async def interrupted(*arguments: Any, **options: Any) -> Process:
        process = await spawn(*arguments, **options)
        end_all(lambda: ended.append("here"))
        assert not ended, "nobody knows its group yet"
        return process

    monkeypatch.setattr("anyio.open_process", interrupted)
    finished = await run(["sleep", "60"], tmp_path)
    assert (ended, finished.exit_code) == (["here"], -signal.SIGKILL)


def _begun(folder: Path) -> list[Path]:
    return list(folder.glob("pid*"))


def _has_ended(child: int) -> bool:
    return not is_alive(child)


async def test_there_is_no_shell(tmp_path: Path) -> None:
    finished = await run("echo $HOME; touch made", tmp_path)
    assert finished.tail == "$HOME; touch made\n"
    assert not (tmp_path / "made").exists()


async def test_a_command_gets_no_key_and_no_other_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCF_API_KEY", "dcf_secret")
    monkeypatch.setenv("SOME_TOKEN", "secret")
    finished = await run(python("import os; print(sorted(os.environ))"), tmp_path)
    assert "PATH" in finished.tail
    assert "DCF_API_KEY" not in finished.tail
    assert "SOME_TOKEN" not in finished.tail


async def test_a_command_tells_the_time_of_the_zone_of_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "JST-9")
    assert (await run("date +%Z", tmp_path)).tail == "JST\n"


async def test_the_tail_of_a_long_output_is_kept(tmp_path: Path) -> None:
    finished = await run(python("print('x' * 1_000_000); print('end')"), tmp_path)
    assert (len(finished.tail), finished.cut, finished.tail[-5:]) == (TAIL_BYTES, True, "\nend\n")


async def test_a_command_reads_nothing_from_the_agents_connection(tmp_path: Path) -> None:
    finished = await run(python("import sys; print(repr(sys.stdin.read()))"), tmp_path, LONG)
    assert finished.tail == "''\n"


async def test_a_cancelled_call_ends_its_command(tmp_path: Path) -> None:
    code = f"import os, time; open(f'{tmp_path}/pid{{os.getpid()}}', 'w'); time.sleep(60)"
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, python(code), tmp_path)
        await anyio.to_thread.run_sync(wait_until, lambda: bool(_begun(tmp_path)))
        tasks.cancel_scope.cancel()
    (begun,) = _begun(tmp_path)
    assert not is_alive(int(begun.name.removeprefix("pid")))


async def test_a_program_named_by_a_path_is_one_below_the_root(tmp_path: Path) -> None:
    root = (tmp_path / "project").resolve()
    root.mkdir()
    for place in (root / "check.sh", tmp_path / "outside.sh"):
        place.write_text("#!/bin/sh\nexit 0\n")
        place.chmod(0o755)
    assert (await run("./check.sh", root)).verdict == "pass"
    assert (await run("../outside.sh", root)).verdict == "unavailable"
    assert os.access(tmp_path / "outside.sh", os.X_OK)
