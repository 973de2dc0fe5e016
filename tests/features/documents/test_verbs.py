"""The JSON tools keep the promises of the contract, and repeat none of the known mistakes (the rows D-80 to D-89e)."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import redis
from mcp.client import Client

from dcf.application.application import Application
from dcf.store.keys.table import AUDIT_TRAIL, PROBE
from dcf.tools.mcp.server import build_server
from tests.support.redis.documents import read_text
from tests.support.redis.redis_contents import GONE_S, Kept, changed
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows
from tests.tools.calls import Answer, Tools

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]


@pytest.fixture
def key(run_id: str) -> str:
    return f"doc:{run_id}"


async def made(tools: Tools, key: str, document: Any) -> str:
    await tools.ok("json_create", redis_key=key, initial_json=json.dumps(document))
    return key


async def whole(tools: Tools, key: str) -> Any:
    return json.loads((await tools.ok("json_read", redis_key=key))["value_json"])


async def unchanged(tools: Tools, key: str, document: Any, code: str, tool: str, **arguments: Any) -> Answer:
    """The call is refused, and the document is as it was."""
    answer = await tools.refused(code, tool, redis_key=key, **arguments)
    assert await whole(tools, key) == document
    assert answer["success"] is False
    return answer


async def test_d80_a_value_moves_into_a_parent_that_was_missing_or_stays_where_it_is(tools: Tools, key: str) -> None:
    document = {"a": {"b": 7}, "s": "text"}
    await made(tools, key, document)
    await unchanged(tools, key, document, "wrong_type", "json_move", from_path="$.a.b", to_path="$.s.x")
    moved = await tools.ok("json_move", redis_key=key, from_path="$.a.b", to_path="$.new.place")
    assert json.loads(moved["doc_json"]) == {"a": {}, "s": "text", "new": {"place": 7}}
    assert (moved["path"], moved["value_json"], moved["changed"]) == ("$.new.place", "7", True)
    await unchanged(
        tools, key, json.loads(moved["doc_json"]), "not_found", "json_move", from_path="$.a.b", to_path="$.c"
    )


async def test_d81_set_merge_and_copy_create_missing_parents(tools: Tools, key: str) -> None:
    await made(tools, key, {"v": 1})
    await tools.ok("json_set", redis_key=key, path="$.a.b", value_json="2")
    await tools.ok("json_merge", redis_key=key, path="$.c.d", patch_json={"x": 1})
    await tools.ok("json_copy", redis_key=key, from_path="$.v", to_path="$.e.f")
    assert await whole(tools, key) == {"v": 1, "a": {"b": 2}, "c": {"d": {"x": 1}}, "e": {"f": 1}}


async def test_d82_append_and_increment_make_what_is_missing_and_refuse_another_type(tools: Tools, key: str) -> None:
    await made(tools, key, {"s": {}})
    for tool, arguments in (("json_append", {"value_json": "1"}), ("json_increment", {"delta": "1"})):
        await unchanged(tools, key, {"s": {}}, "wrong_type", tool, path="$.s", **arguments)
    appended = await tools.ok("json_append", redis_key=key, path="$.a.list", value_json="1")
    assert (appended["value_json"], appended["length"]) == ("[1]", 1)
    assert (await tools.ok("json_increment", redis_key=key, path="$.a.n", delta="5"))["value_json"] == "5"


@pytest.mark.parametrize("path", ["*", "$.*", "$..a", "$.a[*]", "$[?(@)]", "$.a[0:1]"])
async def test_d83_a_path_that_selects_several_values_is_refused(tools: Tools, key: str, path: str) -> None:
    await made(tools, key, {"a": [1, 2]})
    answer = await unchanged(tools, key, {"a": [1, 2]}, "invalid_argument", "json_set", path=path, value_json="0")
    assert "at character" in answer.error
    await tools.refused("invalid_argument", "json_read", redis_key=key, path=path)


FOREIGN_KEYS = [
    "cp:idx:runs",
    "cp:idx:workers:r",
    "cp:idx:edit:{doc:a}:0",
    "cp:wf:r:events",
    "cp:wf:r:timers",
    "cp:wf:r:claims",
    "cp:wf:r:join:A",
    "cp:wf:r:outbox",
    "cp:wf:r:barrier",
    "cp:wf:r:state:A:meta",
    "cp:wf:r:state:a%3a",
    "cp:wf:*:meta",
    "cp:wf:r:meta:x",
    "cp:wf:{r:meta",
    "cp:wf:r}:meta",
    "cp:wf:r:state:",
    "dp:wf:r:meta",
    "dp:wf:r:state:A",
    "dp:wf:r:audit:other",
    "cp:",
    "doc:",
    "docs:a",
    "other",
    "doc:a b",
    "doc:a\n",
    "doc:a*",
    "doc:{a}",
    "DOC:a",
]


def documents(raw_redis: redis.Redis) -> dict[str, Kept]:
    """All keys but those that come and go: the audit trail's, a moment later, and a health report's."""
    theirs = (AUDIT_TRAIL, PROBE)
    listed: Any = raw_redis.keys()
    names = [name for key in listed if not (name := key.decode()).startswith(theirs)]
    with raw_redis.pipeline(transaction=False) as asking:
        for name in names:
            asking.ttl(name)
        result = zip(names, asking.execute(), strict=True)
    return {name: Kept(None, life_s >= 0) for name, life_s in result if life_s != GONE_S}


@pytest.mark.parametrize("key", FOREIGN_KEYS)
async def test_d84_only_documents_of_runs_and_of_the_configured_prefixes_can_be_named(
    tools: Tools, operator: Tools, raw_redis: redis.Redis, key: str
) -> None:
    before = documents(raw_redis)
    for user in (tools, operator):
        for tool, arguments in (
            ("json_read", {}),
            ("json_set", {"path": "$.a", "value_json": "1"}),
            ("json_create", {}),
            ("json_delete", {"path": "$"}),
        ):
            answer = await user.call(tool, redis_key=key, **arguments)
            assert answer.code == "invalid_argument", answer.text
            assert "doc:" in answer.hint
    await tools.refused("invalid_argument", "json_create", key_prefix="cp:idx:")
    assert changed(before, documents(raw_redis)) == set()


async def test_d84_other_prefixes_can_be_configured_and_none_opens_the_indexes(
    replica: Replica, own_redis: RestrictedRedis, run_id: str
) -> None:
    """Redis must let dcf have those keys as well."""
    application = replica(json_prefixes=("c", "notes:"), redis_url=own_redis.admin_url)
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await tools.ok("json_create", redis_key=f"notes:{run_id}")
        for key in (f"doc:{run_id}", "cp:idx:runs", "cp:wf:r:meta:x", "notes:"):
            await tools.refused("invalid_argument", "json_read", redis_key=key)
        await tools.ok("json_create", redis_key=f"c-{run_id}")


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("json_set", {"path": "$.a", "value_json": "1"}),
    ("json_append", {"path": "$.a", "value_json": "1"}),
    ("json_ensure", {"path": "$.a", "default_json": "1"}),
    ("json_merge", {"path": "$", "patch_json": {"a": 1}}),
    ("json_increment", {"path": "$.a", "delta": "1"}),
    ("json_copy", {"from_path": "$.a", "to_path": "$.b"}),
    ("json_move", {"from_path": "$.a", "to_path": "$.b"}),
    ("json_delete", {"path": "$.a"}),
    ("json_delete", {"path": "$"}),
]


@rows(("tool", "arguments"), CHANGES)
async def test_d86_a_key_that_is_missing_is_said_to_be_and_not_made(
    tools: Tools, key: str, raw_redis: redis.Redis, tool: str, arguments: dict[str, Any]
) -> None:
    answer = await tools.refused("not_found", tool, redis_key=key, **arguments)
    assert answer.error == f"not_found: Key not found: {key}."
    assert not raw_redis.exists(key)


async def test_d87_integers_stay_integers(tools: Tools, key: str, raw_redis: redis.Redis) -> None:
    await made(tools, key, {"n": 1, "big": 2**53, "max": 2**63 - 2})
    for path, result in (("n", "2"), ("big", str(2**53 + 1)), ("max", str(2**63 - 1))):
        assert (await tools.ok("json_increment", redis_key=key, path=path, delta="1"))["value_json"] == result
    stored = read_text(raw_redis.execute_command, key)
    assert stored == b'{"n":2,"big":9007199254740993,"max":9223372036854775807}'
    await tools.refused("out_of_range", "json_increment", redis_key=key, path="max", delta=1)
    assert (await tools.ok("json_increment", redis_key=key, path="n", delta=0.5))["value_json"] == "2.5"


@pytest.mark.parametrize(
    "delta", ["", "x", "1,5", "NaN", "Infinity", "1e999", "0x10", True, None, [1], {}, 10**30, "9" * 30]
)
async def test_only_a_finite_number_can_be_added(tools: Tools, key: str, delta: object) -> None:
    await made(tools, key, {"n": 1})
    await unchanged(tools, key, {"n": 1}, "invalid_argument", "json_increment", path="n", delta=delta)


async def test_d88_a_list_is_appended_as_one_element_unless_asked_otherwise(tools: Tools, key: str) -> None:
    await made(tools, key, {"l": []})
    await tools.ok("json_append", redis_key=key, path="l", value_json=[1, 2])
    await tools.ok("json_append", redis_key=key, path="l", value_json="[3, 4]", spread=True)
    assert await whole(tools, key) == {"l": [[1, 2], 3, 4]}


@pytest.mark.parametrize("text", ["completed", "True", "{'a':1}", "```json\n1\n```", "", "NaN", '{"a":1,"a":2}', "1 2"])
async def test_d89_a_value_is_json_and_nothing_is_guessed(tools: Tools, key: str, text: str) -> None:
    await made(tools, key, {})
    await unchanged(tools, key, {}, "invalid_argument", "json_set", path="a", value_json=text)
    await unchanged(tools, key, {}, "invalid_argument", "json_ensure", path="a", default_json=text)
    await tools.ok("json_set", redis_key=key, path="a", value_json=text, as_text=True)
    assert await whole(tools, key) == {"a": text}


async def test_d89b_answers_and_documents_have_a_size(replica: Replica, key: str) -> None:
    async with Client(build_server(replica(json_max_bytes=200_000, max_result_bytes=1024 * 1024))) as client:
        tools = await Tools.of(client)
        many = [f"entry-{number}" for number in range(10_000)]
        await made(tools, key, {"list": many, "text": "ü" * 10})
        answer = await tools.ok("json_set", redis_key=key, path="small", value_json="1")
        assert (answer["value_json"], answer["doc_json"]) == ("1", None)
        assert len(answer.text) < 1000
        long = await tools.ok("json_append", redis_key=key, path="list", value_json='"last"')
        assert (long["value_json"], long["length"]) == (None, 10_001)
        assert "json_read" in long.hint
        result, cursor = [], 0
        while cursor is not None:
            page = await tools.ok("json_read", redis_key=key, path="list", cursor=cursor)
            assert len(page.text) < 200_000
            result += json.loads(page["value_json"])
            cursor = page["next_cursor"]
        assert result == [*many, "last"]
        too_large = json.dumps("x" * 150_000)
        await tools.refused("too_large", "json_set", redis_key=key, path="more", value_json=too_large)
        await tools.refused("too_large", "json_create", initial_json=json.dumps("x" * 200_001))


async def test_d89c_an_outage_is_an_answer_like_any_other(
    replica: Replica, own_redis: RestrictedRedis, raw_redis: redis.Redis
) -> None:
    """The server's user vanishes while it serves."""
    rights = ["~*", "&*", "+@all"]
    raw_redis.execute_command("ACL", "SETUSER", "editor", "on", ">pw-canary", *rights)  # type: ignore[no-untyped-call]
    url = own_redis.url_of("editor", "pw-canary")
    async with Client(build_server(replica(redis_url=url))) as client:
        tools = await Tools.of(client)
        raw_redis.acl_deluser("editor")
        for tool, arguments in [("json_read", {}), *CHANGES, ("json_create", {})]:
            answer = await tools.refused("store_unavailable", tool, redis_key="doc:x", **arguments)
            assert answer.broken
            assert "pw-canary" not in answer.text


