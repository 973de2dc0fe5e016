"""A defect of dcf itself, seen from outside."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.core.documents.model import RunStatus
from dcf.core.documents.refusals import RUN_OVER
from dcf.errors import PlatformUnavailable
from dcf.tools.mcp.server import build_server
from dcf.verbs.registry import TOOLS, Answer, Arguments, refused
from dcf.workforce.steps import Step
from tests.tools.calls import Tools
from tests.tools.registering import tool

pytestmark = pytest.mark.anyio

SECRET = "secret-canary in an exception"


class _Nothing(Arguments):
    """Break: a tool for one test."""


@pytest.fixture(params=["raises", "answers nonsense", "raises while awaited"])
def broken(request: pytest.FixtureRequest) -> Iterator[str]:
    def broken_tool(app: Application, args: _Nothing) -> Answer:
        if request.param == "raises":
            raise RuntimeError(SECRET)
        nonsense: Any = {"status": SECRET}
        answer: Answer = nonsense
        return answer

    async def broken_async_tool(app: Application, args: _Nothing) -> Answer:
        raise KeyError(SECRET)

    function = broken_async_tool if request.param == "raises while awaited" else broken_tool
    tool(Scope.READ, _Nothing)(function)
    yield function.__name__
    del TOOLS._specs[function.__name__]


async def test_a_defect_is_an_internal_error_that_tells_nothing(
    broken: str, application: Application, caplog: pytest.LogCaptureFixture
) -> None:
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        answer = await tools.refused("internal_error", broken)
    assert answer.broken
    assert answer.error == "internal_error: Something failed inside the server."
    assert "canary" not in answer.text
    assert any(record.exc_info for record in caplog.records if broken in record.getMessage())


async def test_the_server_goes_on_after_a_defect(broken: str, application: Application) -> None:
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await tools.refused("internal_error", broken)
        await tools.refused("unknown_run", "read_workflow_control_plane", workflow_id="nobody")


async def test_a_platform_that_is_down_is_said_to_be_and_when_to_try_again(application: Application) -> None:
    def down_tool(app: Application, args: _Nothing) -> Answer:
        raise PlatformUnavailable("The agent platform does not answer.", retry_after_s=7)

    tool(Scope.READ, _Nothing)(down_tool)
    try:
        async with Client(build_server(application)) as client:
            answer = await (await Tools.of(client)).refused("platform_unavailable", "down_tool")
    finally:
        del TOOLS._specs["down_tool"]
    assert answer["retry_after_s"] == 7
    assert answer.broken


def test_the_next_calls_stand_in_an_answer_only_where_there_are_any() -> None:
    step = Step(tool="await_workflow_event", arguments={"agent_id": "a"}, why="There is nothing to do now.").as_json()
    refusal = RUN_OVER.refuse(status=RunStatus.CANCELLED)
    assert Answer(status="done", next=[step]).payload()["next"] == [step]
    assert refused(Answer, refusal, next=[step]).payload()["next"] == [step]
    assert "next" not in Answer(status="done").payload() | refused(Answer, refusal).payload()
