"""The host with handlers in its process and in child processes: what reaches them, and what becomes of what they do."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from dcf.errors import InvalidArgument, RunFailed
from dcf.hosting.children import ChildCommand
from dcf.hosting.protocol import AgentProfile, AgentTool, AgentWork, ToolResult
from dcf.telemetry import tracing
from tests.support.waiting import wait_until
from tests.system.hosting.conftest import Hosted, Hosting
from tests.system.processes.site import LONG, is_alive

PLACES = pytest.mark.parametrize("process", ["false", "true"], ids=["in the host", "in a child"])


def agents(handler: str, process: str, more: str = "") -> str:
    return f'[agents.me]\nhandler = "handlers.py:{handler}"\nprocess = {process}\n{more}'


ECHO = """
async def echo(work, tools):
    print("what a handler prints harms nobody")
    return {
        "input": work.input, "instructions": work.instructions, "errors": list(work.errors), "state": work.state,
        "key": work.idempotency_key, "agent": work.agent.name, "model": work.agent.model,
    }
"""


@PLACES
def test_a_handler_gets_the_work_and_returns_the_output(hosting: Hosting, process: str) -> None:
    task = {"Instructions": "Greet {% $states.input.name %}.", "Errors": ["Rude"]}
    with hosting(agents("echo", process, 'model = "m-1"'), ECHO) as hosted:
        result = hosted.result(task, given={"name": "Ada"})
    key = result.pop("key")
    assert key.startswith("dcf-")
    assert result == {
        "input": {"name": "Ada"}, "instructions": "Greet Ada.", "errors": ["Rude"], "state": "A", "agent": hosted.agent,
        "model": "m-1",
    }  # fmt: skip


@PLACES
def test_one_agent_works_on_every_state_that_is_its_own(hosting: Hosting, process: str) -> None:
    handlers = "async def add(work, tools): return [*work.input, work.state]"
    with hosting(agents("add", process), handlers) as hosted:
        assert hosted.result({}, {}, {}, given=[]) == ["A", "B", "C"]


TRACED = """
import os
async def traced(work, tools):
    return [work.traceparent, os.environ.get("TRACEPARENT"), work.epoch]
"""


def test_a_child_has_the_trace_context_of_its_attempt_where_there_are_traces(
    hosting: Hosting, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(hosted: Hosted) -> list[Any]:
        result: list[Any] = hosted.result({})
        return result

    with hosting(agents("traced", "true"), TRACED) as hosted:
        assert told(hosted)[:2] == ["", None]
        monkeypatch.setattr(tracing, "current", tracing.Tracing("http://127.0.0.1:9/v1/traces"))
        header, in_environment, epoch = told(hosted)
    version, _, span, _ = header.split("-")
    assert version == "00"
    assert in_environment == header
    assert len(span) == 16
    assert epoch > 0


FAILS = """
from dcf.hosting.protocol import TaskFailed
async def fail(work, tools):
    raise TaskFailed("OutOfStock", "there are none left")
"""


@PLACES
def test_a_handler_fails_a_state_by_name(hosting: Hosting, process: str) -> None:
    with hosting(agents("fail", process), FAILS) as hosted, pytest.raises(RunFailed) as failed:
        hosted.result()
    assert (failed.value.error, failed.value.cause) == ("OutOfStock", "there are none left")


@PLACES
@pytest.mark.parametrize("output", ["float('nan')", "object()", "'\\udc80'"])
def test_an_output_that_is_no_json_fails_the_state(hosting: Hosting, process: str, output: str) -> None:
    handlers = f"async def strange(work, tools): return {output}"
    with hosting(agents("strange", process), handlers) as hosted, pytest.raises(RunFailed) as failed:
        hosted.result()
    assert failed.value.error == "DCF.InvalidOutput"


BREAKS = """
from pathlib import Path
HERE = Path(__file__).parent / "turns"

def turn():
    with HERE.open("a") as file:
        file.write("x")
    return HERE.stat().st_size

async def breaks(work, tools):
    if turn() < 3:
        raise ConnectionError("the model is away")
    return "done"

