"""Arguments of tools: what is accepted, what is refused, and how the refusal reads."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_server
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.tools.calls import ONE_TASK, TWO_TASKS, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


async def _refusal(tools: Tools, tool: str, /, **arguments: Any) -> tuple[str, str]:
    answer = await tools.refused("invalid_argument", tool, **arguments)
    assert answer.broken
    return answer.error.removeprefix("invalid_argument: "), answer.hint


async def test_an_unknown_argument_is_refused_by_name(tools: Tools) -> None:
    error, hint = await _refusal(tools, "read_workflow_control_plane", workflow_id="r", include_metas=True)
    assert error == "There is no argument 'include_metas'."
    assert "include_inputs," in hint


async def test_an_unknown_argument_is_told_before_anything_else(tools: Tools) -> None:
    error, _ = await _refusal(tools, "acquire_state_lease", workflow=1, lease_ttl_s="x")
    assert error == "There is no argument 'workflow'."


async def test_a_missing_argument_is_named(tools: Tools) -> None:
    error, hint = await _refusal(tools, "acquire_state_lease", workflow_id="r", state="A")
    assert (error, hint[:30]) == ("The argument owner_agent_id is missing.", "owner_agent_id: Your agent id.")


@rows("ttl", [0, -1, 10**9, 10**30, 1.5, "x", "300", True, None, [300], float("nan")])
@rows("tool", ["acquire_state_lease", "claim_ready_state"])
async def test_a_lease_lasts_between_a_second_and_a_day(tools: Tools, ttl: object, tool: str) -> None:
    state = {"state": "A"} if tool == "acquire_state_lease" else {}
    error, hint = await _refusal(tools, tool, workflow_id="r", owner_agent_id="a", lease_ttl_s=ttl, **state)
    assert error == "lease_ttl_s must be a whole number between 1 and 86400."
    assert hint


@pytest.mark.parametrize("ttl", [1, 3600])
async def test_the_bounds_of_a_lease_are_possible(tools: Tools, run_id: str, ttl: int) -> None:
    await new_run(tools, run_id)
    answer = await tools.ok(
        "acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="worker-1", lease_ttl_s=ttl
    )
    assert answer["lease"]["ttl_s"] == ttl


WRONG = [
    ("acquire_state_lease", "attempts_increment", 0, "a whole number between 1 and 100"),
    ("acquire_state_lease", "attempts_increment", 101, "a whole number between 1 and 100"),
    ("acquire_state_lease", "require_ready", "yes", "true or false"),
    ("acquire_state_lease", "set_running_on_acquire", 1, "true or false"),
    ("acquire_state_lease", "lease_token", "", "a non-empty string of at most 200 characters"),
    ("acquire_state_lease", "lease_token", 7, "a non-empty string of at most 200 characters"),
    ("acquire_state_lease", "state", "", "a non-empty string of at most 400 characters"),
    ("update_workflow_control_plane", "attempts_increment", -1, "a whole number between 0 and 100"),
    ("update_workflow_control_plane", "error_message", {"a": 1}, "a string of at most 20000 characters"),
    ("update_workflow_control_plane", "new_status", "finished", "succeeded, failed, running or pending"),
    ("read_workflow_control_plane", "states_json", 7, "a string or an array"),
    ("create_workflow_control_plane", "workflow_json", 7, "a string or an object"),
    ("create_workflow_control_plane", "agents_map_json", [], "a string or an object"),
    ("create_workflow_control_plane", "max_attempts", 0, "a whole number between 1 and 1000"),
    ("create_workflow_control_plane", "expiry_secs", -5, "a whole number between 1 and 31536000"),
    ("await_workflow_event", "timeout_s", 51, "a number between 0 and 50"),
    ("await_workflow_event", "timeout_s", -1, "a number between 0 and 50"),
    ("await_workflow_event", "timeout_s", float("nan"), "a number between 0 and 50"),
    ("notify_next_worker_agent", "message_role", "root", "one of system, user, assistant"),
    ("notify_next_worker_agent", "max_steps", 0, "a whole number between 1 and 1000"),
    ("finalize_workflow", "overall_status", "done", "one of succeeded, failed, partial, cancelled"),
]
MINIMAL: dict[str, dict[str, Any]] = {
    "create_workflow_control_plane": {"workflow_json": ONE_TASK},
    "await_workflow_event": {"agent_id": "a"},
    "acquire_state_lease": {"workflow_id": "r", "state": "A", "owner_agent_id": "a"},
    "update_workflow_control_plane": {"workflow_id": "r", "state": "A"},
    "read_workflow_control_plane": {"workflow_id": "r"},
    "notify_next_worker_agent": {"workflow_id": "r"},
    "finalize_workflow": {"workflow_id": "r"},
}


@rows(("tool", "name", "value", "wanted"), WRONG)
async def test_a_wrong_value_is_answered_with_what_it_should_be(
    tools: Tools, tool: str, name: str, value: object, wanted: str
) -> None:
    error, _ = await _refusal(tools, tool, **MINIMAL[tool] | {name: value})
    assert error == f"{name} must be {wanted}."


@rows(
    ("tool", "arguments", "words"),
    [
        ("acquire_state_lease", {"require_ready": False}, "require_ready=false is not possible"),
        ("notify_next_worker_agent", {"include_only_ready": False}, "include_only_ready=false is not possible"),
        ("update_workflow_control_plane", {"output_ttl_secs": 60}, "output_ttl_secs is not possible"),
    ],
)
async def test_what_the_seed_allowed_and_cannot_be_done_safely_is_refused(
    tools: Tools, tool: str, arguments: dict[str, Any], words: str
) -> None:
    error, _ = await _refusal(tools, tool, **MINIMAL[tool] | arguments)
    assert words in error


@rows("url", ["", "redis://:pw-canary@evil:6379/0", "unix:///var/run/docker.sock", "own"])
async def test_no_caller_chooses_the_redis_server(application: Application, tools: Tools, url: str) -> None:
    sent = application.redis_url if url == "own" else url
    for tool, arguments in MINIMAL.items():
        answer = await tools.refused("invalid_argument", tool, **arguments, redis_url=sent)
        assert answer.error == "invalid_argument: redis_url must be 'default'."
        assert answer.broken
        assert not sent or sent not in answer.text


async def test_the_configured_redis_may_be_named(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    await tools.ok("read_workflow_control_plane", workflow_id=run_id, redis_url="default")


async def test_an_operators_rights_are_not_for_everybody(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    await lease_on(tools, run_id)
    for tool, arguments in (
        ("release_state_lease", {"force": True}),
        ("acquire_state_lease", {"require_owner_match": False, "owner_agent_id": "other"}),
    ):
        answer = await tools.refused("forbidden", tool, workflow_id=run_id, state="A", **arguments)
        assert answer.broken
        assert "DCF_ALLOW_OPERATOR" in answer.hint


async def test_an_operator_may_release_and_take_what_belongs_to_others(
    tools: Tools, operator: Tools, run_id: str
) -> None:
    await new_run(tools, run_id)
    token = await lease_on(tools, run_id)
    released = await operator.ok("release_state_lease", workflow_id=run_id, state="A", force=True)
    assert released["status"] == "lease_released"
    assert token not in released.text
    taken = await operator.ok(
        "acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="other", require_owner_match=False
    )
    assert taken["lease"]["owner_agent_id"] == "other"


VALUES: list[object] = [{"a": [1, None]}, [1, "x"], 7, 1.5, True, None, "text"]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("as_text", [True, False])
async def test_an_output_may_be_any_json_as_text_or_as_it_is(
    tools: Tools, run_id: str, value: object, as_text: bool
) -> None:
    await new_run(tools, run_id)
    token = await lease_on(tools, run_id)
    sent = json.dumps(value) if as_text or isinstance(value, str) else value
    await tools.ok(
        "update_workflow_control_plane",
        workflow_id=run_id,
        state="A",
        lease_token=token,
        new_status="succeeded",
        output_json=sent,
    )
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id)
    assert read["outputs"] == {"A": value}
    assert read["meta"]["output"] == value


@pytest.mark.parametrize("value", [{"a": 1}, [1], 7, 1.5, False, "text"])
@pytest.mark.parametrize("as_text", [True, False])
async def test_an_input_may_be_any_json_as_text_or_as_it_is(
    tools: Tools, run_id: str, value: object, as_text: bool
) -> None:
    sent = json.dumps(value) if as_text or isinstance(value, str) else value
    await new_run(tools, run_id, input_json=sent)
    answer = await tools.ok("claim_ready_state", workflow_id=run_id, owner_agent_id="worker-1")
    assert answer["work"]["input"] == value


@pytest.mark.parametrize("value", [{"note": "x"}, ["x"], 7, "text"])
@pytest.mark.parametrize("as_text", [True, False])
async def test_a_payload_may_be_any_json_as_text_or_as_it_is(
    tools: Tools, run_id: str, value: object, as_text: bool
) -> None:
    agent = f"agent-{run_id}"
    sent = json.dumps(value) if as_text or isinstance(value, str) else value
    await new_run(tools, run_id, agents_map_json={"A": agent})
    await tools.ok("notify_next_worker_agent", workflow_id=run_id, payload_json=sent)
    event = await tools.ok("await_workflow_event", lease=False, agent_id=agent, timeout_s=50)
    assert event["event"]["payload"] == value


@rows("as_text", [True, False])
async def test_documents_and_lists_may_be_text_or_native(tools: Tools, run_id: str, as_text: bool) -> None:
    def sent(value: object) -> object:
        return json.dumps(value) if as_text else value

    await tools.ok(
        "create_workflow_control_plane",
        workflow_json=sent(TWO_TASKS),
        workflow_id=run_id,
        agents_map_json=sent({"A": ["w1", "w2"], "B": "w3"}),
    )
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id, states_json=sent(["B"]))
    assert list(read["states"]) == ["B"]
    assert read["meta"]["agents"]["A"] == ["w1", "w2"]
    skipped = await tools.ok(
        "notify_if_ready", workflow_id=run_id, state="A", skip_if_status_in_json=sent(["pending", "done"])
    )
    assert (skipped["skipped"], skipped["skip_reason"]) == (True, "status_in_skip_list:pending")


@rows("states", ["[]", [], None])
async def test_no_states_means_all_states(tools: Tools, run_id: str, states: object) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    read = await tools.ok("read_workflow_control_plane", workflow_id=run_id, states_json=states)
    assert list(read["states"]) == ["A", "B"]


@rows("wrong", ["5", "null", '"pending"', "[1]", '{"a": 1}', [None], "[", '["a\\n"]'])
@rows("name", ["states_json", "skip_if_status_in_json"])
async def test_a_list_of_names_is_nothing_else(tools: Tools, run_id: str, name: str, wrong: object) -> None:
    await new_run(tools, run_id)
    tool = "read_workflow_control_plane" if name == "states_json" else "notify_if_ready"
    state = {} if name == "states_json" else {"state": "A"}
    error, _ = await _refusal(tools, tool, workflow_id=run_id, **state, **{name: wrong})
    assert error.startswith(name)


async def test_a_state_that_is_held_or_waits_is_not_announced(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    waits = await tools.ok("notify_if_ready", workflow_id=run_id, state="B")
    assert (waits["ready"], waits["skip_reason"]) == (False, "upstream_incomplete")
    await lease_on(tools, run_id)
    answer = await tools.ok("notify_if_ready", workflow_id=run_id, state="A")
    assert (answer["skipped"], answer["skip_reason"]) == (True, "status_in_skip_list:running")


async def test_all_problems_of_a_workflow_are_listed(tools: Tools) -> None:
    workflow = {"asl": {"StartAt": "X", "States": {"A": {"Type": "Task", "Next": "Y"}, "B": {"Type": "Nothing"}}}}
    answer = await tools.refused(
        "invalid_definition", "create_workflow_control_plane", workflow_json=workflow, workflow_id="bad"
    )
    assert answer.broken
    assert {problem["path"] for problem in answer["problems"]} >= {"/asl/StartAt", "/asl/States/A/Next"}


async def test_refusals_that_were_to_be_expected_are_no_errors_of_the_call(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    wish = {"workflow_id": run_id, "owner_agent_id": "worker-1"}
    assert not (await tools.refused("not_ready", "acquire_state_lease", **wish, state="B")).broken
    mismatch = wish | {"owner_agent_id": "other"}
    assert not (await tools.refused("owner_mismatch", "acquire_state_lease", **mismatch, state="A")).broken
    token = await lease_on(tools, run_id)
    refused = await tools.refused("lease_held", "acquire_state_lease", **wish, state="A", lease_token="another")
    assert not refused.broken
    assert refused["retry_after_s"] > 0
    assert token not in refused.text
    assert not (await tools.refused("nothing_ready", "claim_ready_state", **wish)).broken
    lost = {"workflow_id": run_id, "state": "A", "lease_token": "wrong"}
    for tool in ("renew_state_lease", "release_state_lease", "update_workflow_control_plane"):
        assert not (await tools.refused("lease_lost", tool, **lost)).broken
    missing = {"workflow_id": run_id, "state": "A"}
    assert not (await tools.refused("token_required", "update_workflow_control_plane", **missing)).broken
    different = {"workflow_json": ONE_TASK, "workflow_id": run_id}
    assert not (await tools.refused("conflict", "create_workflow_control_plane", **different)).broken


async def test_what_cannot_be_carried_out_is_an_error_of_the_call(tools: Tools, run_id: str) -> None:
    unknown = await tools.refused("unknown_run", "finalize_workflow", workflow_id="nobody")
    assert unknown.broken
    assert unknown["workflow_id"] == "nobody"
    await new_run(tools, run_id)
    state = await tools.refused("unknown_state", "notify_if_ready", workflow_id=run_id, state="Z")
    assert state.broken


async def test_a_password_of_redis_is_in_no_answer_and_no_log(
    replica: Replica, own_redis: RestrictedRedis, raw_redis: redis.Redis, run_id: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The server's user vanishes while it serves: whatever it says then, it does not say the password."""
    caplog.set_level("DEBUG")
    rights = ["~*", "&*", "+@all"]
    raw_redis.execute_command("ACL", "SETUSER", "canary", "on", ">pw-canary", *rights)  # type: ignore[no-untyped-call]
    url = own_redis.url_of("canary", "pw-canary")
    async with Client(build_server(replica(redis_url=url))) as client:
        tools = await Tools.of(client)
        await new_run(tools, run_id)
        raw_redis.acl_deluser("canary")
        for tool in ("read_workflow_control_plane", "finalize_workflow"):
            answer = await tools.refused("store_unavailable", tool, workflow_id=run_id)
            assert answer.broken
            assert "pw-canary" not in answer.text
    assert "pw-canary" not in caplog.text
