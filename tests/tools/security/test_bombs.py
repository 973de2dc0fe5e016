"""Input that is small to send and large to take: refused wherever JSON is taken, and before it is unpacked."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import anyio
import httpx2
import pytest

from dcf.application.application import Application
from dcf.tools.mcp.server import build_http_app
from dcf.verbs.registry import TOOLS
from tests.support.tables import rows
from tests.tools.access import EVERYTHING, ask, key_of, smallest
from tests.tools.calls import serving

pytestmark = pytest.mark.anyio

ALL = key_of(*EVERYTHING)
REFUSED = {"invalid_argument", "invalid_definition", "too_large", "unknown_skill"}


def _nested(levels: int) -> Any:
    nested: Any = 1
    for _ in range(levels):
        nested = [nested]
    return nested


TEXTS = {
    "deep arrays": "[" * 100_000,
    "deep arrays, closed": "[" * 5_000 + "]" * 5_000,
    "deep objects": '{"a":' * 5_000 + "1" + "}" * 5_000,
    "65 levels": "[" * 65 + "]" * 65,
    "a huge integer": "9" * 5_000,
    "65 bits": str(2**64),
    "a huge exponent": "1e999999999",
    "not a number": "[NaN]",
    "infinity": "[-Infinity]",
    "the same key twice": '{"a":1,"a":2}',
    "the same key twice inside": '{"x":[{"\\u0061":1,"a":2}]}',
    "half a surrogate": '["\\ud800"]',
    "too long": json.dumps(["x" * 2_000_000]),
    "too many": "[" + "0," * 1_000_000 + "0]",
}
VALUES = {
    "65 levels": _nested(65),
    "500 levels": _nested(500),
    "a huge integer": [10**4000],
    "infinity": [float("inf")],
    "not a number": {"a": float("nan")},
    "half a surrogate": ["\ud800"],
    "half a surrogate as a key": {"\ud800": 1},
    "too long": ["x" * 2_000_000],
}
TAKES_JSON = sorted(
    (name, argument) for name, spec in TOOLS.items() for argument in spec.arguments.model_fields if "_json" in argument
)


@rows(("name", "argument"), TAKES_JSON)
async def test_every_json_bomb_is_refused_in_words(
    walled: Application, raw_redis: Any, name: str, argument: str
) -> None:
    before = set(raw_redis.keys())
    for kind, value in (*TEXTS.items(), *VALUES.items()):
        with anyio.fail_after(60):
            answer = await ask(walled, ALL, name, **smallest(name) | {argument: value})
        assert answer.code in REFUSED, f"{kind}: {answer.text[:300]}"
    written = set(raw_redis.keys()) - before
    assert not {key for key in written if not key.startswith(b"cp:idx:")}, "nothing of it is kept"


@pytest.fixture(scope="module")
def url(replica: Callable[..., Application]) -> Iterator[str]:
    with serving(build_http_app(replica())) as server_url:
        yield server_url


CALL = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "read_workflow_control_plane", "arguments": {"workflow_id": "x"}},
    }
).encode()
PADDED = CALL[:-1] + b" " * 50_000_000 + b"}"
ENCODINGS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}


@rows("encoding", ENCODINGS)
@rows("body", [CALL, PADDED], ids=["a call", "fifty megabytes"])
def test_a_compressed_request_is_never_unpacked(url: str, encoding: str, body: bytes) -> None:
    packed = ENCODINGS[encoding](body)
    headers = {
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Encoding": encoding,
    }
    response = httpx2.post(f"{url}/mcp", content=packed, headers=headers)
    assert response.status_code in {400, 415}
    assert "unknown_run" not in response.text
