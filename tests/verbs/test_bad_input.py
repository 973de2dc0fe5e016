"""Bad input: every tool, every argument, and what must not happen.

Whatever is sent, the answer has a stable code, one sentence of what is wrong and one of what to do; nothing changes.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.core.access.model import local_caller
from dcf.settings.process import Settings
from dcf.store.keys.table import AUDIT_TRAIL, PROBE
from dcf.tools.mcp.server import build_server
from dcf.values import json_text
from dcf.verbs import envelope
from dcf.verbs.description.words import ID
from dcf.verbs.limits import meter_of
from dcf.verbs.registry import TOOLS
from tests.support.redis.redis_contents import GONE_S, Kept, changed, content_of
from tests.support.tables import rows
from tests.tools.access import smallest
from tests.tools.calls import Answer, Tools, check, lease_on, new_run

pytestmark = pytest.mark.anyio

LOCAL = local_caller(operator=False)
METER = meter_of(Settings())
OFFERED = {name: spec for name, spec in TOOLS.items() if spec.scope in LOCAL.scopes}
"""The tools that the local user may call at all."""

DEEP_TEXT = "[" * 100 + "]" * 100
DEEP: Any = json.loads(DEEP_TEXT)
LARGE = "x" * 300_000
LONG = "n" * 10_000

BAD_TEXTS = ["", "a:b", "*", "a\n", "a\x00b", "\ud800", "../x", "a" * 65, "é"]
WRONG_TYPES: list[Any] = [7, True, ["a"], {"a": 1}]
BAD_JSON = [
    "{",
    "NaN",
    '{"a": Infinity}',
    '{"a": 1, "a": 2}',
    DEEP_TEXT,
    json.dumps(LARGE),
    "1e999",
    "9" * 30,
    '"\\ud800"',
    "",
]
BAD_NATIVE: list[Any] = [DEEP, {"a": LARGE}, ["\ud800"], {"\ud800": 1}, [float("nan")], [float("inf")], [10**30]]
BAD_NUMBERS: list[Any] = [-1, 10**9, 10**30, float("nan"), float("inf"), "x", True, {}]

CHECKED = {
    "catalog_path", "imports_base_dir", "manifests_dir", "new_status", "schema_path", "skills_base_dir",
}  # fmt: skip
"""Texts whose schema admits more than their tool does. Other texts without a pattern are free: any valid Unicode."""


ONE_OF: dict[str, dict[str, Any]] = {
    "start_run": {"workflow_json": {"StartAt": "A", "States": {"A": {"Type": "Task", "End": True}}}},
    "create_schedule": {"definition": "report", "every_s": 60},
    "resolve_state": {"skip": True},
}
"""The further arguments of a tool that takes one of several arguments."""

MAY_BE_NEW = {"create_workflow_control_plane", "start_run", "open_run", "delete_run"}
"""Tools that an unknown run is no error for: they make it, or want it gone."""

_NO_GATES: list[Any] = ["", "x", 7, True, {}, ["a"], [{"a": 1}], [DEEP], [{}] * 200]
_NO_TEXTS: list[Any] = ["[", 7, {}, [7], ["x" * 2_000], ["a"] * 51]
BAD_BY_NAME: dict[str, list[Any]] = {
    "achievements": _NO_TEXTS,
    "limitations": _NO_TEXTS,
    "ask": ["", "a b", "[", 7, {}, [], [7], {"group": 7}],
    "lease_states": ["", "A", 7, {}, [], [7], [""], ["a\nb"], [LONG], ["a"] * 201],
    "gates": _NO_GATES,
    "failed": ["", "[", 7, {}, [7], [["a"]]],
    "criteria": _NO_GATES,
    "exit_code": [number for number in BAD_NUMBERS if number != -1],
}
"""Of arguments whose values the schema does not tell; an array of ids or of names may be right."""


def _bad_values(name: str, schema: dict[str, Any]) -> Iterator[Any]:
    """Values that this argument must not have, from its own schema."""
    if name == "redis_url":
        yield from ["redis://evil:6379", "", 7, "\ud800"]
        return
    if name.endswith("_json"):
        yield from BAD_JSON
        yield from BAD_NATIVE
        return
    if name in BAD_BY_NAME:
        yield from BAD_BY_NAME[name]
        return
    branches = schema.get("anyOf", [schema])
    types = {branch.get("type") for branch in branches}
    texts = [branch for branch in branches if branch.get("type") == "string" and not {"enum", "const"} & set(branch)]
    if types & {"integer", "number"}:
        yield from BAD_NUMBERS
    elif "boolean" in types:
        yield from [7, "true", []]
    elif name == "content":
        yield from ["\ud800", *WRONG_TYPES]  # of artifacts, which may be long
    elif name not in CHECKED and any("pattern" not in text for text in texts):
        yield from [LARGE, "\ud800", *WRONG_TYPES]
    elif name in {"state", "source_state", "unit", "parent_unit"} or (name == "group" and not _is_id(texts)):
        yield from ["", "a\nb", "\ud800", LONG, "Z", *WRONG_TYPES]
    else:
        yield from BAD_TEXTS
        yield from WRONG_TYPES


_ANYTHING = {
    ("validate_workflow", "workflow_json"),  # a bad document is what it is asked about: its verdict is no error
    ("validate_skill_manifest", "skill_json"),  # the same
    ("put_definition", "content"),  # any text, any JSON: tests/features/catalogue has what is neither
}


def _is_id(texts: list[dict[str, Any]]) -> bool:
    """Return True for the name of a group of people, which is an id; a group of units is named as a state is."""
    return any(text.get("pattern") == ID for text in texts)


_TOOLS = sorted(name for name, spec in OFFERED.items() if spec.toolset not in {"authoring", "redis_json", "files"})
"""In the others it depends what is bad: tests/authoring, tests/features/documents, test_files, test_document_fuzz."""


def _arguments(tool: str, workflow_id: str) -> dict[str, Any]:
    """A call that would be right, but for its token and its skill."""
    known = {"workflow_id": workflow_id, "state": "A", "owner_agent_id": "worker-1", "agent_id": "worker-1"}
    known |= {"skill_json": "skill://none@1.0.0", "manifest_id": "skill.none@1.0.0"}
    result = smallest(tool) | ONE_OF.get(tool, {})
    if "workflow_id" in TOOLS[tool].arguments.model_fields:
        result["workflow_id"] = workflow_id
    return result | {name: value for name, value in known.items() if name in result}


Dump = Callable[[], dict[str, Kept]]


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A Redis of its own, so that all of it can be compared."""
    place = tmp_path_factory.mktemp("files")
    (place / "manifests").mkdir()
    (place / "catalog.json").write_text('{"skills": []}')
    settings = Settings(
        redis_url=None,
        data_dir=tmp_path_factory.mktemp("data"),
        manifests_dir=place / "manifests",
        skills_catalog=place / "catalog.json",
        stub_config=place / "stub.json",
    )
    with open_application(settings) as opened:
        yield opened


