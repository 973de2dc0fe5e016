"""The JSON and file tools under anything that their own input schemas admit, and much that they do not.

No tool fails inside, no key outside the prefixes is touched, no file outside the roots, and answers keep their promise.
"""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp.client import Client

from dcf.application.application import Application
from dcf.tools.mcp.server import build_server
from dcf.values import json_text
from dcf.verbs.registry import TOOLS
from tests.tools.calls import TWO_TASKS, Tools, new_run

pytestmark = pytest.mark.anyio

Replica = Callable[..., Application]

RUN = "fuzzed-run"
NAMES = sorted(name for name, spec in TOOLS.items() if spec.toolset in {"redis_json", "files"})
KEYS = [
    "doc:fuzz", "doc:fuzz", "doc:", "cp:idx:runs", "cp:idx:live", "other", "", "*", "doc:a\nb",
    f"cp:wf:{RUN}:meta", f"cp:wf:{RUN}:state:A", f"cp:wf:{RUN}:events", f"cp:wf:{RUN}:timers", f"dp:wf:{RUN}:input:A",
]  # fmt: skip
PATHS = ["$", "", "a", "$.a.b", "$['a.b']", "l[0]", "l[-1]", "*", "$..", "a[", "status", "agents", "lease", "l[9]"]
PLACES = [".", "a", "a/b", "a/b/c", "/", "/etc/passwd", "..", "../x", "link", "link/x", "a//b/./c", "\0", "x" * 300]
TEXTS = ["", "1", "{}", "[]", '"text"', "null", "{", "NaN", "[" * 100, '{"a":{"b":[1,2]}}', "utf-8", "base64"]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.sampled_from(TEXTS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
SENSIBLE: dict[str, st.SearchStrategy[Any]] = {
    "redis_key": st.sampled_from(KEYS),
    "path": st.sampled_from(PATHS + PLACES),
    "from_path": st.sampled_from(PATHS),
    "to_path": st.sampled_from(PATHS),
    "source": st.sampled_from(PLACES),
    "destination": st.sampled_from(PLACES),
    "content": st.sampled_from(TEXTS),
    "delta": st.sampled_from(["1", 1, -1.5, "x", 2**62]),
    "key_prefix": st.sampled_from(["doc:", "cp:idx:", "", "doc:fuzz"]),
    "request_id": st.sampled_from(["r1", "r2", None]),
    "cursor": st.sampled_from(["a", "a/b", 0, 1, None]),
}


@st.composite
def calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A tool with arguments that are mostly of the right kind."""
    tool = draw(st.sampled_from(NAMES))
    fields = TOOLS[tool].arguments.model_fields
    arguments: dict[str, Any] = {}
    for name, field in fields.items():
        if name != "redis_url" and (field.is_required() or draw(st.booleans())):
            usual = SENSIBLE.get(name, st.sampled_from([True, False]) if field.annotation is bool else VALUES)
            arguments[name] = draw(usual if draw(st.integers(0, 9)) else VALUES)
    return tool, arguments


AROUND = {"outside": None, "outside/secret": "content of the neighbours", "root": None}


def _plant(place: Path) -> None:
    """Put the link that leads out back, should a call have moved or deleted it."""
    link = place / "root/link"
    if not link.is_symlink() and not link.exists():
        link.symlink_to(place / "outside")


def _around(place: Path) -> dict[str, str | None]:
    """The files around the root, which no call may change."""
    there = [*place.iterdir(), *(place / "outside").iterdir()]
    return {str(item.relative_to(place)): item.read_text() if item.is_file() else None for item in there}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    mktemp = tmp_path_factory.mktemp("fuzz")
    (mktemp / "outside").mkdir()
    (mktemp / "outside/secret").write_text("content of the neighbours")
    (mktemp / "root").mkdir()
    return mktemp


@pytest.fixture(scope="module")
async def fuzzed(replica: Replica, place: Path) -> AsyncIterator[Tools]:
    application = replica(allow_operator=True, files_write=(place / "root",), json_max_bytes=20_000)
    async with Client(build_server(application)) as client:
        tools = await Tools.of(client)
        await new_run(tools, RUN, TWO_TASKS)
        await tools.ok("json_create", redis_key="doc:fuzz", initial_json={"a": {"b": 1}, "l": [1, 2], "a.b": "x"})
        yield tools


async def check_call(fuzzed: Tools, raw_redis: redis.Redis, place: Path, call: tuple[str, dict[str, Any]]) -> None:
    """Make a call: nothing fails inside, and nothing outside the prefixes and roots is read or changed."""
    name, arguments = call
    _plant(place)
    protected = {key: raw_redis.dump(key) for key in ("cp:idx:runs", "cp:idx:live")}
    try:
        json_text.dump(arguments)
    except TypeError:
        return  # no client can send this; tests/verbs/test_bad_input.py sends it past the client
    answer = await fuzzed.call(name, **arguments)
    assert answer.code not in {"internal_error", "store_unsuitable", "store_unavailable"}, answer.text
    assert "neighbours" not in answer.text
    assert _around(place) == AROUND
    assert {key: raw_redis.dump(key) for key in protected} == protected
    keys: Any = raw_redis.keys()
    assert all(key.startswith((b"doc:", b"cp:wf:", b"dp:wf:", b"cp:idx:", b"notes:", b"c-")) for key in keys)


@pytest.mark.timeout(1800)  # for a hang only: `tests/system/fuzz/test_document_fuzz.py` draws more calls
@given(call=calls())
@settings(max_examples=60, suppress_health_check=list(HealthCheck))
async def test_nothing_makes_a_tool_fail_inside_or_leave_its_place(
    fuzzed: Tools, raw_redis: redis.Redis, place: Path, call: tuple[str, dict[str, Any]]
) -> None:
    await check_call(fuzzed, raw_redis, place, call)


async def test_a_run_that_was_fuzzed_can_still_be_worked_on(fuzzed: Tools) -> None:
    read = await fuzzed.ok("read_workflow_control_plane", workflow_id=RUN)
    assert read["meta"]["status"] == "running"
    assert set(read["states"]) == {"A", "B"}