async def dies(work, tools):
    import os
    if turn() < 3:
        os._exit(7)
    return "done"

async def exits(work, tools):
    if turn() < 3:
        raise SystemExit(3)
    return "done"

async def never(work, tools):
    turn()
    raise ConnectionError("the model is away")
"""


@pytest.mark.parametrize(
    ("handler", "process"),
    [("breaks", "false"), ("breaks", "true"), ("dies", "true"), ("exits", "false"), ("exits", "true")],
)
def test_a_turn_that_breaks_is_tried_again_under_the_same_lease(hosting: Hosting, handler: str, process: str) -> None:
    with hosting(agents(handler, process), BREAKS) as hosted:
        run = hosted.start({})
        assert hosted.client.result(run) == "done"
        assert hosted.state(run).attempts == 1
        assert (hosted.folder / "turns").read_text() == "xxx"


@PLACES
def test_a_turn_that_always_breaks_fails_the_state_with_the_name_of_what_it_raised(
    hosting: Hosting, process: str
) -> None:
    with hosting(agents("never", process, "tries = 2"), BREAKS) as hosted:
        with pytest.raises(RunFailed) as failed:
            hosted.result()
        assert failed.value.error == "ConnectionError"
        assert "the model is away" in (failed.value.cause or "")
        assert (hosted.folder / "turns").read_text() == "xx"


WAITS = """
import asyncio, os, time
from pathlib import Path
HERE = Path(__file__).parent

async def waits(work, tools):
    if work.input == "quick":
        return "quick"
    (HERE / "began").write_text(str(os.getpid()))
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        (HERE / "cancelled").write_text("")
        raise

async def deaf(work, tools):
    if work.input == "quick":
        return "quick"
    (HERE / "began").write_text(str(os.getpid()))
    time.sleep(3600)
"""


@PLACES
def test_a_cancelled_run_cancels_its_turn_and_the_agent_goes_on(hosting: Hosting, process: str) -> None:
    with hosting(agents("waits", process), WAITS) as hosted:
        run = hosted.start({}, given="slow")
        wait_until((hosted.folder / "began").exists, LONG)
        hosted.client.cancel(run)
        wait_until((hosted.folder / "cancelled").exists, LONG)
        assert hosted.result(given="quick") == "quick"


def test_a_child_that_does_not_hear_that_it_is_cancelled_is_killed(hosting: Hosting) -> None:
    with hosting(agents("deaf", "true"), WAITS) as hosted:
        run = hosted.start({}, given="slow")
        began = hosted.folder / "began"
        wait_until(lambda: began.exists() and began.read_text(), LONG)
        hosted.client.cancel(run)
        wait_until(lambda: not is_alive(int(began.read_text())), LONG)
        assert hosted.result(given="quick") == "quick"


@PLACES
def test_a_turn_that_takes_too_long_is_cancelled_and_counts_as_broken(hosting: Hosting, process: str) -> None:
    """It gets more time where the machine was so busy that the turn did not begin within the time."""
    for seconds in (1, 5, 30):
        with hosting(agents("waits", process, f"turn_timeout_s = {seconds}\ntries = 1"), WAITS) as hosted:
            with pytest.raises(RunFailed) as failed:
                hosted.result(given="slow")
            assert failed.value.error == "TimeoutError"
            if (hosted.folder / "began").exists():
                break
    assert (hosted.folder / "cancelled").exists()


TOGETHER = """
import asyncio
MOST = NOW = 0
async def together(work, tools):
    global MOST, NOW
    NOW += 1
    MOST = max(MOST, NOW)
    while MOST < work.input:  # until as many as may have met
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.05)  # in which one more would come
    NOW -= 1
    return MOST
