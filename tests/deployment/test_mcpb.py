"""The bundle for desktop clients: always the same bytes, and a manifest that clients take."""

import importlib.util
import json
import zipfile
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
from typer.testing import CliRunner

from dcf.cli.app import app
from dcf.settings.process import VARIABLES
from dcf.tools.mcp.selection import PROFILES
from tests.deployment.test_install import PROJECT, SERVER, STDIO
from tests.support.paths import ROOT

SCHEMA = json.loads(Path(__file__).with_name("mcpb_manifest_v0_4.schema.json").read_text("utf-8"))
"""As it is in the npm package @anthropic-ai/mcpb 2.1.2."""

MANIFEST: dict[str, Any] = json.loads((ROOT / "deploy" / "mcpb" / "manifest.json").read_text("utf-8"))
CONFIG = MANIFEST["server"]["mcp_config"]


def built(target: Path) -> Path:
    spec = importlib.util.spec_from_file_location("mcpb_build", ROOT / "deploy" / "mcpb" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.build(target)
    return target


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("bundle") / "dcf.mcpb")


def test_the_manifest_is_of_the_form_that_clients_take() -> None:
    jsonschema.Draft7Validator(SCHEMA).validate(MANIFEST)


def test_the_manifest_tells_what_the_project_and_the_registry_tell() -> None:
    assert (MANIFEST["version"], MANIFEST["license"]) == (PROJECT["version"], PROJECT["license"])
    assert MANIFEST["description"] == SERVER["description"]
    assert MANIFEST["compatibility"]["runtimes"]["python"] == PROJECT["requires-python"]


def test_what_a_client_starts_is_a_command_of_the_project_with_settings_that_it_has() -> None:
    words = CONFIG["args"]
    assert (CONFIG["command"], words[words.index("dcf") :]) == ("uv", ["dcf", *STDIO])
    assert "dcf" in PROJECT["scripts"]
    assert words[words.index("--extra") + 1] in PROJECT["optional-dependencies"]
    assert CliRunner().invoke(app, [*STDIO, "--help"]).exit_code == 0
    assert CONFIG["env"].keys() <= VARIABLES.keys()
    texts = {f"${{user_config.{name}}}" for name in MANIFEST["user_config"]}
    assert set(CONFIG["env"].values()) == texts
    assert set(PROFILES) <= set(get_args(VARIABLES["DCF_PROFILE"].annotation))
    assert MANIFEST["user_config"]["profile"]["default"] in PROFILES


def test_the_same_sources_give_the_same_bytes(bundle: Path, tmp_path: Path) -> None:
    assert built(tmp_path / "again.mcpb").read_bytes() == bundle.read_bytes()
    with zipfile.ZipFile(bundle) as archive:
        entries = archive.infolist()
    assert {(entry.date_time, entry.external_attr >> 16) for entry in entries} == {((1980, 1, 1, 0, 0, 0), 0o100644)}