async def test_d89d_names_with_dots_elements_and_nulls_are_reached(tools: Tools, key: str) -> None:
    await made(tools, key, {"a.b": {"*": [1, [2, 3]]}, "n": None})
    read = await tools.ok("json_read", redis_key=key, path="$['a.b']['*'][-1][0]")
    assert (read["value_json"], read["path"]) == ("2", "$['a.b']['*'][-1][0]")
    await tools.ok("json_set", redis_key=key, path="$['a.b']['*'][1][1]", value_json="9")
    await tools.ok("json_move", redis_key=key, from_path="n", to_path="$['x.y'].z")
    assert await whole(tools, key) == {"a.b": {"*": [1, [2, 9]]}, "x.y": {"z": None}}


async def test_d89e_of_two_creators_one_is_told_that_the_key_exists(tools: Tools, key: str) -> None:
    await made(tools, key, {"first": True})
    await unchanged(tools, key, {"first": True}, "already_exists", "json_create", initial_json="{}")
    replaced = await tools.ok("json_create", redis_key=key, initial_json=[1], overwrite=True)
    assert replaced["doc_json"] == "[1]"
    again = await tools.ok("json_create", redis_key=key, initial_json="[1]", overwrite=True)
    assert (again["status"], again["changed"]) == ("unchanged", False)


