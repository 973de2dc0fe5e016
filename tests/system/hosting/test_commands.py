"""`dcf host` and `dcf run --agents` as real processes."""

import json
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.waiting import wait_until
from tests.system.hosting.model_server import model_server
from tests.system.hosting.order_mind import order_mind
from tests.system.hosting.yard import TOTAL, agents_file
from tests.system.processes.shop import write_registry
from tests.system.processes.site import LONG, STATES, Site, finish, first_line, opened, result_of

pytestmark = pytest.mark.processes

HELLO = {"asl": {"StartAt": "Greet", "States": {"Greet": {"Type": "Task", "End": True}}}}
HANDLERS = """
import asyncio
from pathlib import Path
async def greet(work, tools): return f"Hello, {work.input}!"
async def sleep(work, tools):
    (Path(__file__).parent / "began").touch()
    await asyncio.sleep(3600)
"""


@pytest.fixture
def site() -> Iterator[Site]:
    folder = Path(tempfile.mkdtemp(prefix="dcfh-", dir="/tmp"))
    with opened(folder) as result:
        (folder / "handlers.py").write_text(HANDLERS)
        (folder / "hello.json").write_text(json.dumps(HELLO))
        yield result
    shutil.rmtree(folder)


def agents(site: Site, text: str) -> str:
    path = site.folder / "agents.toml"
    path.write_text(text)
    return str(path)


def test_agents_work_without_a_server_too(site: Site) -> None:
    file = agents(site, '[agents.greeter]\nhandler = "handlers.py:greet"')
    more = ("--agents", file, "--direct", "--json")
    result, code = result_of(site.dcf("run", str(site.folder / "hello.json"), "--input", '"Ada"', *more))
    assert (result["output"], code) == ("Hello, Ada!", 0)


def test_one_command_runs_the_order_pipeline_with_models(site: Site) -> None:
    shutil.copy(Path(__file__).with_name("plain_agent.py"), site.folder)
    stub_url = json.loads(first_line(site.dcf("workflows", "stub", "--port", "0", "--json")))["url"]
    registry = write_registry(site.folder, stub_url)
    with model_server(order_mind) as model:
        common = {"handler": "plain_agent.py:handle", "process": True, "base_url": f"{model.url}/v1", "model": "m"}
        file = agents_file(site.folder, common)
        result, code = result_of(site.run("--agents", str(file), SKILL_REGISTRY_PATH=str(registry)))
    assert (result["status"], result["output"]["total"], code) == ("succeeded", TOTAL, 0)
    assert [result["states"][state]["attempts"] for state in STATES] == [1, 1, 1]


def test_a_task_that_no_agent_works_on_is_told_before_anything_starts(site: Site) -> None:
    file = agents(site, '[agents.greeter]\nhandler = "handlers.py:greet"\ntasks = ["Other"]')
    result, code = result_of(site.dcf("run", str(site.folder / "hello.json"), "--agents", file, "--json"))
    assert (result["error"], code) == ("invalid_argument", 2)
    assert "Greet" in result["cause"]


def test_a_handler_that_cannot_be_imported_is_told_and_no_run_is_created(site: Site) -> None:
    file = agents(site, '[agents.greeter]\nhandler = "none.py:greet"')
    result, code = result_of(site.dcf("run", str(site.folder / "hello.json"), "--agents", file, "--json"))
    assert (result["error"], code) == ("invalid_argument", 2)
    assert "none.py" in result["cause"]
    output, _ = finish(site.dcf("ls", "--json"))
    assert "hello" not in output


def test_a_host_only_checks_its_file_when_asked(site: Site) -> None:
    file = agents(site, '[agents.greeter]\nhandler = "handlers.py:greet"\nprocess = true')
    output, code = finish(site.dcf("host", file, "--check", "--json"))
    assert (json.loads(output), code) == ({"agents": ["greeter"]}, 0)


def test_a_host_that_is_told_to_end_gives_back_what_is_not_finished(site: Site) -> None:
    file = agents(site, '[agents.sleeper]\nhandler = "handlers.py:sleep"\nprocess = true')
    host = site.dcf("host", file, "--direct", "--grace", "0", "--json")
    first_line(host)
    start = ("start", str(site.folder / "hello.json"), "--assign", "sleeper", "--id", "hello-1", "--json")
    assert finish(site.dcf(*start))[1] == 0
    wait_until((site.folder / "began").exists, LONG)
    host.send_signal(signal.SIGTERM)
    output, code = finish(host)
    stopped = json.loads(output.splitlines()[-1])
    assert (stopped["given_back"], code) == (["hello-1/Greet"], 143)
    shown = json.loads(finish(site.dcf("show", "hello-1", "--json"))[0])
    assert shown["states"]["Greet"]["lease"]["owner_agent_id"] is None