@pytest.fixture(scope="module")
def dump(application: Application) -> Iterator[Dump]:
    """All of Redis but the audit trail, which has refused changes too, and the probe of writes."""
    client: Any = redis.Redis.from_url(application.redis_url)

    def everything() -> dict[str, Kept]:
        keys = [key for key in client.scan_iter() if not key.startswith((AUDIT_TRAIL.encode(), PROBE.encode()))]
        result = ((key.decode(), content_of(client.execute_command, key), client.ttl(key)) for key in keys)
        return {key: Kept(holding, life_s >= 0) for key, holding, life_s in result if life_s != GONE_S}

    yield everything
    client.close()


@pytest.fixture(scope="module")
async def shared(application: Application) -> AsyncIterator[tuple[Tools, str]]:
    """Tools and a run whose state A is held by somebody else; another run is there for calls of any kind."""
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await new_run(tools, "bad-input")
        await lease_on(tools, "bad-input", lease_ttl_s=3600)
        await new_run(tools, "any-input")
        yield tools, "bad-input"


async def _answer(application: Application, tools: Tools, tool: str, arguments: dict[str, Any]) -> Answer:
    """Call through a client, unless no client can send this (NaN, lone surrogates): then straight at the tool."""
    try:
        json.dumps(arguments, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return await _straight(application, tool, arguments)
    return await tools.call(tool, **arguments)


async def _straight(application: Application, tool: str, arguments: dict[str, Any]) -> Answer:
    """Call the tool without a client."""
    reply = await envelope.call(TOOLS[tool], application, arguments, LOCAL, METER)
    text = json_text.dump(reply.payload)
    answer = Answer(payload=json.loads(text), text=text, broken=reply.broken)
    check(answer, tool)
    return answer


@rows("tool", _TOOLS)
async def test_a_bad_value_is_refused_in_words_and_changes_nothing(
    application: Application, shared: tuple[Tools, str], dump: Dump, tool: str
) -> None:
    tools, workflow_id = shared
    properties = TOOLS[tool].arguments.model_json_schema()["properties"]
    bad = [
        (argument, value)
        for argument in TOOLS[tool].arguments.model_fields
        if (tool, argument) not in _ANYTHING
        for value in _bad_values(argument, properties[argument])
    ]
    before = dump()
    for number, (argument, value) in enumerate(bad):
        arguments = _arguments(tool, workflow_id) | {argument: value}
        through_client = number == 0  # it sends all values alike; the call itself is what refuses them
        answer = await (
            _answer(application, tools, tool, arguments) if through_client else _straight(application, tool, arguments)
        )
        shown = f"{argument}={str(value)[:60]!r}: {answer.text[:300]}"
        assert answer.code in {
            "invalid_argument",
            "invalid_definition",
            "too_large",
            "unknown_state",
            "unknown_skill",
        }, shown
        assert answer.broken, shown
        assert argument in answer.error or answer.code != "invalid_argument", shown
        assert "evil" not in answer.text
    assert changed(before, dump()) == set()


@rows("tool", sorted(name for name, spec in OFFERED.items() if "workflow_id" in spec.arguments.model_fields))
async def test_an_unknown_run_is_named(shared: tuple[Tools, str], dump: Dump, tool: str) -> None:
    tools, _ = shared
    if tool in MAY_BE_NEW:
        return
    before = dump()
    answer = await tools.call(tool, **_arguments(tool, "no-such-run"))
    assert (answer.code, answer.broken) == ("unknown_run", True)
    assert answer.error == "unknown_run: There is no run 'no-such-run'."
    assert changed(before, dump()) == set()


@rows("tool", ["renew_state_lease", "release_state_lease", "update_workflow_control_plane"])
@rows("token", ["wrong", "x" * 200, "***", "null", "lease-"])
async def test_a_wrong_token_changes_nothing(shared: tuple[Tools, str], dump: Dump, tool: str, token: str) -> None:
    tools, workflow_id = shared
    before = dump()
    await tools.refused("lease_lost", tool, workflow_id=workflow_id, state="A", lease_token=token)
    assert changed(before, dump()) == set()


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@st.composite
def _calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool and arguments of any kind: a right call with some of its arguments replaced, or others added."""
    tool = draw(st.sampled_from(sorted(OFFERED)))
    names = st.sampled_from(sorted(TOOLS[tool].arguments.model_fields)) | st.text(max_size=8)
    sent = draw(st.dictionaries(names, _JSON | st.sampled_from(BAD_TEXTS + BAD_JSON), max_size=4))
    arguments = (_arguments(tool, "any-input") if draw(st.booleans()) else {}) | sent
    if isinstance(arguments.get("timeout_s"), int | float):
        arguments["timeout_s"] = 0
    return tool, {**({"timeout_s": 0} if tool == "await_workflow_event" else {}), **arguments}


@given(call=_calls())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_no_arguments_at_all_make_a_tool_fail_inside(
    application: Application, shared: tuple[Tools, str], call: tuple[str, dict[str, Any]]
) -> None:
    tools, _ = shared
    name, arguments = call
    answer = await _answer(application, tools, name, arguments)
    assert answer.code != "internal_error", answer.text
    assert answer.code != "store_unsuitable", answer.text
