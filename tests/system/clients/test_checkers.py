"""Other people's checks of a server's surface: the inspector's of the schemas, mcpcheck's of what is sent."""

import json
import subprocess
import sys

import pytest

from dcf.tools.mcp.selection import select_tools
from tests.system.clients.node import Programs
from tests.system.processes.site import LONG, Server

pytestmark = pytest.mark.processes

EVERY_TOOL = [spec.name for spec in select_tools((), read_only=False)]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_every_schema_is_portable(programs: Programs, keyed_server: Server, key: str, era: str) -> None:
    how = ("--protocol-era", era, "--header", f"Authorization: Bearer {key}")
    done = programs.run("inspector", "--cli", keyed_server.url, *how, "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr
    assert [tool["name"] for tool in json.loads(done.stdout)["tools"]] == EVERY_TOOL


@pytest.mark.parametrize("era", ["legacy", "modern"])
@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (("--method", "prompts/list"), "why_run_stands"),
        (
            ("--method", "prompts/get", "--prompt-name", "work_as_agent", "--prompt-args", "agent_id=packer-1"),
            "packer-1",
        ),
        (("--method", "resources/list"), "dcf://language"),
        (("--method", "resources/templates/list"), "dcf://runs/{workflow_id}/graph"),
        (("--method", "resources/read", "--uri", "dcf://language"), '"StartAt"'),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_the_inspector_finds_prompts_and_resources(
    programs: Programs, keyed_server: Server, key: str, era: str, asked: tuple[str, ...], found: str
) -> None:
    how = ("--protocol-era", era, "--header", f"Authorization: Bearer {key}")
    done = programs.run("inspector", "--cli", keyed_server.url, *how, *asked)
    assert done.returncode == 0, done.stderr
    assert found in done.stdout.replace("\\", "")


def test_the_inspector_finds_every_file_of_the_skills_as_listed(
    programs: Programs, keyed_server: Server, key: str
) -> None:
    """It compares the digest and the size of each file, and the frontmatter of SKILL.md."""
    how = ("--protocol-era", "modern", "--header", f"Authorization: Bearer {key}")
    done = programs.run("inspector", "--cli", keyed_server.url, *how, "--method", "skills/list", "--verify")
    assert done.returncode == 0, done.stderr
    assert "skill://calculate-pricing/SKILL.md" in done.stdout


def test_nothing_is_wrong_with_what_is_sent(keyed_server: Server, key: str) -> None:
    """No check fails or remains without a result; each tool that may be called safely is, with wrong arguments.

    The only warning is of what a list of tools leaves out on purpose, since models would have to read it.
    """
    how = ("--token", key, "--max-tools", str(len(EVERY_TOOL)), "--json")
    command = [sys.executable, "-m", "mcpcheck", keyed_server.url, *how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    checks = json.loads(done.stdout)["checks"]
    assert len(checks) == 8
    messages = {item["message"] for check in checks for item in (*check["failures"], *check["warnings"])}
    assert all(message.startswith("no outputSchema (optional per spec)") for message in messages), messages
    assert {check["status"] for check in checks} <= {"pass", "warn"}
