"""Documents of runs under the JSON tools: readable without secrets, and corrected by hand only within the protocol."""

import json
from typing import Any

import pytest
import redis

from dcf.application.application import Application, open_application
from dcf.core.documents import codec
from dcf.core.documents.model import RunStatus
from dcf.store.events.history import Happening
from tests.support.redis.documents import read_document, read_member
from tests.support.redis.redis_contents import content_of
from tests.support.tables import rows
from tests.support.waiting import wait_until
from tests.tools.calls import TWO_TASKS, Answer, Tools, lease_on, new_run

pytestmark = pytest.mark.anyio

CANARY = "canary-token"


def keys(run: str) -> dict[str, str]:
    return {
        "meta": f"cp:wf:{run}:meta",
        "definition": f"cp:wf:{run}:definition",
        "state": f"cp:wf:{run}:state:A",
        "input": f"dp:wf:{run}:input:A",
        "output": f"dp:wf:{run}:output:A",
        "audit": f"dp:wf:{run}:audit:finalize",
    }


def everything(raw_redis: redis.Redis, run: str) -> dict[bytes, Any]:
    """All that is stored of a run."""
    keys: Any = raw_redis.keys(f"*wf:{run}:*")
    client: Any = raw_redis
    return {key: content_of(client.execute_command, key) for key in sorted(keys)}


def edits(application: Application, run: str) -> list[Happening]:
    return [entry for entry in application.history.after(run) if entry.type == "DocumentEdited"]


async def value(tools: Tools, key: str, path: str = "$") -> Any:
    return json.loads((await tools.ok("json_read", redis_key=key, path=path))["value_json"])


