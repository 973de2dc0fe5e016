"""Commands call tools by name, on this machine and at a server, with the same answers and errors."""

import pytest

from dcf.cli.places.choice import name_context
from dcf.cli.places.place import client, place
from dcf.errors import ToolCallFailed, UnknownRun
from tests.cli.conftest import Dcf, Seed
from tests.support.tables import rows


@pytest.fixture(autouse=True)
def _no_option() -> None:
    """No command of this process has named a context."""
    name_context(None)


@pytest.fixture(params=["local", "prod"])
def used(request: pytest.FixtureRequest, dcf_at_server: Dcf, dcf: Dcf, monkeypatch: pytest.MonkeyPatch) -> str:
    """Either place, in use."""
    monkeypatch.setenv("DCF_CONTEXT", request.param)
    return str(request.param)


def test_a_tool_is_called_by_its_name(used: str, seed: Seed) -> None:
    run = seed(agent="agent-1")
    with place() as here:
        assert here.choice.context.name == used
        assert here.call("pause_run", workflow_id=run)["workflow_id"] == run
        assert run in {row["workflow_id"] for row in here.call("list_runs", limit=200)["runs"]}


def test_a_tool_that_waits_may_be_called_more_than_once(used: str, seed: Seed) -> None:
    seed(agent="agent-1")
    with place() as here:
        for _ in range(2):
            answer = here.call("await_workflow_event", agent_id="agent-of-nobody", timeout_s=1)
            assert (answer["code"], answer["status"]) == ("ok", "timeout")


@rows(
    ("tool", "arguments", "code"),
    [
        ("pause_run", {"workflow_id": "no-such-run"}, "unknown_run"),
        ("pause_run", {"workflow_id": "no id"}, "invalid_argument"),
        ("resolve_state", {"workflow_id": "x", "state": "A", "skip": True, "error": "E"}, "invalid_argument"),
        ("await_workflow_event", {"agent_id": "no id"}, "invalid_argument"),
    ],
)
def test_a_failure_has_the_code_of_the_tool(used: str, tool: str, arguments: dict[str, object], code: str) -> None:
    with place() as here, pytest.raises(ToolCallFailed) as failed:
        here.call(tool, **arguments)
    assert failed.value.code == code
    assert failed.value.answer["code"] == code


def test_a_refusal_is_raised_as_well(used: str, seed: Seed) -> None:
    run = seed()
    with place() as here, pytest.raises(ToolCallFailed) as refused:
        here.call("pause_run", workflow_id=run)
    assert (refused.value.code, refused.value.answer["code"]) == ("run_over", "run_over")


def test_a_command_of_several_calls_has_a_client(used: str, seed: Seed) -> None:
    run = seed(agent="agent-1")
    with client() as opened:
        assert opened.pause(run).paused_at is not None
        assert opened.get(run).status == "running"
        assert run in {listed.workflow_id for listed in opened.list()}
        with pytest.raises(UnknownRun):
            opened.get("no-such-run")
