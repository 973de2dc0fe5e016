"""The SDKs of agents, each in an environment of its own outside the repository, installed on first use and pinned here.

`DCF_AGENTS=1` lets the tests install and use them (1.5 GB, minutes the first time).
"""

import hashlib
import os
import subprocess
import sys
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.support.exclusion import one_at_a_time
from tests.system.clients.node import NODE, install

PLACE: Final = Path.home() / ".cache" / "dcf-agents"
WANTED: Final = os.environ.get("DCF_AGENTS") == "1"
WHY_NOT: Final = "the SDKs of agents are installed and tried with DCF_AGENTS=1 only"
CLI: Final = "@anthropic-ai/claude-code/cli-wrapper.cjs"


@dataclass(frozen=True, kw_only=True)
class RecipeCase:
    """A recipe as it is tried: what it needs installed, the model's name, and the path of the API it speaks."""

    recipe: str
    packages: tuple[str, ...] = ()
    model: str = "scripted"
    api: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    needs_node: bool = False

    def python(self) -> Path:
        """Return the interpreter of its environment, made now if it is not there."""
        return Path(sys.executable) if not self.packages else _environment(self.packages)

    def own_options(self) -> dict[str, Any]:
        """Return the options of the recipe, with the command of Claude Code where it was installed."""
        if not self.needs_node:
            return dict(self.options)
        place = PLACE / "node"
        place.mkdir(parents=True, exist_ok=True)
        with one_at_a_time(PLACE / "node.lock"):
            modules = install(place)
        return {**self.options, "command": [str(NODE), str(modules / CLI)]}


OPENAI: Final = ("openai-agents==0.24.0",)
PYDANTIC: Final = ("pydantic-ai-slim[anthropic,openai]==2.62.0",)
LANGGRAPH: Final = ("langgraph==1.2.22", "langchain-openai==1.7.3", "langchain-anthropic==1.7.7")
CLAUDE: Final = ("claude-agent-sdk==0.2.187",)
GOOGLE: Final = ("langchain-google-genai==4.4.2",)
"""No recipe uses it; its errors reach handlers of users."""

CASES: Final = {
    "openai-agents": RecipeCase(recipe="openai-agents", packages=OPENAI, api="/v1"),
    "openai-agents, chat": RecipeCase(recipe="openai-agents", packages=OPENAI, api="/v1", options={"api": "chat"}),
    "pydantic-ai": RecipeCase(recipe="pydantic-ai", packages=PYDANTIC, api="/v1", model="openai:scripted"),
    "pydantic-ai, anthropic": RecipeCase(recipe="pydantic-ai", packages=PYDANTIC, model="anthropic:scripted"),
    "langgraph": RecipeCase(recipe="langgraph", packages=LANGGRAPH, api="/v1", model="openai:scripted"),
    "langgraph, anthropic": RecipeCase(recipe="langgraph", packages=LANGGRAPH, model="anthropic:scripted"),
    "claude-agent-sdk": RecipeCase(recipe="claude-agent-sdk", packages=CLAUDE),
    "claude-code": RecipeCase(recipe="claude-code", needs_node=True),
}


A2A: Final = RecipeCase(recipe="a2a", packages=("a2a-sdk[http-server]==1.3.0", "uvicorn==0.54.0"))
"""The protocol of agents that are elsewhere; there is no model."""


def _environment(packages: tuple[str, ...]) -> Path:
    name = packages[0].partition("==")[0].partition("[")[0]
    place = PLACE / f"{name}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    PLACE.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(PLACE / f"{name}.lock"):
        if not (place / "complete").exists():
            venv.create(place, clear=True, with_pip=True)
            command: list[str | Path] = [
                place / "bin/python",
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                *packages,
            ]
            subprocess.run(command, check=True, timeout=900)
            (place / "complete").touch()
    return place / "bin/python"
