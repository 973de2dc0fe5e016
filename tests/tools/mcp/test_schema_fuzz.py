"""Every tool called with whatever its own input schema admits: it answers, keeps to its keys, and never hangs.

The schema is the one that clients see, so this also finds arguments that the schema admits and the tool cannot take.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr

from dcf.application.application import Application, open_application
from dcf.core.access.model import Caller, Scope
from dcf.settings.process import Settings
from dcf.verbs.registry import TOOLS
from dcf.verbs.schemas import parameters_of
from tests.support.redis.restricted import RestrictedRedis, restricted_redis
from tests.tools.access import ask
from tests.tools.calls import ONE_TASK

pytestmark = pytest.mark.anyio

EVERYTHING = Caller(name="key:cafecafecafe", scopes=frozenset(Scope), local=True)
PREFIXES = ("cp:", "dp:", "doc:")

_KNOWN: dict[str, list[Any]] = {
    "workflow_id": ["fuzz-run", "no-such-run"],
    "state": ["A", "B"],
    "agent_id": ["me"],
    "owner_agent_id": ["me"],
    "lease_token": ["t1"],
    "redis_key": ["doc:fuzz", "cp:wf:fuzz-run:meta", "cp:wf:fuzz-run:state:A", "dp:wf:fuzz-run:output:A", "other:key"],
    "path": ["$", "$.a", ".a[0]", "notes.txt", "../x"],
    "workflow_json": [ONE_TASK],
}
"""Values that lead further than chance would."""

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def _values(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a schema of ours admits; without a library, since ours use little of the language."""
    if "anyOf" in schema:
        return st.one_of([_values(item) for item in schema["anyOf"]])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if isinstance(kind, list):
        return _JSON
    if kind == "string":
        if "pattern" in schema:
            return st.from_regex(schema["pattern"], fullmatch=True).filter(
                lambda text: len(text) <= schema.get("maxLength", 10_000)
            )
        least = schema.get("minLength", 0)
        return st.text(min_size=least, max_size=max(least, min(schema.get("maxLength", 50), 50)))
    simple: dict[Any, st.SearchStrategy[Any]] = {
        "boolean": st.booleans(),
        "null": st.none(),
        "object": st.dictionaries(st.text(max_size=8), _JSON, max_size=4),
        "array": st.lists(_JSON, max_size=4),
        "integer": st.integers(schema.get("minimum"), schema.get("maximum")),
        "number": st.floats(schema.get("minimum"), schema.get("maximum"), allow_nan=False),
    }
    return simple[kind]


@st.composite
def _calls(draw: st.DrawFn, name: str) -> dict[str, Any]:
    schema = parameters_of(TOOLS[name])
    result = {}
    for argument, expected in schema["properties"].items():
        if argument == "redis_url" or (argument not in schema.get("required", ()) and draw(st.booleans())):
            continue
        known = _KNOWN.get(argument)
        result[argument] = draw(st.sampled_from(known) if known and draw(st.booleans()) else _values(expected))
    return result | ({"timeout_s": 0} if name == "await_workflow_event" else {})


@pytest.fixture(scope="module")
def fuzzed_redis(short_directory: Path) -> Iterator[RestrictedRedis]:
    with restricted_redis(short_directory / "fuzzed") as result:
        yield result


@pytest.fixture(scope="module")
def fuzzed(fuzzed_redis: RestrictedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    """A Redis and directories of their own."""
    place = tmp_path_factory.mktemp("files")
    (place / "files").mkdir()
    chosen = Settings(
        redis_url=SecretStr(fuzzed_redis.url),
        manifests_dir=place / "manifests",
        skills_catalog=place / "catalog.json",
        stub_config=place / "stub.json",
        files_write=(place / "files",),
        rate_per_s=100_000,
        rate_burst=100_000,
    )
    with open_application(chosen) as opened:
        yield opened


def drawn(name: str, count: int) -> list[dict[str, Any]]:
    """Return N calls of a tool that its schema admits."""
    calls: list[dict[str, Any]] = []

    @given(call=_calls(name))
    @settings(max_examples=count, database=None, suppress_health_check=list(HealthCheck))
    def collect(call: dict[str, Any]) -> None:
        calls.append(call)

    collect()
    return calls


async def seed(application: Application) -> None:
    """Create the run that some calls name."""
    wish = {"workflow_json": ONE_TASK, "workflow_id": "fuzz-run", "agents_map_json": {"A": "me"}}
    await ask(application, EVERYTHING, "create_workflow_control_plane", **wish)


def strange_keys(redis: RestrictedRedis) -> list[str]:
    """Return the keys that no tool may write."""
    with redis.admin() as admin:
        keys: Any = admin.keys()
    return [key for key in keys if not key.startswith(PREFIXES)]


async def check_answers(application: Application, name: str, *, count: int) -> None:
    """Call a tool N times: it answers, without an internal error."""
    for call in drawn(name, count):
        answer = await ask(application, EVERYTHING, name, **call)
        assert answer.code not in {"internal_error", "store_unsuitable"}, (name, call, answer.text)


@pytest.mark.timeout(1800)  # for a hang only: `tests/system/fuzz/test_schema_fuzz.py` draws more calls
async def test_every_tool_answers_whatever_its_schema_admits(
    fuzzed: Application, fuzzed_redis: RestrictedRedis
) -> None:
    await seed(fuzzed)
    for name in sorted(TOOLS):
        await check_answers(fuzzed, name, count=4)
    await fuzzed.reader.close()
    assert strange_keys(fuzzed_redis) == []
