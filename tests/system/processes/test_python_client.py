"""The Python client at real servers: one is killed and started again, and whole programs use the embedded Redis."""

import json
import threading
from typing import TYPE_CHECKING, Any

import pytest

import dcf
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site, finish, first_line

if TYPE_CHECKING:
    from dcf.client import RunEvent

pytestmark = pytest.mark.processes

CHAIN = {
    "asl": {
        "StartAt": "A",
        "States": {
            "A": {"Type": "Task", "Next": "B"},
            "B": {"Type": "Task", "End": True},
        },
    }
}
"""Tasks that the test resolves, one after the other."""

EMBEDDED = """
import json, sys
import dcf

HELLO = {"asl": {"StartAt": "Greet", "States": {"Greet": {"Type": "Task", "End": True}}}}

client = dcf.connect()
client.serve({"Greet": lambda given: {"greeting": f"Hello, {given['name']}!"}}, "greeter")
run = client.start(HELLO, {"name": sys.argv[1]}, agents="greeter")
print(json.dumps([run.workflow_id, client.result(run.workflow_id, timeout_s=60)]), flush=True)
if "close" in sys.argv:
    client.close()
"""


def test_following_outlives_a_server_that_is_killed_without_gap_or_double(site: Site) -> None:
    """The server is killed while the history is followed and started again on its port; nothing is lost."""
    server = site.serve("--port", str(free_port()))
    seen: list[RunEvent] = []
    with dcf.connect(server.url, deadline_s=LONG) as client, dcf.connect(server.url, deadline_s=LONG) as other:
        client.start(CHAIN, workflow_id="followed")
        following = threading.Thread(target=lambda: seen.extend(client.events("followed", follow=True)))
        following.start()
        server.process.kill()
        server.process.wait()
        server = site.serve("--port", server.port)
        other.resolve("followed", "A", output="A")
        server.process.kill()
        resolving = threading.Thread(target=lambda: other.resolve("followed", "B", output="B"))
        resolving.start()
        server.process.wait()
        server = site.serve("--port", server.port)
        for thread in (resolving, following):
            thread.join(LONG)
            assert not thread.is_alive()
        assert other.result("followed", timeout_s=LONG) == "B"
        assert seen == list(other.events("followed"))
        assert [item.type for item in seen].count("StateSucceeded") == 2
        assert seen[-1].type == "RunSucceeded"


def test_a_function_in_a_program_goes_on_when_its_server_is_killed(site: Site) -> None:
    server = site.serve("--port", str(free_port()))
    working, go_on = threading.Event(), threading.Event()

    def work(work: Any) -> Any:
        working.set()
        assert go_on.wait(LONG)
        return work

    hello = {"asl": {"StartAt": "Work", "States": {"Work": {"Type": "Task", "End": True}}}}
    with dcf.connect(server.url, deadline_s=LONG) as client, client.serve({"Work": work}, "me"):
        run = client.start(hello, 42, agents="me").workflow_id
        assert working.wait(LONG)
        server.process.kill()
        server.process.wait()
        go_on.set()
        site.serve("--port", server.port)
        assert client.result(run, timeout_s=LONG) == 42
        assert client.get(run).states["Work"].attempts == 1


def test_programs_share_the_embedded_redis_and_end_with_or_without_closing_it(site: Site) -> None:
    for arguments in (["Ada", "close"], ["Bob"]):
        run, output = json.loads(first_line(program := site.start("-c", EMBEDDED, *arguments)))
        assert output == {"greeting": f"Hello, {arguments[0]}!"}
        assert finish(program)[1] == 0
        shown, code = finish(site.dcf("show", run, "--json"))
        assert (code, json.loads(shown)["meta"]["status"]) == (0, "succeeded")
    wait_until(lambda: not (site.data_dir / "redis.pid").exists(), LONG)
