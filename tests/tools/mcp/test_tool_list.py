"""The view of a client before its first call: names, descriptions, schemas, hints, and their size."""

import re
from collections.abc import Callable, Iterator
from typing import Any, get_args

import jsonschema
import pytest
from mcp.client import Client

from dcf.application.application import Application
from dcf.core.access.model import Scope
from dcf.errors import InvalidArgument
from dcf.tools.mcp.selection import select_tools
from dcf.tools.mcp.server import build_server
from dcf.verbs.examples import smallest_call
from dcf.verbs.registry import TOOLS, Toolset
from dcf.verbs.schemas import listed_of, parameters_of
from dcf.verbs.unlisted import KEYWORD, PLAIN_KEYWORD
from tests.support.tables import rows

pytestmark = pytest.mark.anyio

REQUIRED = "required"

SEED: dict[str, dict[str, Any]] = {
    "create_workflow_control_plane": {
        "workflow_json": REQUIRED,
        "redis_url": None,
        "expiry_secs": None,
        "agents_map_json": None,
    },
    "read_workflow_control_plane": {
        "workflow_id": REQUIRED,
        "redis_url": None,
        "states_json": None,
        "include_meta": True,
        "compute_readiness": False,
    },
    "update_workflow_control_plane": {
        "workflow_id": REQUIRED,
        "state": REQUIRED,
        "redis_url": None,
        "new_status": None,
        "lease_token": None,
        "owner_agent_id": None,
        "lease_ttl_s": None,
        "attempts_increment": None,
        "error_message": None,
        "set_started_at": False,
        "set_finished_at": False,
        "output_json": None,
        "output_ttl_secs": None,
    },
    "acquire_state_lease": {
        "workflow_id": REQUIRED,
        "state": REQUIRED,
        "owner_agent_id": REQUIRED,
        "redis_url": None,
        "lease_ttl_s": 300,
        "require_ready": True,
        "require_owner_match": True,
        "allow_steal_if_expired": True,
        "set_running_on_acquire": True,
        "attempts_increment": 1,
        "lease_token": None,
    },
    "renew_state_lease": {
        "workflow_id": REQUIRED,
        "state": REQUIRED,
        "lease_token": REQUIRED,
        "owner_agent_id": None,
        "redis_url": None,
        "lease_ttl_s": None,
        "reject_if_expired": True,
        "touch_only": False,
    },
    "release_state_lease": {
        "workflow_id": REQUIRED,
        "state": REQUIRED,
        "lease_token": None,  # the seed requires it even with force, where no caller can have it
        "owner_agent_id": None,
        "redis_url": None,
        "force": False,
        "clear_owner": True,
    },
    "notify_next_worker_agent": {
        "workflow_id": REQUIRED,
        "source_state": None,
        "reason": None,
        "payload_json": None,
        "redis_url": None,
        "include_only_ready": True,
        "message_role": "system",
        "async_message": True,  # the seed's false makes the caller wait for the receiver's whole work
        "max_steps": None,
    },
    "notify_if_ready": {
        "workflow_id": REQUIRED,
        "state": REQUIRED,
        "reason": None,
        "payload_json": None,
        "redis_url": None,
        "require_ready": True,
        "skip_if_status_in_json": None,
        "message_role": "system",
        "async_message": True,
        "max_steps": None,
    },
    "finalize_workflow": {
        "workflow_id": REQUIRED,
        "redis_url": None,
        "delete_worker_agents": True,
        "preserve_planner": True,
        "close_open_states": True,
        "overall_status": None,
        "finalize_note": None,
    },
    "create_worker_agents": {
        "workflow_json": None,  # the seed requires it, though the run has it
        "imports_base_dir": None,
        "agent_name_prefix": None,
        "agent_name_suffix": ".af",
        "default_tags_json": None,
        "skip_if_exists": True,
    },
    "resolve_agent_name_to_id": {"agent_name": REQUIRED},
    "delete_agent": {"agent_name": None},  # or agent_id: of several of one name none is meant
    "remove_tool_return_limits": {"agent_id": REQUIRED},
    "validate_skill_manifest": {"skill_json": REQUIRED, "schema_path": None},
    "get_skillset": {"manifests_dir": None, "schema_path": None, "include_previews": True, "preview_chars": None},
    "get_skillset_from_catalog": {
        "catalog_path": None,
        "schema_path": None,
        "include_previews": True,
        "preview_chars": None,
    },
    "load_skill": {"skill_json": REQUIRED, "agent_id": REQUIRED},
    "unload_skill": {"manifest_id": REQUIRED, "agent_id": REQUIRED},
    "json_create": {"redis_key": "", "initial_json": "{}", "key_prefix": "doc:", "overwrite": False},
    "json_set": {"redis_key": REQUIRED, "path": REQUIRED, "value_json": REQUIRED},
    "json_read": {"redis_key": REQUIRED, "path": "$", "pretty": False},
    "json_append": {"redis_key": REQUIRED, "path": REQUIRED, "value_json": REQUIRED},
    "json_ensure": {"redis_key": REQUIRED, "path": REQUIRED, "default_json": REQUIRED},
    "json_merge": {"redis_key": REQUIRED, "path": REQUIRED, "patch_json": REQUIRED},
    "json_increment": {"redis_key": REQUIRED, "path": REQUIRED, "delta": REQUIRED},
    "json_delete": {"redis_key": REQUIRED, "path": REQUIRED},
    "json_copy": {"redis_key": REQUIRED, "from_path": REQUIRED, "to_path": REQUIRED, "overwrite": True},
    "json_move": {"redis_key": REQUIRED, "from_path": REQUIRED, "to_path": REQUIRED, "overwrite": True},
    "list_directory": {"path": ".", "recursive": False, "include_hidden": False},
    "read_file": {"path": REQUIRED, "offset": 0, "length": None, "encoding": "utf-8"},
    "write_file": {
        "path": REQUIRED,
        "content": REQUIRED,
        "append": False,
        "encoding": "utf-8",
        "create_parents": True,
    },
    "create_directory": {"path": REQUIRED, "parents": True, "exist_ok": True},
    "delete_path": {"path": REQUIRED, "recursive": False},
    "move_path": {"source": REQUIRED, "destination": REQUIRED, "overwrite": False, "create_parents": True},
}
"""The seed's parameters and their defaults."""

