"""The servers of an acceptance run: dcf with its Redis, and the stub's tools, which the skills' registry points to."""

import json
import shutil
import tempfile
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT
from tests.system.processes.site import LONG, Site, first_line, opened

PULSE_S = "0.2"
"""How often the timer loop looks: a reminder then comes soon after it is due."""


@dataclass(frozen=True, kw_only=True)
class Shop:
    site: Site
    server_url: str
    stub_url: str
    registry: Path

    def calls_of_stub(self) -> Counter[str]:
        """How often each tool of the stub was called, as SERVER:TOOL."""
        with urllib.request.urlopen(self.stub_url.removesuffix("/mcp") + "/metrics", timeout=LONG) as answer:
            return Counter(json.load(answer)["metrics"]["tool_calls"])


@contextmanager
def shop() -> Iterator[Shop]:
    """Start both servers; they end with the block."""
    folder = Path(tempfile.mkdtemp(prefix="dcfa-", dir="/tmp"))
    try:
        with opened(folder) as site:
            stub_url = json.loads(first_line(site.dcf("workflows", "stub", "--port", "0", "--json")))["url"]
            registry = write_registry(folder, stub_url)
            server = site.serve("--port", "0", DCF_PULSE_INTERVAL_S=PULSE_S, SKILL_REGISTRY_PATH=str(registry))
            yield Shop(site=site, server_url=server.url, stub_url=stub_url, registry=registry)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_registry(folder: Path, stub_url: str) -> Path:
    """The shipped registry, with the stub where it really is."""
    shipped: dict[str, Any] = json.loads((ROOT / "skills_src" / "registry.json").read_text("utf-8"))
    for entry in shipped["servers"].values():
        entry["endpoint"] = stub_url.removesuffix("/mcp")
    path = folder / "registry.json"
    path.write_text(json.dumps(shipped), "utf-8")
    return path
