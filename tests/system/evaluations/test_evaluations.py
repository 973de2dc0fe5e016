"""Servers killed in the middle of an evaluation: the third one does not evaluate, and other runs continue."""

import json
import os
import signal
from typing import Any

import pytest

from dcf.tools.calling.client import ToolClient, connect
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Server, Site, finish, first_line

pytestmark = pytest.mark.processes

PAUSE: dict[str, Any] = {"Type": "Wait", "Seconds": 1, "Next": "Sum"}


def machine(expression: str) -> dict[str, Any]:
    """Return a workflow that evaluates an expression when a timer is due."""
    total = {"Type": "Pass", "QueryLanguage": "JSONata", "Output": f"{{% {expression} %}}", "End": True}
    return {"asl": {"StartAt": "Pause", "States": {"Pause": PAUSE, "Sum": total}}}


BOMB = machine("$sum([1..4])")
PLAIN = machine("$states.input")


def serve(site: Site) -> Server:
    command = ("serve", "--transport", "http", "--json", "--port", "0", "--metrics")
    process = site.start("-m", "tests.system.evaluations.evaluating_server", *command)
    return Server(url=json.loads(first_line(process))["url"], process=process)


def causes(tools: ToolClient, run: str) -> list[str]:
    return [finding["cause"] for finding in tools.call("explain_run", workflow_id=run)["findings"]]


def test_the_third_process_holds_a_run_that_killed_two_and_goes_on_with_others(site: Site) -> None:
    servers = [serve(site) for _ in range(3)]
    with connect(servers[0].url) as tools:
        run = tools.call("start_run", workflow_json=BOMB)["workflow_id"]
    site.wait_entered("evaluating", 2)
    dying = set(site.entered("evaluating"))
    assert len(dying) == 2
    for pid in dying:
        os.kill(pid, signal.SIGKILL)
    (third,) = [server for server in servers if server.process.pid not in dying]
    with connect(third.url) as tools:
        wait_ended(tools, tools.call("start_run", workflow_json=PLAIN)["workflow_id"])  # other runs continue meanwhile
        wait_until(lambda: causes(tools, run) == ["killed_process"], LONG)
        wait_ended(tools, tools.call("start_run", workflow_json=PLAIN)["workflow_id"])
        assert set(site.entered("evaluating")) == dying
        assert third.process.poll() is None

        site.hook("evaluating.go")
        details, code = finish(site.dcf("retry", run, "--reason", "it was mended"))
        assert (code, run in details) == (0, True)
        wait_ended(tools, run)
        assert site.entered("evaluating")[-1] == third.process.pid


def test_servers_that_die_one_after_the_other_leave_the_run_to_the_third(site: Site) -> None:
    run = None
    for number in range(2):
        server = serve(site)
        if run is None:
            with connect(server.url) as tools:
                run = tools.call("start_run", workflow_json=BOMB)["workflow_id"]
        site.wait_entered("evaluating", number + 1)
        server.process.kill()
        server.process.wait()
    third = serve(site)
    with connect(third.url) as tools:
        wait_until(lambda: causes(tools, run or "") == ["killed_process"], LONG)
    assert len(site.entered("evaluating")) == 2
    assert third.process.poll() is None


def wait_ended(tools: ToolClient, run: str) -> None:
    """Wait until the run has ended; it must have succeeded."""
    wait_until(lambda: _status(tools, run) != "running", LONG)
    assert _status(tools, run) == "succeeded"


def _status(tools: ToolClient, run: str) -> str:
    return str(tools.call("read_workflow_control_plane", workflow_id=run)["meta"]["status"])