_VERB = re.compile(r"[A-Z][a-z]+\b(?! of\b| is\b)")
"""A description begins with what is to be done: Take, Give, Write."""

_LEASE_FIELDS = "workflow_id state lease updated_state"
SEED_ANSWERS = {
    "create_workflow_control_plane": "created_keys existing_keys meta_sample",
    "read_workflow_control_plane": "workflow_id meta states outputs readiness",
    "update_workflow_control_plane": "workflow_id state updated_state output_written",
    "acquire_state_lease": f"{_LEASE_FIELDS} ready",
    "renew_state_lease": _LEASE_FIELDS,
    "release_state_lease": _LEASE_FIELDS,
    "notify_next_worker_agent": "workflow_id source_state targets",
    "notify_if_ready": "workflow_id state ready skipped skip_reason agent_id message_id run_id",
    "finalize_workflow": "workflow_id summary agents warnings",
    "create_worker_agents": "workflow_id agents_map created existing model_selections warnings",
    "resolve_agent_name_to_id": "agent_id",
    "delete_agent": "deleted_agent_id",
    "remove_tool_return_limits": "updated_count",
    "validate_skill_manifest": "ok exit_code schema_errors static_errors warnings",
    "get_skillset": "ok exit_code available_skills warnings",
    "get_skillset_from_catalog": "ok exit_code available_skills warnings",
    "load_skill": "ok exit_code added warnings",
    "unload_skill": "",
    **dict.fromkeys(
        [
            "json_create",
            "json_set",
            "json_append",
            "json_ensure",
            "json_merge",
            "json_increment",
            "json_delete",
            "json_copy",
            "json_move",
        ],
        "success redis_key doc_json",
    ),
    "json_read": "success redis_key value_json",
    "list_directory": "path entries truncated",
    "read_file": "path content bytes_read",
    "write_file": "path bytes_written mode",
    "create_directory": "path created",
    "delete_path": "path removed",
    "move_path": "source destination",
}

