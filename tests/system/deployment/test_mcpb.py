"""The bundle for desktop clients: a server starts from it."""

import sys
import zipfile
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.deployment.test_install import STDIO
from tests.deployment.test_mcpb import MANIFEST, built

pytestmark = pytest.mark.anyio


async def test_the_server_starts_from_what_is_in_the_bundle(tmp_path: Path, short_directory: Path) -> None:
    place = short_directory / "bundle"
    with zipfile.ZipFile(built(tmp_path / "dcf.mcpb")) as archive:
        names = archive.namelist()
        archive.extractall(place)
    assert {"manifest.json", "pyproject.toml", MANIFEST["server"]["entry_point"]} <= set(names)
    assert not any("__pycache__" in name or name.startswith("tests/") for name in names)
    environment = {"PYTHONPATH": str(place), "DCF_DATA_DIR": str(short_directory / "mcpb"), "DCF_PROFILE": "planner"}
    started = StdioServerParameters(command=sys.executable, args=["-m", "dcf", *STDIO], env=environment, cwd=place)
    async with Client(started) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        assert "start_run" in listed
        assert (await client.read_resource("dcf://language")).contents
        assert (await client.list_prompts()).prompts
        assert any(resource.uri.startswith("skill://") for resource in (await client.list_resources()).resources)