async def test_a_document_without_a_key_gets_one_of_its_own(tools: Tools) -> None:
    first, second = await tools.ok("json_create"), await tools.ok("json_create", key_prefix="doc:notes:")
    assert first["redis_key"].startswith("doc:")
    assert second["redis_key"].startswith("doc:notes:")
    assert (first["doc_json"], first["redis_key"] != second["redis_key"]) == ("{}", True)


@pytest.mark.parametrize("value", [None, True, 0, 1.5, "text", [], [1, {"a": None}], {"a": {"b": [1]}}])
async def test_any_json_goes_in_as_text_or_as_it_is_and_comes_out_the_same(tools: Tools, key: str, value: Any) -> None:
    await made(tools, key, {})
    await tools.ok("json_set", redis_key=key, path="a", value_json=json.dumps(value))
    await tools.ok(
        "json_set", redis_key=key, path="b", value_json=json.dumps(value) if isinstance(value, str) else value
    )
    await tools.ok("json_set", redis_key=key, path="$", value_json=json.dumps({"root": value}))
    assert await whole(tools, key) == {"root": value}


async def test_a_place_with_nothing_reads_as_null_and_says_so(tools: Tools, key: str) -> None:
    await made(tools, key, {"n": None})
    nothing = await tools.ok("json_read", redis_key=key, path="x.y")
    null = await tools.ok("json_read", redis_key=key, path="n")
    assert (nothing["value_json"], nothing["found"], nothing["success"]) == ("null", False, True)
    assert (null["value_json"], null["found"], null["success"]) == ("null", True, True)
    pretty = await tools.ok("json_read", redis_key=key, pretty=True)
    assert pretty["value_json"] == '{\n  "n": null\n}'
    await tools.refused("out_of_range", "json_read", redis_key=key, cursor=5)


