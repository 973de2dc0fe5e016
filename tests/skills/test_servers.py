"""Where tools are: endpoints on a list, and the operator's registry."""

import json
from pathlib import Path
from typing import Any

import pytest

from dcf.errors import Forbidden, InvalidArgument, ToolUnavailable
from dcf.skills.endpoints import check_endpoint, read_endpoint
from dcf.skills.servers import Registry
from tests.support.tables import rows

ALLOWED = ("https://tools.example.com/mcp", "http://localhost:8765", "http://[::1]:80/")


@rows(
    "url",
    [
        "https://tools.example.com/mcp",
        "https://tools.example.com:443/mcp",
        "https://TOOLS.example.com/mcp/deeper?x=1",
        "http://localhost:8765/anything",
        "http://[::1]/mcp",
        "http://[0:0:0:0:0:0:0:1]/mcp",
    ],
)
def test_a_listed_endpoint_is_allowed(url: str) -> None:
    assert check_endpoint(url, ALLOWED) == url


@rows(
    "url",
    [
        "http://tools.example.com/mcp",
        "https://tools.example.com/mcp-other",
        "https://tools.example.com/",
        "https://tools.example.com.evil.example/mcp",
        "https://evil.example/mcp?https://tools.example.com/mcp",
        "http://localhost:8766/",
        "http://127.0.0.1:8765/",
        "https://sub.tools.example.com/mcp",
    ],
)
def test_an_endpoint_that_is_not_listed_is_refused(url: str) -> None:
    """D-102: a manifest could register any address."""
    with pytest.raises(Forbidden, match="not on the list"):
        check_endpoint(url, ALLOWED)
    with pytest.raises(Forbidden):
        check_endpoint(url, ())


@rows(
    "url",
    [
        "http://169.254.169.254/latest/meta-data",
        "http://169.254.170.2/",
        "http://metadata.google.internal/",
        "http://METADATA/",
        "http://100.100.100.200/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://0.0.0.0/",
        "http://224.0.0.1/",
    ],
)
def test_a_metadata_service_is_refused_even_when_it_is_listed(url: str) -> None:
    with pytest.raises(Forbidden, match="never allowed"):
        check_endpoint(url, (url,))


@rows(
    "url",
    [
        "",
        "ftp://localhost:8765/",
        "file:///etc/passwd",
        "//localhost:8765/",
        "http:/localhost",
        "http://",
        "http://user:canary@localhost:8765/",
        "http://localhost:8765\\@evil.example/",
        "http://localhost:8765#@evil.example/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://0251.0376.0251.0376/",
        "http://169.254.169.254./",
        "http://127.1/",
        "http://localhost:8765/../admin",
        "http://localhost:99999/",
        "http://localhost:x/",
        "http://lo calhost/",
        "http://localhost\n.evil.example/",
        "http://löcalhost/",
        "http://[::1%25eth0]/",
        "http://-a.example/",
        "http://a..example/",
    ],
)
def test_an_address_that_could_be_read_in_two_ways_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        read_endpoint(url)
    assert "canary" not in refused.value.message


def registry(tmp_path: Path, document: Any, environment: dict[str, str] | None = None) -> Registry:
    path = tmp_path / "registry.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return Registry(path=path, environment=environment or {})


@pytest.mark.parametrize(
    ("entry", "server"),
    [
        ({"endpoint": "http://stub:8765"}, {"transport": "streamable_http", "url": "http://stub:8765/mcp"}),
        ({"endpoint": "http://stub:8765/x"}, {"transport": "streamable_http", "url": "http://stub:8765/x"}),
        (
            {"transport": "http", "endpoint": "http://stub/", "path": "/m"},
            {"transport": "streamable_http", "url": "http://stub/m"},
        ),
        ({"transport": "sse", "endpoint": "http://stub/sse"}, {"transport": "sse", "url": "http://stub/sse"}),
        ({"transport": "ws/sse", "endpoint": "http://stub/sse"}, {"transport": "sse", "url": "http://stub/sse"}),
        ({"transport": "ws", "endpoint": "wss://stub/ws"}, {"transport": "sse", "url": "https://stub/ws"}),
        (
            {"transport": "stdio", "command": "run", "args": ["-x"]},
            {"transport": "stdio", "command": "run", "args": ["-x"]},
        ),
        (
            {"transport": "stdio", "command": "run", "args": ["--key", "${KEY}"]},
            {
                "transport": "stdio",
                "command": "run",
                "args": ["--key", "s3"],
                "shown_args": ["--key", "${KEY}"],
            },
        ),
        (
            {"endpoint": "http://stub/mcp", "headers": {"X-Key": "Bearer ${KEY}"}},
            {
                "transport": "streamable_http",
                "url": "http://stub/mcp",
                "headers": {"X-Key": "Bearer s3"},
                "shown_headers": {"X-Key": "Bearer ${KEY}"},
            },
        ),
        (
            {"endpoint": "http://${HOST}/${KEY}/mcp?k=${KEY}"},
            {
                "transport": "streamable_http",
                "url": "http://stub/s3/mcp?k=s3",
                "shown_url": "http://stub/${KEY}/mcp?k=${KEY}",
            },
        ),
    ],
)
def test_a_server_is_described_by_its_transport(tmp_path: Path, entry: Any, server: Any) -> None:
    result = registry(tmp_path, {"servers": {"s": entry}}, {"KEY": "s3", "HOST": "stub"}).server("s")
    assert result == {"name": "s"} | server


def test_an_environment_overrides_what_it_has_differently(tmp_path: Path) -> None:
    """D-97g: env, overrides and ${VAR} were documented and not implemented."""
    document = {
        "env": "production",
        "servers": {"s": {"endpoint": "http://stub/mcp", "headers": {"A": "b"}}},
        "overrides": {"production": {"s": {"endpoint": "https://real.example/mcp"}}, "test": {"s": {"endpoint": "x"}}},
    }
    server = registry(tmp_path, document).server("s")
    assert (server["url"], server["headers"]) == ("https://real.example/mcp", {"A": "b"})


@rows(
    "entry",
    [
        7,
        {},
        {"endpoint": 7},
        {"endpoint": "http://169.254.169.254/"},
        {"endpoint": "http://u:p@stub/"},
        {"endpoint": "http://stub/", "headers": {"A": 1}},
        {"endpoint": "http://stub/", "headers": {"A": "${UNSET_CANARY}"}},
        {"transport": "carrier-pigeon", "endpoint": "http://stub/"},
        {"transport": "stdio"},
        {"transport": "stdio", "command": "x", "args": "y"},
    ],
)
def test_a_server_that_cannot_be_used_is_named(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(ToolUnavailable, match="The server 's'"):
        registry(tmp_path, {"servers": {"s": entry}}).server("s")


@rows("document", ["{", "[]", '"x"', "null", "{}", '{"servers": []}', '{"servers": {}, "overrides": 7}'])
def test_a_registry_of_any_kind_is_survived(tmp_path: Path, document: str) -> None:
    with pytest.raises(ToolUnavailable):
        registry(tmp_path, document).server("s")


def test_without_a_registry_no_server_is_known(tmp_path: Path) -> None:
    with pytest.raises(ToolUnavailable, match="is not in the registry"):
        Registry(path=tmp_path / "none.json").server("s")
