"""`dcf run` as a person starts it: a server, a worker, a result, and nothing left behind."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.terminal import on_a_terminal
from tests.support.waiting import wait_until
from tests.system.processes.site import (
    HOOKED,
    LONG,
    ORDER,
    STATES,
    WORKFLOW,
    Process,
    Site,
    children,
    descendants_in,
    effective,
    finish,
    is_alive,
    redis_servers_in,
    result_of,
)

pytestmark = pytest.mark.processes

ORDERS = ORDER.parent / "orders"
MEANT_FOR_OTHERS = {
    "DCF_TOOLSETS": "planning",
    "DCF_READ_ONLY": "1",
    "DCF_MCP_ALLOWED_HOSTS": "dcf.example",
    "HTTP_PROXY": "http://127.0.0.1:1",
    "http_proxy": "http://127.0.0.1:1",
}
"""Settings of other servers and a proxy; none of it may keep a run's own workers from its own server."""

INVOICE = {
    "invoice_number": "INV-2025-0042",
    "order_number": "ORD-2025-0042",
    "customer": "Hill Country Supply",
    "lines": [
        {"sku": "WIDGET-A", "quantity": 3, "unit_price": "29.99"},
        {"sku": "GADGET-B", "quantity": 1, "unit_price": "149.99"},
    ],
    "subtotal": "239.96",
    "discount": "24.00",
    "tax": "17.82",
    "shipping": "8.99",
    "total": "242.77",
    "terms": "NET-30",
    "due_date": "2025-03-01",
}


def test_two_orders_at_a_time_in_one_data_directory(site: Site) -> None:
    """One has the settings of other servers in its environment, and a proxy."""
    first = site.run(order=ORDER, **MEANT_FOR_OTHERS)
    second = site.run(order=ORDERS / "rejected.json")
    result, code = result_of(first)
    assert (code, result["status"], result["error"], result["cause"]) == (0, "succeeded", None, None)
    assert result["output"] == INVOICE
    assert list(result) == ["workflow_id", "status", "output", "error", "cause", "states"]
    assert list(result["states"]) == list(STATES)
    assert {(doc["status"], doc["attempts"]) for doc in result["states"].values()} == {("succeeded", 1)}
    assert all(doc["started_at"] < doc["finished_at"] for doc in result["states"].values())
    assert "dcf: run succeeded" in site.said(first)

    result, code = result_of(second)
    assert (code, result["status"], result["output"], result["error"]) == (1, "failed", None, "OrderRejected")
    for reason in ("CUST-9090", "WIDGET-Z", "4 ordered but only 3 in stock", "zip must be a string of five digits"):
        assert reason in result["cause"]
    assert [doc["status"] for doc in result["states"].values()] == ["failed", "skipped", "skipped"]
    assert redis_servers_in(site.folder) == []