"""


@pytest.mark.parametrize("concurrency", [1, 3])
def test_an_agent_has_as_many_turns_at_a_time_as_it_is_allowed(hosting: Hosting, concurrency: int) -> None:
    each = {"StartAt": "One", "States": {"One": {"Type": "Task", "End": True}}}
    states = {"Each": {"Type": "Map", "ItemProcessor": each, "End": True}}
    more = f"concurrency = {concurrency}"
    with hosting(agents("together", "false", more), TOGETHER) as hosted:
        value = [concurrency] * 6
        run = hosted.client.start({"asl": {"StartAt": "Each", "States": states}}, value, agents=hosted.agent)
        assert max(hosted.client.result(run.workflow_id, timeout_s=LONG)) == concurrency


def test_only_named_and_harmless_variables_reach_a_child(hosting: Hosting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DCF_API_KEY", "secret-key")
    monkeypatch.setenv("REDIS_URL", "redis://secret")
    monkeypatch.setenv("REDIS_PASSWORD", "secret")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("MODEL_KEY", "for-the-model")
    handlers = "import os\nasync def look(work, tools): return dict(os.environ)"
    with hosting(agents("look", "true", 'environment = { OWN = "${MODEL_KEY}!" }'), handlers) as hosted:
        seen = hosted.result()
    assert "MODEL_KEY" not in seen
    assert seen["OWN"] == "for-the-model!"
    assert "secret" not in str(seen)


def test_a_tool_that_breaks_in_the_host_is_a_result_for_the_handler_in_a_child(tmp_path: Path) -> None:
    class Broken:
        def list(self) -> Sequence[AgentTool]:
            return []

        async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
            raise RuntimeError(name, arguments)

        def report_usage(self, **used: Any) -> None:
            raise AssertionError(used)

    (tmp_path / "calls.py").write_text(
        "async def handle(work, tools):\n"
        "    found = await tools.call('look', {})\n"
        "    return [found.text, found.is_error]\n"
    )
    work = AgentWork(workflow_id="w", state="A", input=None, agent=AgentProfile(name="me"))

    async def turn() -> Any:
        child = await ChildCommand(source="calls.py:handle", folder=tmp_path, environment=dict(os.environ)).start()
        try:
            return await asyncio.wait_for(child.turn(work, Broken()), LONG)
        finally:
            await child.close()

    assert asyncio.run(turn()) == ["The tool broke (RuntimeError).", True]


def test_agents_that_are_started_alike_share_a_process(hosting: Hosting) -> None:
    handlers = "import os\nasync def who(work, tools): return [*work.input, os.getpid()]"
    both = "".join(f'[agents.{name}]\nhandler = "handlers.py:who"\nprocess = true\n' for name in ("me", "you"))
    with hosting(both, handlers) as hosted:
        machine = {"StartAt": "A", "States": {"A": {"Type": "Task", "Next": "B"}, "B": {"Type": "Task", "End": True}}}
        run = hosted.client.start({"asl": machine}, [], agents={"A": hosted.agent, "B": "you"})
        first, second = hosted.client.result(run.workflow_id)
        assert first == second != os.getpid()
        assert hosted.host.processes() == [first]
    wait_until(lambda: not is_alive(first), LONG)


@PLACES
@pytest.mark.parametrize(
    ("handlers", "said"),
    [("import no_such_sdk", "no_such_sdk"), ("def handle(work, tools): ...", "no async function 'handle'")],
)
def test_a_handler_that_cannot_be_used_is_told_before_any_work(
    hosting: Hosting, handlers: str, said: str, process: str
) -> None:
    with pytest.raises(InvalidArgument, match=said), hosting(agents("handle", process), handlers):
        pass


def test_an_interpreter_that_is_not_there_is_told_by_its_name(hosting: Hosting) -> None:
    more = 'python = "/no/such/python"'
    with pytest.raises(InvalidArgument, match="/no/such/python"), hosting(agents("echo", "true", more), ECHO):
        pass


def test_a_handler_may_import_what_lies_beside_the_agents_file(hosting: Hosting, tmp_path: Path) -> None:
    (tmp_path / "prices_of_this_test.py").write_text("PRICE = 3")
    handlers = "import prices_of_this_test\nasync def price(work, tools): return prices_of_this_test.PRICE"
    with hosting(agents("price", "true"), handlers) as hosted:
        result: Any = hosted.result()
    assert result == 3
