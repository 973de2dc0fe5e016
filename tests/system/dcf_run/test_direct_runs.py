"""`--direct`: the control plane in the process that works, without a server between."""

import json
import os
import signal
import sys
from typing import Any

import pytest

from tests.support.terminal import on_a_terminal
from tests.support.waiting import wait_until
from tests.system.processes.site import (
    HOOKED,
    LONG,
    STATES,
    Process,
    Site,
    children,
    descendants_in,
    effective,
    finish,
    first_line,
    redis_servers_in,
    result_of,
)

pytestmark = pytest.mark.processes

TOTAL = "242.77"
FORMS = pytest.mark.parametrize("options", [(), ("--direct",)], ids=["served", "direct"])
HEADER = "import os, sys, threading\nfrom pathlib import Path\nfrom dcf.worker import task\n"


def started(site: Site, name: str, machine: Any, functions: str, *arguments: str) -> Process:
    """Start a machine with functions of its own."""
    (site.folder / f"{name}.json").write_text(json.dumps(machine))
    (site.folder / f"{name}.py").write_text(HEADER + functions)
    return site.dcf("run", str(site.folder / f"{name}.json"), "--json", *arguments)


def chain(*names: str) -> Any:
    following: list[Any] = [{"Next": name} for name in names[1:]] + [{"End": True}]
    return {
        "StartAt": names[0],
        "States": {name: {"Type": "Task", **next_} for name, next_ in zip(names, following, strict=True)},
    }


def one_task(name: str) -> Any:
    return chain(name)


def commands(pid: int) -> list[str]:
    """The dcf commands that a process has started."""
    return [command for command in children(pid).values() if "redis-server" not in command]


def test_a_killed_direct_run_is_carried_on_by_a_worker_that_is_its_own_control_plane(site: Site) -> None:
    """Its clock notices the lease that expired; no server runs."""
    site.hook("CalculatePricing.kill")
    killed = site.run("--workers", str(HOOKED), "--direct", "--id", "left", "--lease-ttl", "2")
    assert killed.wait(LONG) == -signal.SIGKILL
    meta = json.loads(finish(site.dcf("show", "left", "--json"))[0])["meta"]
    (agent_id,) = set(meta["agents"].values())
    worker = site.dcf("worker", str(HOOKED), "--agent-id", agent_id, "--direct", "--json", "--concurrency", "2")
    assert json.loads(first_line(worker))["agent_id"] == agent_id
    wait_until(lambda: effective(site.events("left")) == dict.fromkeys(STATES, 1), LONG)
    worker.terminate()
    assert worker.wait(LONG) == 143
    wait_until(lambda: not redis_servers_in(site.folder), LONG)


def test_a_run_is_not_continued_with_another_input_and_the_refusal_says_how_it_ends(site: Site) -> None:
    site.hook("CalculatePricing.kill")
    options = ("--workers", str(HOOKED), "--direct", "--id", "left", "--lease-ttl", "2")
    assert site.run(*options).wait(LONG) == -signal.SIGKILL
    other = site.folder / "other.json"
    other.write_text("{}")
    refused = site.run(*options, order=other)
    result, code = result_of(refused)
    assert (code, result["error"]) == (1, "conflict")
    text = " ".join(site.said(refused).split())
    assert "exists with another input" in text
    assert f"`dcf worker {HOOKED} --agent-id worker-" in text
    assert "`dcf cancel left` ends it" in text
    assert "the same command" not in text


def test_ctrl_c_ends_a_direct_run_and_the_same_command_continues_it(site: Site) -> None:
    """Although a function is in the middle of its work, which cannot be interrupted."""
    site.hook("CalculatePricing.hold")
    options = ("--workers", str(HOOKED), "--direct", "--id", "mine")
    run = site.run(*options, "--lease-ttl", "2")
    site.wait_entered("CalculatePricing")
    assert site.entered("CalculatePricing") == [run.pid]
    assert commands(run.pid) == []
    assert len(redis_servers_in(site.folder)) == 1
    os.killpg(run.pid, signal.SIGINT)
    output, code = finish(run)
    assert (output, code) == ("", 130)
    assert "dcf: Interrupted. Run mine has not ended: the same command with --id mine continues" in site.said(run)
    assert "Traceback" not in site.said(run)
    assert descendants_in(site.folder) == {}
    assert redis_servers_in(site.folder) == []
    site.hook("CalculatePricing.go")
    result, code = result_of(site.run(*options))
    assert (code, result["output"]["total"]) == (0, TOTAL)


def test_what_functions_print_does_not_get_into_the_result(site: Site) -> None:
    functions = "@task('Say')\ndef say(given):\n print('a word'); os.system('echo another')\n return given\n"
    run = started(site, "say", one_task("Say"), functions, "--direct", "--input", '{"a": 1}')
    result, code = result_of(run)
    assert (code, result["output"]) == (0, {"a": 1})
    assert "a word\n" in site.said(run)
    assert "another\n" in site.said(run)


def test_functions_that_cannot_work_leave_no_direct_run(site: Site) -> None:
    run = started(site, "none", one_task("Say"), "@task('Sa')\ndef say(given): ...\n", "--direct")
    result, code = result_of(run)
    assert (code, result["error"]) == (2, "invalid_argument")
    assert "registers no function for the state 'Say', only for: Sa" in result["cause"]
    assert json.loads(finish(site.dcf("ls", "--json"))[0]) == []