async def test_a_delete_says_whether_there_was_something(tools: Tools, key: str) -> None:
    await made(tools, key, {"a": 1, "l": [1, 2]})
    answer = await tools.ok("json_delete", redis_key=key, path="a")
    nothing = await tools.ok("json_delete", redis_key=key, path="a")
    assert (answer["status"], answer["changed"]) == ("deleted", True)
    assert (nothing["status"], nothing["changed"]) == ("unchanged", False)


async def test_a_document_that_is_deleted_is_gone(tools: Tools, key: str, raw_redis: redis.Redis) -> None:
    await made(tools, key, {"a": 1})
    answer = await tools.ok("json_delete", redis_key=key, path="$", request_id="r")
    assert (answer["status"], answer["changed"], answer["doc_json"]) == ("deleted", True, None)
    assert not raw_redis.exists(key)
    assert (await tools.ok("json_delete", redis_key=key, path="$", request_id="r"))["repeated"]
    await tools.refused("not_found", "json_delete", redis_key=key, path="$")
    await tools.refused("not_found", "json_read", redis_key=key)
    await made(tools, key, {"a": 2})


async def test_one_and_true_and_a_fraction_are_different_values(tools: Tools, key: str) -> None:
    await made(tools, key, {"a": 1})
    for value in ("true", "1.0", "1"):
        assert (await tools.ok("json_set", redis_key=key, path="a", value_json=value))["changed"]
        assert (await tools.ok("json_read", redis_key=key, path="a"))["value_json"] == value


