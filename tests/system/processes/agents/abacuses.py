"""Abacuses as skills have them: a process for each transport, its entry in a registry, and a skill that needs it."""

import json
import socket
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tests.support.agents.skill_manifests import manifest, tool
from tests.support.redis.servers import free_port
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Site

SKILL: Final = "skill://add.numbers@1.0.0"
MANIFEST: Final = "skill.add.numbers@1.0.0"
TRANSPORTS: Final = {
    "streamable_http": "streamable-http",
    "http": "streamable-http",
    "stdio": "stdio",
    "sse": "sse",
    "ws": "sse",
    "ws/sse": "sse",
}
"""The words of a registry, each with the transport of the server behind it."""

_PROGRAM: Final = str(Path(__file__).with_name("abacus.py"))


def command(name: str = "add") -> list[str]:
    """The command by which a user of the tool starts a server of its own."""
    return [sys.executable, _PROGRAM, name, "stdio"]


def write_abacus_skill(site: Site, transport: str, name: str = "add") -> dict[str, str]:
    """Start the server, unless a command starts it; return the settings with which dcf knows it and its skill.

    The tool has this name, and its server the name `abacus_` and that.
    """
    registry = site.folder / "registry.json"
    registry.write_text(json.dumps({"servers": {f"abacus_{name}": _entry(site, transport, name)}}))
    return {"SKILL_REGISTRY_PATH": str(registry)} | write_skill(site, tool(name, f"abacus_{name}"))


def write_skill(site: Site, needed: dict[str, Any]) -> dict[str, str]:
    """Write the skill that needs this tool; return the setting with which dcf finds it."""
    manifests = site.folder / "manifests"
    manifests.mkdir()
    skill = manifest("add.numbers", requiredTools=[needed], requiredDataSources=[])
    (manifests / "add.json").write_text(json.dumps(skill))
    return {"DCF_MANIFESTS_DIR": str(manifests)}


def _entry(site: Site, transport: str, name: str) -> dict[str, Any]:
    if transport == "stdio":
        program, *arguments = command(name)
        return {"transport": transport, "command": program, "args": arguments}
    port, served = free_port(), TRANSPORTS[transport]
    site.start(_PROGRAM, name, served, str(port))
    wait_until(lambda: _listens(port), LONG)
    scheme = "ws" if transport.startswith("ws") else "http"
    path = "/sse" if served == "sse" else "/mcp"
    return {"transport": transport, "endpoint": f"{scheme}://127.0.0.1:{port}", "path": path}


def _listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False