def test_in_a_clean_environment_and_from_another_directory(site: Site) -> None:
    """As `env -i` leaves it; the workflow, its input and its functions are found where they ship."""
    script = Path(sys.executable).with_name("dcf")
    order = "workflows/order_processing/orders/new_york_no_discount.json"
    finished = subprocess.run(
        [str(script), "run", "workflows/order_processing.json", "--input", order, "--json"],
        env={"PATH": "/usr/bin:/bin", "HOME": str(site.folder)},
        cwd=site.folder,
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    assert json.loads(finished.stdout)["output"]["total"] == "377.59"
    assert (site.folder / ".local" / "share" / "dcf" / "redis.log").exists()
    assert redis_servers_in(site.folder) == []


def test_ctrl_c_leaves_nothing_behind_and_the_run_can_be_continued(site: Site) -> None:
    """The terminal sends SIGINT to the whole group. The same id continues with the state that was under way."""
    site.hook("CalculatePricing.hold")
    started = site.run("--workers", str(HOOKED), "--id", "mine", "--lease-ttl", "2")
    site.wait_entered("CalculatePricing")
    assert len(redis_servers_in(site.folder)) == 1
    os.killpg(started.pid, signal.SIGINT)
    output, code = finish(started)
    assert (output, code) == ("", 130)
    assert "dcf: Interrupted. Run mine has not ended: the same command with --id mine continues" in site.said(started)
    assert "Traceback" not in site.said(started)
    assert descendants_in(site.folder) == {}
    assert redis_servers_in(site.folder) == []

    site.hook("CalculatePricing.go")
    result, code = result_of(site.run("--workers", str(HOOKED), "--id", "mine"))
    assert (code, result["output"]["total"]) == (0, "242.77")
    assert [doc["attempts"] for doc in result["states"].values()] == [1, 2, 1]


@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc to find processes that lost their parent")
def test_a_killed_dcf_run_takes_its_processes_along(site: Site) -> None:
    """No message reaches them; they notice that it is gone, and the last user stops the Redis."""
    site.hook("ValidateOrder.hold")
    started = site.run("--workers", str(HOOKED))
    site.wait_entered("ValidateOrder")
    started.kill()
    wait_until(lambda: not descendants_in(site.folder), LONG)
    wait_until(lambda: not redis_servers_in(site.folder), LONG)


def test_workers_killed_in_the_middle_of_their_work(site: Site) -> None:
    """Each state's first attempt dies inside the function, and no other process helps."""
    for state in STATES:
        site.hook(f"{state}.kill")
    result, code = result_of(site.run("--workers", str(HOOKED), "--lease-ttl", "2", "--id", "killed"))
    assert (code, result["status"], result["output"]) == (0, "succeeded", INVOICE)
    assert all(doc["attempts"] >= 2 for doc in result["states"].values())
    assert all(len(set(site.entered(state))) >= 2 for state in STATES)
    events = site.printed_events("killed")
    assert effective(events) == dict.fromkeys(STATES, 1)
    takeovers = [event["state"] for event in events if event["type"] == "LeaseAcquired" and event.get("takeover")]
    assert set(takeovers) == set(STATES)


def test_the_server_is_killed_in_the_middle(site: Site) -> None:
    """`dcf run` starts it again on the same address while a worker is inside its function."""
    site.hook("CalculatePricing.hold")
    started = site.run("--workers", str(HOOKED), "--id", "orphan")
    site.wait_entered("CalculatePricing")
    commands = {pid: command for pid, command in children(started.pid).items() if "redis-server" not in command}
    (server,) = (pid for pid, command in commands.items() if " serve " in command)
    assert len(commands) == 2, "a server, and one worker for all Tasks"
    os.kill(server, signal.SIGKILL)
    wait_until(lambda: not is_alive(server), LONG)
    site.hook("CalculatePricing.go")
    result, code = result_of(started)
    assert (code, result["output"]) == (0, INVOICE)
    assert [doc["attempts"] for doc in result["states"].values()] == [1, 1, 1]
    assert effective(site.events("orphan")) == dict.fromkeys(STATES, 1)
    assert len({pid for state in STATES for pid in site.entered(state)}) == 1


HELLO = {"workflow_name": "hello", "asl": {"StartAt": "Greet", "States": {"Greet": {"Type": "Task", "End": True}}}}
TASK = "from dcf.worker import task\n@task('Greet')\ndef greet(given):\n"


def hello(site: Site, functions: str, *arguments: str, workflow: Any = None) -> Process:
    """Start a workflow of one state with this Python text."""
    (site.folder / "hello.json").write_text(json.dumps(workflow or HELLO))
    (site.folder / "hello.py").write_text(functions)
    return site.dcf("run", str(site.folder / "hello.json"), "--json", *arguments)


def test_functions_that_cannot_work_are_told_at_once_and_leave_no_run(site: Site) -> None:
    """And not after the ten minutes in which no worker takes the state."""
    started = hello(site, TASK.replace("'Greet'", "'Gret'") + " ...")
    result, code = result_of(started)
    assert (code, result["status"], result["error"]) == (2, None, "invalid_argument")
    assert "registers no function for the state 'Greet', only for: Gret" in result["cause"]
    assert "Traceback" not in site.said(started)
    assert "continues" not in site.said(started)
    assert json.loads(finish(site.dcf("ls", "--json"))[0]) == []


APPROVED = {
    "StartAt": "Greet",
    "States": {"Greet": {"Type": "Task", "Next": "Approve"}, "Approve": {"Type": "Task", "End": True}},
}


@pytest.mark.parametrize("options", [(), ("--direct",)], ids=["server", "direct"])
def test_a_task_may_be_left_to_somebody_elsewhere(site: Site, options: tuple[str, ...]) -> None:
    """Its function is not asked for; an agent elsewhere, or a person, is waited for."""
    started = hello(site, TASK + " return 'hi'", "--assign", "Approve=anna", "--id", "a", *options, workflow=APPROVED)
    wait_until(lambda: "dcf: Greet: succeeded" in site.said(started), LONG)
    by_hand = "dcf: Approve is left to anna; `dcf states resolve a Approve --output JSON` completes it by hand."
    assert by_hand in site.said(started)
    assert started.poll() is None
    (site.folder / "anna.py").write_text(TASK.replace("Greet", "Approve") + " return [given, 'approved']")
    site.dcf("worker", str(site.folder / "anna.py"), "--agent-id", "anna", "--direct")
    result, code = result_of(started)
    assert (code, result["output"]) == (0, ["hi", "approved"])


def test_with_all_tasks_left_to_others_no_function_is_needed(site: Site) -> None:
    (site.folder / "left.json").write_text(json.dumps(HELLO))
    (site.folder / "anna.py").write_text(TASK + " return 'by anna'")
    site.dcf("worker", str(site.folder / "anna.py"), "--agent-id", "anna", "--direct")
    for options in ((), ("--direct",)):
        started = site.dcf("run", str(site.folder / "left.json"), "--json", "--assign", "Greet=anna", *options)
        assert result_of(started)[0]["output"] == "by anna"


def test_a_function_that_asks_a_person_fails_at_once_and_does_not_wait_unseen(site: Site) -> None:
    result, code = result_of(hello(site, TASK + " return input('Approve? ')"))
    assert (code, result["status"], result["error"]) == (1, "failed", "EOFError")


FALLS = TASK + " import os\n print('it fell over', flush=True)\n os._exit(7)"


def test_a_worker_that_dies_each_time_ends_the_command_with_its_own_words(site: Site) -> None:
    started = hello(site, FALLS, "--lease-ttl", "1", "--id", "falling")
    result, code = result_of(started)
    assert (code, result["workflow_id"], result["status"]) == (1, "falling", None)
    assert (result["error"], result["cause"].partition(" ")[2]) == (
        "process_failed",
        "ended 5 times (exit code 7): it fell over",
    )
    assert "Run falling has not ended: the same command with --id falling continues it." in site.said(started)
    assert re.search(
        r"dcf: worker-\w+ ended once \(exit code 7\): it fell over\. It was started again\.", site.said(started)
    ), "it is told when it happens, not after the fifth time"
    assert "nothing was changed" not in site.said(started)


NOT_LOADED = "The run's time was over before the functions had loaded."


def test_functions_that_do_not_load_in_time_are_told_and_leave_no_run(site: Site) -> None:
    """Redis is opened in the same time, so the cause does not say how long they took."""
    started = hello(site, TASK + " ...\nimport threading\nthreading.Event().wait()", "--timeout", "1")
    result, code = result_of(started)
    assert (code, result["status"], result["error"], result["cause"]) == (1, None, "process_failed", NOT_LOADED)
    assert "Pass a longer --timeout, or let them load faster." in site.said(started)
    assert "continues" not in site.said(started)
    assert json.loads(finish(site.dcf("ls", "--json"))[0]) == []


def test_a_run_whose_time_is_up_is_cancelled_and_names_the_death_of_its_worker(site: Site) -> None:
    """It gets more time where the machine was so busy that the worker did not load, or not die, within the time."""
    for seconds in (5, 20, 80):
        result, code = result_of(hello(site, FALLS, "--lease-ttl", "600", "--timeout", str(seconds)))
        if (result["status"], result["cause"]) == (None, NOT_LOADED):
            continue
        assert (code, result["status"], result["error"]) == (1, "cancelled", "States.Timeout")
        beginning, later, death = result["cause"].partition(" Meanwhile ")
        assert beginning == f"The run had not ended after {seconds} s and was cancelled."
        if later:
            break
    else:
        pytest.fail(f"No worker died within the time: {result['cause']}")
    assert re.fullmatch(r"worker-\w+ ended (once|\d+ times) \(exit code 7\): it fell over", death)
    logs = [path.name for path in site.folder.glob("dcf-run-*/*.log")]
    assert "server.log" in logs


def test_ctrl_c_on_a_terminal_says_how_to_go_on_where_it_can_be_read(site: Site) -> None:
    """The live table is drawn in place and erased at the end; what is said must not go with it, and stands last.

    An interrupt that comes while the table is drawn may leave its last picture above.
    """
    site.hook("ValidateOrder.hold")
    arguments = ("run", str(WORKFLOW), "--input", str(ORDER), "--workers", str(HOOKED), "--id", "mine")
    with on_a_terminal(sys.executable, "-m", "dcf", *arguments, **site.environment()) as terminal:
        terminal.until(r"ValidateOrder +▶ running.+held by")
        assert terminal.interrupt() == 130
    shown = " ".join(" ".join(terminal.screen()).split())
    assert shown.endswith("dcf: Interrupted. Run mine has not ended: the same command with --id mine continues it.")


def test_redis_that_cannot_be_reached_is_told_at_once_without_its_password(site: Site) -> None:
    started = site.run(REDIS_URL="redis://:canary-7f3a@127.0.0.1:1/0")
    result, code = result_of(started)
    assert (code, result["status"], result["error"]) == (4, None, "store_unavailable")
    assert "canary" not in result["cause"] + site.said(started)