def test_a_function_that_ends_its_process_each_time_ends_a_direct_run(site: Site) -> None:
    functions = "@task('Fall')\ndef fall(given): sys.exit(7)\n"
    run = started(site, "fall", one_task("Fall"), functions, "--direct", "--lease-ttl", "1", "--id", "falling")
    result, code = result_of(run)
    assert (code, result["status"], result["error"]) == (1, None, "process_failed")
    assert result["cause"].partition(" ")[2] == "ended 5 times (SystemExit: 7)."
    assert "the same command with --id falling continues it." in site.said(run)


@FORMS
def test_deaths_between_which_the_run_went_on_do_not_end_it(site: Site, options: tuple[str, ...]) -> None:
    """Six states, each of which ends the worker once: more deaths than a worker without progress may have."""
    names = [f"S{number}" for number in range(6)]
    end = "sys.exit(7)" if options else "os._exit(7)"
    functions = (
        f"def work(given, mark):\n if not mark.exists():\n  mark.touch(); {end}\n"
        f"for name in {names}:\n mark = Path(__file__).with_name(f'{{name}}.died')\n"
        " task(name)(lambda given, mark=mark: work(given, mark))\n"
    )
    run = started(site, "mortal", chain(*names), functions, "--lease-ttl", "1", *options)
    result, code = result_of(run)
    assert (code, result["status"]) == (0, "succeeded")
    assert all(doc["attempts"] >= 2 for doc in result["states"].values())


@FORMS
def test_branches_are_worked_on_at_the_same_time_by_one_process(site: Site, options: tuple[str, ...]) -> None:
    """Each waits for the other; with one state at a time neither would end."""
    parallel = {"Type": "Parallel", "End": True, "Branches": [one_task("Left"), one_task("Right")]}
    functions = (
        "both = threading.Barrier(2, timeout=60)\n"
        "def meet(given):\n both.wait()\n return os.getpid()\n"
        "task('Left')(meet)\ntask('Right')(meet)\n"
    )
    machine = {"StartAt": "Both", "States": {"Both": parallel}}
    result, code = result_of(started(site, "meeting", machine, functions, *options))
    assert (code, result["status"]) == (0, "succeeded")
    assert len(set(result["output"])) == 1


@FORMS
def test_a_plain_machine_ends_and_is_listed_although_no_clock_is_left(site: Site, options: tuple[str, ...]) -> None:
    """Its input is on the command line."""
    functions = "task('Only')(lambda given: [given])\n"
    run = started(site, "only", one_task("Only"), functions, "--input", '{"a": 1}', *options)
    result, code = result_of(run)
    assert (code, result["output"]) == (0, [{"a": 1}])
    output, _ = finish(listing := site.dcf("ls", "--json"))
    assert [(load["workflow_name"], load["status"]) for load in json.loads(output)] == [("only", "succeeded")]
    assert finish(listing := site.dcf("ls"))[1] == 0
    assert "1 of 1 run; in all 1 succeeded." in site.said(listing)


def test_a_direct_run_whose_time_is_up_is_cancelled(site: Site) -> None:
    site.hook("ValidateOrder.hold")
    result, code = result_of(site.run("--workers", str(HOOKED), "--direct", "--timeout", "1"))
    assert (code, result["status"], result["error"]) == (1, "cancelled", "States.Timeout")
    assert result["cause"] == "The run had not ended after 1 s and was cancelled."


def test_copies_of_a_direct_run_are_processes_that_need_no_server_and_are_replaced(site: Site) -> None:
    site.hook("GenerateInvoice.kill")
    site.hook("GenerateInvoice.hold")
    run = site.run("--workers", str(HOOKED), "--direct", "--copies", "2", "--lease-ttl", "2")
    site.wait_entered("GenerateInvoice", 2)
    wait_until(lambda: len(commands(run.pid)) == 2, LONG)
    assert all(" worker " in command and " --direct" in command for command in commands(run.pid))
    site.hook("GenerateInvoice.go")
    result, code = result_of(run)
    assert (code, result["output"]["total"]) == (0, TOTAL)
    assert result["states"]["GenerateInvoice"]["attempts"] >= 2


def test_a_direct_worker_calls_no_server(site: Site) -> None:
    worker = site.dcf("worker", str(HOOKED), "--agent-id", "me", "--direct", "--server", "http://127.0.0.1:1/mcp")
    assert finish(worker)[1] == 2
    assert "With --direct no server is called." in site.said(worker)


def test_what_functions_say_on_a_terminal_stands_above_the_live_table(site: Site) -> None:
    """And stays there: prints, the log, and the trace of an exception."""
    (site.folder / "noisy.json").write_text(json.dumps(chain("First", "Second")))
    functions = (
        "import logging\n"
        "@task('First')\ndef first(given):\n print('a word')\n logging.warning('a warning')\n"
        "@task('Second')\ndef second(given):\n print('to error', file=sys.stderr)\n raise ValueError('on purpose')\n"
    )
    (site.folder / "noisy.py").write_text(HEADER + functions)
    command = (sys.executable, "-m", "dcf", "run", str(site.folder / "noisy.json"), "--direct")
    with on_a_terminal(*command, **site.environment()) as terminal:
        terminal.until("Next:")
        terminal.until("dcf runs events")
        shown = terminal.screen()
    indexes = [shown.index(line) for line in ("a word", "dcf: WARNING root: a warning", "to error")]
    trace = shown.index("ValueError: on purpose")
    table = shown.index(next(line for line in shown if line.startswith("First ")))
    assert [*indexes, trace, table] == sorted([*indexes, trace, table])
    assert not any("▶" in line for line in shown)