async def test_every_document_of_a_run_can_be_read(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    token = await lease_on(tools, run_id)
    done = {"workflow_id": run_id, "state": "A", "lease_token": token, "new_status": "succeeded"}
    await tools.ok("update_workflow_control_plane", **done, output_json={"n": 1})
    await tools.ok("finalize_workflow", workflow_id=run_id)
    for key in keys(run_id).values():
        assert await value(tools, key) is not None, key
    assert await value(tools, keys(run_id)["meta"], "status") == "succeeded"
    assert await value(tools, keys(run_id)["output"], "n") == 1


async def test_an_ended_state_is_read_with_every_field_that_it_had_while_it_was_open(tools: Tools, run_id: str) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    open_state = await value(tools, f"cp:wf:{run_id}:state:B")
    for state in ("A", "B"):
        token = await lease_on(tools, run_id, state)
        done = {"workflow_id": run_id, "state": state, "lease_token": token, "new_status": "succeeded"}
        await tools.ok("update_workflow_control_plane", **done, output_json={"n": 1})
    ended = await value(tools, f"cp:wf:{run_id}:state:B")
    assert ended.keys() == open_state.keys()
    assert ended["lease"].keys() == open_state["lease"].keys()
    assert {name for name, result in ended["lease"].items() if result is not None} == {"epoch"}
    assert ended["waits_for"].keys() == {"A"}
    assert (await value(tools, f"cp:wf:{run_id}:state:B", "lease.token")) is None
    shown = (await tools.ok("read_workflow_control_plane", workflow_id=run_id))["states"]["B"]
    details = {name: result for name, result in ended.items() if result is not None and name != "lease"}
    assert details.items() <= shown.items()
    assert "lease" not in shown, "nobody holds it"


async def test_the_workflow_of_an_ended_run_is_read_as_that_of_an_open_one(
    tools: Tools, application: Application, raw_redis: redis.Redis, run_id: str
) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    written = {kind: await value(tools, keys(run_id)[kind]) for kind in ("definition", "meta")}
    for state in ("A", "B"):
        token = await lease_on(tools, run_id, state)
        done = {"workflow_id": run_id, "state": state, "lease_token": token, "new_status": "succeeded"}
        await tools.ok("update_workflow_control_plane", **done)
    client: Any = raw_redis
    for _ in range(2):  # what is owed is delivered first
        application.clock.pulse()
        application.clock.finish(10.0)
    assert isinstance(read_document(client.execute_command, keys(run_id)["definition"]), str)
    assert isinstance(read_member(client.execute_command, keys(run_id)["meta"], "deps"), str)
    deps = {"A": {"upstream": [], "downstream": ["B"]}, "B": {"upstream": ["A"], "downstream": []}}
    shown = (await tools.ok("read_workflow_control_plane", workflow_id=run_id))["meta"]
    assert written["meta"]["deps"] == deps
    assert await value(tools, keys(run_id)["meta"], "deps") == shown["deps"] == deps
    assert await value(tools, keys(run_id)["definition"]) == written["definition"]
    with open_application(application.settings) as other:
        definition = other.control_plane.run(run_id).definition
    assert (definition.document, definition.deps) == (written["definition"], deps)


async def test_nobody_sees_a_lease_token(tools: Tools, operator: Tools, run_id: str) -> None:
    await new_run(tools, run_id)
    await lease_on(tools, run_id, lease_token=CANARY)
    key = keys(run_id)["state"]
    text = [
        await user.call(tool, redis_key=key, **arguments)
        for user in (tools, operator)
        for tool, arguments in (
            ("json_read", {}),
            ("json_read", {"path": "lease"}),
            ("json_read", {"path": "lease.token"}),
            ("json_read", {"path": "last"}),
            ("json_copy", {"from_path": "lease.token", "to_path": "note"}),
            ("json_move", {"from_path": "lease", "to_path": "mine"}),
            ("json_append", {"path": "lease.token", "value_json": '"x"'}),
            ("json_set", {"path": "note", "value_json": "1"}),
            ("json_increment", {"path": "attempts", "delta": 1}),
        )
    ]
    assert not any(CANARY in answer.text for answer in text)
    assert await value(tools, key, "lease.token") == "***"


async def test_only_an_operator_or_the_planner_writes_and_the_planner_only_agents(
    tools: Tools, raw_redis: redis.Redis, run_id: str
) -> None:
    await new_run(tools, run_id, planner_agent_id="planner-1")
    before = everything(raw_redis, run_id)
    meta, state = keys(run_id)["meta"], keys(run_id)["state"]
    for key, arguments in (
        (meta, {"path": "agents", "value_json": {"A": "w"}, "agent_id": "other"}),
        (meta, {"path": "finalize_note", "value_json": '"x"'}),
        (meta, {"path": "finalize_note", "value_json": '"x"', "agent_id": "planner-1"}),
        (meta, {"path": "$", "value_json": {"agents": {"A": "w"}}, "agent_id": "planner-1"}),
        (meta, {"path": "planner_agent_id", "value_json": '"other"', "agent_id": "planner-1"}),
        (state, {"path": "last_error", "value_json": '"x"', "agent_id": "planner-1"}),
    ):
        answer = await tools.refused("forbidden", "json_set", redis_key=key, **arguments)
        assert answer.broken
    await tools.refused("invalid_edit", "json_delete", redis_key=meta, path="agents")
    await tools.refused("forbidden", "json_increment", redis_key=meta, path="x", delta=1)
    assert everything(raw_redis, run_id) == before


async def test_the_planner_of_a_run_records_who_does_what(tools: Tools, application: Application, run_id: str) -> None:
    """The seed's planner flow, step 6."""
    await new_run(tools, run_id, TWO_TASKS, planner_agent_id="planner-1", agents_map_json={})
    meta = keys(run_id)["meta"]
    mapping = {"A": "worker-a", "B": ["worker-b", "worker-c"]}
    wish = {"redis_key": meta, "path": "$.agents", "value_json": json.dumps(mapping), "agent_id": "planner-1"}
    assert (await tools.ok("json_set", **wish))["status"] == "set"
    assert (await tools.ok("json_set", **wish))["status"] == "unchanged"
    await tools.ok("json_merge", redis_key=meta, path="agents", patch_json={"B": "worker-d"}, agent_id="planner-1")
    await tools.refused("owner_mismatch", "acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="x")
    await tools.ok("acquire_state_lease", workflow_id=run_id, state="A", owner_agent_id="worker-a")
    assert await value(tools, meta, "agents") == {"A": "worker-a", "B": "worker-d"}
    first, second = edits(application, run_id)
    details = {"key": meta, "path": "$.agents", "operation": "json_set", "who": "planner-1"}
    assert (first.data, first.state) == (details, None)
    assert second.data["operation"] == "json_merge"


WRONG_AGENTS: list[Any] = [None, [], "A", {"Z": "w"}, {"A": ""}, {"A": "a b"}, {"A": []}, {"A": {"id": "w"}}, {"A": 7}]


@rows("agents", WRONG_AGENTS)
async def test_assignments_stay_assignments(tools: Tools, operator: Tools, run_id: str, agents: Any) -> None:
    await new_run(tools, run_id, planner_agent_id="p")
    wish = {"redis_key": keys(run_id)["meta"], "path": "agents", "value_json": json.dumps(agents)}
    for answer in (
        await tools.refused("invalid_edit", "json_set", **wish, agent_id="p"),
        await operator.refused("invalid_edit", "json_set", **wish),
    ):
        assert "meta.agents" in answer.error or "agent id" in answer.error
    assert await value(tools, wish["redis_key"], "agents") == {"A": "worker-1"}


FIXED_META = [
    "workflow_id", "workflow_name", "schema_version", "definition_sha256", "created_at", "start_at", "terminal_states",
    "states", "deps", "status", "input", "deadline", "started_at", "finished_at", "finalized_at", "output", "error",
]  # fmt: skip


@rows("name", FIXED_META)
@rows("sent", ['"succeeded"', "null", "{}", "7"])
async def test_what_a_run_is_and_where_it_stands_is_not_changed_by_hand(
    tools: Tools, operator: Tools, raw_redis: redis.Redis, run_id: str, name: str, sent: str
) -> None:
    await new_run(tools, run_id, input_json={"x": 1})
    before = everything(raw_redis, run_id)
    wish = {"redis_key": keys(run_id)["meta"], "path": name}
    answer = await operator.call("json_set", **wish, value_json=sent)
    assert answer.code in {"invalid_edit", "ok"}
    assert answer.code == "invalid_edit" or answer["status"] == "unchanged"
    assert everything(raw_redis, run_id) == before


@rows(
    ("name", "good", "bad"),
    [
        ("max_attempts", 3, [0, 1001, "3", 1.5, True, None]),
        ("retention_s", 60, [0, -1, "60", 2.5]),
        ("planner_agent_id", "other", ["", "a b", 7, []]),
        ("finalize_note", "a note", [7, []]),
        ("skills", {"A": ["skill://x@1.0.0"]}, [None, [], {"A": "x"}, {"A": [1]}]),
        ("my_notes", {"any": ["thing"]}, []),
    ],
)
async def test_an_operator_corrects_what_people_decide(
    tools: Tools, operator: Tools, run_id: str, name: str, good: Any, bad: list[Any]
) -> None:
    await new_run(tools, run_id)
    key = keys(run_id)["meta"]
    for wrong in bad:
        await operator.refused("invalid_edit", "json_set", redis_key=key, path=name, value_json=json.dumps(wrong))
    await operator.ok("json_set", redis_key=key, path=name, value_json=json.dumps(good))
    assert await value(tools, key, name) == good
    assert (await tools.ok("read_workflow_control_plane", workflow_id=run_id))["meta"][name] == good


STATE_FIXED: list[tuple[str, Any]] = [
    ("status", "succeeded"),
    ("status", "running"),
    ("status", "done"),
    ("status", "whatever"),
    ("lease", {"token": "mine"}),
    ("lease.token", "mine"),
    ("lease.epoch", 5),
    ("lease.expires_at", "2999-01-01T00:00:00.000000Z"),
    ("waits_for", {}),
    ("waits_for.A", 7),
    ("started_at", "2026-01-01T00:00:00.000000Z"),
    ("finished_at", "2026-01-01T00:00:00.000000Z"),
    ("last", {}),
    ("type", "Wait"),
    ("scope", {"size": 1}),
    ("scope_epoch", 1),
    ("$", {}),
    ("$", []),
    ("$", None),
    ("attempts", -1),
    ("attempts", "x"),
    ("attempts", 1.5),
    ("not_before", "tomorrow"),
    ("last_error", 7),
    ("heartbeat_s", 0),
]


@rows(("path", "sent"), STATE_FIXED)
async def test_a_state_moves_on_by_the_protocol_only(
    tools: Tools, operator: Tools, raw_redis: redis.Redis, run_id: str, path: str, sent: Any
) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    before = everything(raw_redis, run_id)
    key = f"cp:wf:{run_id}:state:B"
    answer = await operator.refused("invalid_edit", "json_set", redis_key=key, path=path, value_json=json.dumps(sent))
    assert answer.hint
    assert everything(raw_redis, run_id) == before


async def test_an_operator_corrects_attempts_times_and_notes_of_an_open_state(
    tools: Tools, operator: Tools, application: Application, run_id: str
) -> None:
    await new_run(tools, run_id)
    token = await lease_on(tools, run_id)
    await tools.ok("release_state_lease", workflow_id=run_id, state="A", lease_token=token)
    key = keys(run_id)["state"]
    await operator.ok("json_set", redis_key=key, path="attempts", value_json="0")
    await operator.ok("json_set", redis_key=key, path="not_before", value_json='"2999-01-01T00:00:00.000000Z"')
    await tools.refused("not_ready", "acquire_state_lease", **_wish(run_id))
    await operator.ok("json_delete", redis_key=key, path="not_before")
    await operator.ok("json_set", redis_key=key, path="ticket", value_json='"OPS-7"')
    answer = await tools.ok("acquire_state_lease", **_wish(run_id))
    assert answer["updated_state"]["ticket"] == "OPS-7"
    assert answer["updated_state"]["attempts"] == 1
    assert [edit.data["path"] for edit in edits(application, run_id)] == [
        "$.attempts",
        "$.not_before",
        "$.not_before",
        "$.ticket",
    ]
    assert {edit.state for edit in edits(application, run_id)} == {"A"}


def _wish(run: str) -> dict[str, str]:
    return {"workflow_id": run, "state": "A", "owner_agent_id": "worker-1"}


async def test_a_time_that_is_corrected_makes_the_clock_look(
    tools: Tools, operator: Tools, raw_redis: redis.Redis, run_id: str
) -> None:
    await new_run(tools, run_id)
    await tools.ok("notify_next_worker_agent", workflow_id=run_id)
    timers, key = f"cp:wf:{run_id}:timers", keys(run_id)["state"]
    later = float(raw_redis.zscore(timers, "A") or 0)
    await operator.ok("json_set", redis_key=key, path="heartbeat_s", value_json="5")
    assert float(raw_redis.zscore(timers, "A") or 0) < later


async def test_nobody_writes_under_the_hands_of_a_holder(
    tools: Tools, operator: Tools, raw_redis: redis.Redis, run_id: str
) -> None:
    await new_run(tools, run_id)
    await lease_on(tools, run_id)
    before = everything(raw_redis, run_id)
    for kind in ("state", "input"):
        wish = {"redis_key": keys(run_id)[kind], "path": "attempts", "value_json": "0"}
        answer = await operator.refused("lease_held", "json_set", **wish)
        assert "force=true" in answer.hint
    assert everything(raw_redis, run_id) == before


async def test_an_operator_corrects_the_input_of_a_state_before_it_is_taken(
    tools: Tools, operator: Tools, run_id: str
) -> None:
    await new_run(tools, run_id, input_json={"order": 1})
    await operator.ok("json_set", redis_key=keys(run_id)["input"], path="order", value_json="2")
    answer = await tools.ok("acquire_state_lease", **_wish(run_id))
    assert answer["work"]["input"] == {"order": 2}


async def test_what_is_over_stays_as_it_is(
    tools: Tools, operator: Tools, application: Application, raw_redis: redis.Redis, run_id: str
) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    token = await lease_on(tools, run_id)
    done = {"workflow_id": run_id, "state": "A", "lease_token": token, "new_status": "succeeded"}
    await tools.ok("update_workflow_control_plane", **done, output_json={"n": 1})
    wait_until(lambda: "NotificationSent" in [entry.type for entry in application.history.after(run_id)])
    before = everything(raw_redis, run_id)
    for kind, path in (("state", "last_error"), ("state", "note"), ("input", "x")):
        await operator.refused("terminal", "json_set", redis_key=keys(run_id)[kind], path=path, value_json='"x"')
    assert everything(raw_redis, run_id) == before
    await operator.ok("json_set", redis_key=keys(run_id)["output"], path="n", value_json="2")
    await tools.ok("finalize_workflow", workflow_id=run_id)
    before = everything(raw_redis, run_id)
    for kind in ("meta", "state", "output", "definition", "audit"):
        await operator.refused("terminal", "json_set", redis_key=keys(run_id)[kind], path="note", value_json='"x"')
    assert everything(raw_redis, run_id) == before


@rows("kind", ["definition", "audit"])
async def test_what_is_written_once_is_not_written_again(tools: Tools, operator: Tools, run_id: str, kind: str) -> None:
    await new_run(tools, run_id)
    answer = await operator.call("json_delete", redis_key=keys(run_id)[kind], path="$")
    assert answer.code in {"invalid_edit", "not_found"}


@rows("kind", ["meta", "state", "input", "output", "audit"])
async def test_no_document_of_a_run_is_made_one_by_one(
    tools: Tools, operator: Tools, raw_redis: redis.Redis, run_id: str, kind: str
) -> None:
    for overwrite in (False, True):
        await operator.refused("forbidden", "json_create", redis_key=keys(run_id)[kind], overwrite=overwrite)
        await operator.refused("not_found", "json_set", redis_key=keys(run_id)[kind], path="a", value_json="1")
    assert everything(raw_redis, run_id) == {}


TEMPTING = [
    "status",
    "lease.token",
    "agents.A",
    "attempts",
    "waits_for",
    "max_attempts",
    "note",
    "$",
    "last",
    "input.x",
]


async def test_after_any_edit_of_an_operator_documents_are_readable_and_the_run_can_end(
    tools: Tools, operator: Tools, raw_redis: redis.Redis, run_id: str
) -> None:
    await new_run(tools, run_id, TWO_TASKS)
    values: list[Any] = [None, True, -1, 3, "running", "worker-1", {}, [], {"A": "worker-1"}]
    answers: list[Answer] = []
    for kind in ("meta", "state"):
        for path in TEMPTING:
            for sent in values:
                wish = {"redis_key": keys(run_id)[kind], "path": path}
                answers.append(await operator.call("json_set", **wish, value_json=json.dumps(sent)))
                answers.append(await operator.call("json_merge", **wish, patch_json={"x": sent}))
    assert {answer.code for answer in answers} <= {"ok", "invalid_edit", "wrong_type", "invalid_argument"}
    client: Any = raw_redis
    meta = read_document(client.execute_command, keys(run_id)["meta"])
    state = read_document(client.execute_command, keys(run_id)["state"])
    assert codec.read_meta(meta).status is RunStatus.RUNNING
    assert codec.write_state(codec.read_state(state)) == state
    await operator.ok("json_set", redis_key=keys(run_id)["meta"], path="agents", value_json={"A": "w", "B": "w"})
    await operator.ok("json_set", redis_key=keys(run_id)["meta"], path="max_attempts", value_json=9)
    for name in ("A", "B"):
        token = await lease_on(tools, run_id, name, owner_agent_id="w")
        done = {"workflow_id": run_id, "state": name, "lease_token": token, "new_status": "succeeded"}
        await tools.ok("update_workflow_control_plane", **done)
    assert (await tools.ok("read_workflow_control_plane", workflow_id=run_id))["meta"]["status"] == "succeeded"