async def test_a_repeated_request_is_applied_once_and_told_the_same(tools: Tools, key: str) -> None:
    await made(tools, key, {"n": 1, "l": []})
    wish = {"redis_key": key, "path": "n", "delta": "1", "request_id": "r-1"}
    first = await tools.ok("json_increment", **wish)
    await tools.ok("json_increment", redis_key=key, path="n", delta="10")
    again = await tools.ok("json_increment", **wish)
    assert (first["value_json"], again["value_json"], again["repeated"]) == ("2", "2", True)
    assert (await whole(tools, key))["n"] == 12
    await tools.refused("conflict", "json_increment", **wish | {"delta": "2"})
    moved = {"redis_key": key, "from_path": "l", "to_path": "m", "request_id": "r-2"}
    assert not (await tools.ok("json_move", **moved))["repeated"]
    assert (await tools.ok("json_move", **moved))["repeated"]
    drawn = [await tools.ok("json_create", initial_json="[7]", request_id=f"{key}-new") for _ in range(2)]
    assert drawn[0]["redis_key"] == drawn[1]["redis_key"]


MONTH = 30 * 24 * 3600


@pytest.mark.parametrize(("wish", "life"), [({}, MONTH), ({"expires_in_s": 1000}, 1000)], ids=["default", "asked for"])
async def test_every_write_renews_the_life_of_a_document(
    tools: Tools, key: str, raw_redis: redis.Redis, wish: dict[str, int], life: int
) -> None:
    await tools.ok("json_create", redis_key=key, initial_json={}, **wish)
    assert life - 100 < int(raw_redis.ttl(key)) <= life
    raw_redis.expire(key, 500)
    await tools.ok("json_increment", redis_key=key, path="$.n", delta=1)
    assert life - 100 < int(raw_redis.ttl(key)) <= life


async def test_a_life_is_changed_without_changing_the_document(tools: Tools, key: str, raw_redis: redis.Redis) -> None:
    await made(tools, key, {"a": 1})
    answer = await tools.ok("json_set", redis_key=key, path="$.a", value_json=1, expires_in_s=50)
    assert not answer["changed"]
    assert 0 < int(raw_redis.ttl(key)) <= 50


async def test_only_an_operator_makes_a_document_that_never_expires(
    tools: Tools, operator: Tools, key: str, raw_redis: redis.Redis
) -> None:
    answer = await tools.refused("forbidden", "json_create", redis_key=key, initial_json={}, expires_in_s="never")
    assert "operator" in answer.error
    await operator.ok("json_create", redis_key=key, initial_json={}, expires_in_s="never")
    await tools.ok("json_set", redis_key=key, path="$.a", value_json=1)
    assert raw_redis.ttl(key) == -1
    await tools.ok("json_set", redis_key=key, path="$.a", value_json=1, expires_in_s=60)
    assert 0 < int(raw_redis.ttl(key)) <= 60


@rows("life", [0, -1, 366 * 24 * 3600, "soon"])
async def test_a_life_that_is_none_is_refused(tools: Tools, key: str, life: object) -> None:
    await tools.refused("invalid_argument", "json_create", redis_key=key, initial_json={}, expires_in_s=life)


async def test_a_key_of_another_type_is_named_and_left_alone(tools: Tools, key: str, raw_redis: redis.Redis) -> None:
    raw_redis.set(key, "text")
    for tool, arguments in [("json_read", {}), *CHANGES, ("json_create", {"overwrite": True})]:
        answer = await tools.refused("not_found", tool, redis_key=key, **arguments)
        assert "holds no JSON document" in answer.error
    assert raw_redis.get(key) == b"text"


@pytest.mark.parametrize("levels", [65, 1000, 100_000])
async def test_a_json_bomb_is_refused(tools: Tools, key: str, levels: int) -> None:
    await made(tools, key, {})
    text = "[" * levels + "]" * levels
    await unchanged(tools, key, {}, "invalid_argument", "json_set", path="a", value_json=text)
    await unchanged(tools, key, {}, "invalid_argument", "json_append", path="a", value_json=text)
    deep = "[" * 60 + "]" * 60
    await unchanged(tools, key, {}, "too_large", "json_set", path="a.b.c.d.e.f", value_json=deep)
