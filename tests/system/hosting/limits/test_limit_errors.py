"""`read_limit` on errors of the SDKs' own classes, each in the environment of the SDK (DCF_AGENTS=1)."""

import json
import subprocess
from pathlib import Path

import pytest

from dcf.data import PACKAGE
from tests.system.hosting.environments import CLAUDE, GOOGLE, LANGGRAPH, OPENAI, PYDANTIC, WANTED, WHY_NOT, RecipeCase

pytestmark = [pytest.mark.processes, pytest.mark.timeout(1200), pytest.mark.skipif(not WANTED, reason=WHY_NOT)]

SCRIPT = Path(__file__).with_name("limit_errors.py")
WITH = {
    "pydantic-ai": (PYDANTIC, {"anthropic", "openai", "pydantic_ai"}),
    "openai-agents": (OPENAI, {"openai"}),
    "langgraph": (LANGGRAPH, {"anthropic", "openai", "langchain_openai", "langchain_anthropic"}),
    "langchain-google-genai": (GOOGLE, {"google"}),
    "claude-agent-sdk": (CLAUDE, {"claude"}),
}


@pytest.mark.parametrize("name", WITH)
def test_errors_of_the_classes_of_an_sdk_are_read(name: str) -> None:
    packages, sdks = WITH[name]
    python = RecipeCase(recipe=name, packages=packages).python()
    done = subprocess.run((python, "-P", SCRIPT, PACKAGE), capture_output=True, text=True, timeout=120, check=True)
    rows = json.loads(done.stdout)
    assert {row[0].partition(":")[0] for row in rows} == sdks, "the classes of the SDK are there"
    assert [row for row in rows if row[1] != row[2]] == []