SERVED = select_tools((), read_only=False)
LISTED = {spec.name: spec for spec in SERVED}
READ_ONLY = {spec.name for spec in SERVED if spec.read_only}
PLANNING = {spec.name for spec in SERVED if spec.toolset == "planning"}
NOTIFICATION = {spec.name for spec in SERVED if spec.toolset == "notification"}


async def _listed(application: Application) -> list[dict[str, Any]]:
    async with Client(build_server(application)) as client:
        tools = await client.list_tools()
    assert tools.next_cursor is None, "several clients take only the first page"
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools.tools]


_LISTED: dict[str, dict[str, Any]] = {}


@pytest.fixture
async def listed(replica: Callable[..., Application]) -> dict[str, dict[str, Any]]:
    """The tools of a caller who may call all of them, asked for once: the list does not change while tests run."""
    if not _LISTED:
        _LISTED.update({tool["name"]: tool for tool in await _listed(replica(allow_operator=True, profile="all"))})
    return _LISTED


def _parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Every object inside a schema."""
    if isinstance(schema, dict):
        yield schema
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _parts(part)


async def test_the_order_is_always_the_same_and_follows_the_toolsets(replica: Callable[..., Application]) -> None:
    application = replica(allow_operator=True, profile="all")
    first, second = await _listed(application), await _listed(application)
    assert first == second
    toolsets = [LISTED[tool["name"]].toolset for tool in first]
    assert set(toolsets) <= set(get_args(Toolset))
    assert toolsets == sorted(toolsets, key=get_args(Toolset).index)
    assert first[0]["name"] == "describe_workflow_language"


def test_the_order_does_not_depend_on_which_module_was_imported_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dcf.tools.mcp.selection.TOOLS", dict(reversed([*TOOLS.items()])))
    assert [spec.name for spec in select_tools((), read_only=False)] == list(LISTED)


@rows("name", sorted(LISTED))
async def test_a_tool_describes_itself_and_its_parameters(name: str, listed: dict[str, dict[str, Any]]) -> None:
    tool = listed[name]
    assert re.fullmatch(r"[a-z_]{1,64}", name)
    first, _, _ = tool["description"].partition(". ")
    assert _VERB.match(first)
    assert 20 < len(first) < 150
    assert len(tool["description"]) < 500
    accepted = parameters_of(LISTED[name])["properties"]
    for parameter, schema in tool["inputSchema"]["properties"].items():
        is_plain = accepted[parameter].get(PLAIN_KEYWORD, False) or accepted[parameter].get(KEYWORD, False)
        assert ("description" in schema) != is_plain, parameter
        assert is_plain or schema["description"].endswith("."), parameter
    schema = tool["inputSchema"]
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert "additionalProperties" not in schema, "a tool accepts more than its list shows"
    assert all({"type", "anyOf", "$ref"} & part.keys() for part in schema["properties"].values())
    assert not any(isinstance(part.get("title"), str) for part in _parts(schema))


async def test_answers_are_described_nowhere_on_the_list(listed: dict[str, dict[str, Any]]) -> None:
    """They were 40% of it, and every answer says in words what it means."""
    assert not any("outputSchema" in tool for tool in listed.values())


@rows("name", sorted(LISTED))
def test_what_only_older_callers_send_is_accepted_and_on_no_short_list(name: str) -> None:
    accepted, shown = parameters_of(LISTED[name]), listed_of(LISTED[name])
    unlisted = {argument for argument, schema in accepted["properties"].items() if KEYWORD in schema}
    assert "redis_url" in unlisted
    assert not unlisted & set(accepted.get("required", ())), "nobody could call the tool"
    assert set(shown["properties"]) == set(accepted["properties"]) - unlisted
    optional = {argument: accepted["properties"][argument].get("default") for argument in unlisted}
    LISTED[name].arguments.model_validate(smallest_call(LISTED[name]) | optional)
    assert KEYWORD not in repr(shown)


@rows("name", sorted(LISTED))
def test_every_number_and_text_is_bounded(name: str) -> None:
    properties = parameters_of(LISTED[name])["properties"]
    for parameter, schema in properties.items():
        if parameter.endswith("_json") or parameter == "output_ttl_secs":
            continue
        for part in _parts(schema):
            if isinstance(part.get("type"), list):  # any JSON value, which has limits of its own
                continue
            if part.get("type") == "string" and "enum" not in part and "const" not in part:
                assert "maxLength" in part or "{" in part["pattern"], parameter
            if part.get("type") in ("integer", "number"):
                assert part["minimum"] <= part["maximum"], parameter


@rows("name", sorted(LISTED))
async def test_the_hints_say_what_a_tool_may_do(name: str, listed: dict[str, dict[str, Any]]) -> None:
    spec = LISTED[name]
    annotations = listed[name]["annotations"]
    assert annotations == ({"readOnlyHint": True} if spec.read_only else {"destructiveHint": spec.destructive})
    if spec.read_only:
        assert spec.scope is (Scope.OPERATE if name in {"read_health", "list_registered_agents"} else Scope.READ)
        assert spec.idempotent
        assert not spec.destructive


@rows("name", sorted(SEED))
def test_the_parameters_of_the_seed_are_accepted_with_their_defaults(name: str) -> None:
    schema = parameters_of(LISTED[name])
    result = {
        parameter: REQUIRED
        if parameter in schema.get("required", [])
        else schema["properties"][parameter].get("default")
        for parameter in SEED[name]
    }
    assert result == SEED[name]


@rows("name", sorted(SEED))
async def test_nothing_is_required_that_the_seed_did_not_have(name: str, listed: dict[str, dict[str, Any]]) -> None:
    assert set(listed[name]["inputSchema"].get("required", [])) <= set(SEED[name])


@rows("name", sorted(SEED_ANSWERS))
def test_the_answers_have_the_fields_of_the_seed(name: str) -> None:
    assert {"status", "error", *SEED_ANSWERS[name].split()} <= set(LISTED[name].answer.model_fields)


@rows(
    ("toolsets", "read_only", "names"),
    [
        (("planning",), False, PLANNING),
        (
            ("notification", "planning"),
            False,
            PLANNING | NOTIFICATION,
        ),
        ((), True, READ_ONLY),
        (("execution",), True, {spec.name for spec in SERVED if spec.toolset == "execution" and spec.read_only}),
        ((), False, set(LISTED)),
    ],
)
async def test_a_server_may_serve_a_part_of_the_tools(
    replica: Callable[..., Application], toolsets: tuple[str, ...], read_only: bool, names: set[str]
) -> None:
    application = replica(toolsets=toolsets, read_only=read_only, allow_operator=True, profile="all")
    assert {tool["name"] for tool in await _listed(application)} == names


async def test_a_toolset_that_does_not_exist_is_refused_in_words() -> None:
    with pytest.raises(InvalidArgument) as refused:
        select_tools(("planing", "execution"), read_only=False)
    assert refused.value.message == "There is no toolset 'planing'."
    assert "planning, execution, notification" in refused.value.hint


async def test_a_tool_that_is_not_served_cannot_be_called(replica: Callable[..., Application]) -> None:
    async with Client(build_server(replica(read_only=True))) as client:
        result = await client.call_tool("finalize_workflow", {"workflow_id": "x"})
    assert result.is_error
