"""The README's commands, one after the other as a newcomer types them: a run, a flow, an agent over MCP, a person."""

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters

from tests.support.paths import ROOT
from tests.support.terminal import on_a_terminal
from tests.support.waiting import wait_until
from tests.system.processes.site import LONG, Process, Site, finish, first_line

pytestmark = [pytest.mark.processes, pytest.mark.anyio]

README: Final = (ROOT / "README.md").read_text("utf-8")
PROGRAMS: Final = dict(re.findall(r"`(\w+\.py)`:\n\n```python\n(.*?)```", README, re.DOTALL))
CONFIGURATION: Final = json.loads(*re.findall(r"```json\n(.*?)```", README, re.DOTALL))
LINES: Final = [line for block in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) for line in block.splitlines()]


def words(beginning: str, folder: Path) -> list[str]:
    """The words of a command of the README behind `dcf`, with its files where this test has them."""
    (text,) = (result for line in LINES for result in re.findall(rf"(?:^|/)dcf ({beginning}[^#]*)", line))
    return [str(folder / word) if (folder / word).exists() else word for word in shlex.split(text)]


def type_in(site: Site, beginning: str) -> Process:
    return site.dcf(*words(beginning, site.folder))


def write_programs(site: Site) -> None:
    for name, text in PROGRAMS.items():
        (site.folder / name).write_text(text)


def test_the_example_is_an_invoice_and_the_run_is_listed(site: Site) -> None:
    printed, code = finish(type_in(site, "run workflows"))
    assert (code, json.loads(printed[printed.index("{") : printed.rindex("}") + 1])["total"]) == (0, "242.77")
    listed, code = finish(type_in(site, "ls"))
    assert (code, "succeeded" in listed) == (0, True)


def test_a_flow_runs_from_a_program_and_from_a_command_that_is_killed_and_repeated(site: Site) -> None:
    write_programs(site)
    count = len(PROGRAMS["words.py"].split())
    assert finish(site.start(str(site.folder / "words.py"))) == (f"{count} words in 1 files\n", 0)
    paths = json.dumps([str(site.folder / "words.py")])
    command = [word.replace('["words.py"]', paths) for word in words("run words.py", site.folder)]
    killed = site.dcf(*command)
    wait_until(lambda: "counts: running" in site.said(killed), LONG)
    killed.kill()
    printed, code = finish(site.dcf(*command))
    assert (code, f'"{count} words in 1 files"' in printed) == (0, True)
    compiled, code = finish(type_in(site, "compile"))
    assert (code, json.loads(compiled)["workflow_name"]) == (0, "count")


async def test_an_agent_finds_its_work_over_mcp_and_a_person_approves_on_a_terminal(site: Site) -> None:
    write_programs(site)
    assert finish(type_in(site, "start"))[0] == "summary-1\n"
    entry = CONFIGURATION["mcpServers"]["dcf"]
    assert entry["command"] == ".venv/bin/dcf"
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "dcf", *entry["args"]], env=site.environment() | entry["env"], cwd=ROOT
    )
    async with Client(server) as client:
        await _work(client)
    assert "summary-1" in finish(type_in(site, "inbox"))[0]
    with on_a_terminal(sys.executable, "-m", "dcf", *words("approve", site.folder), **site.environment()) as terminal:
        assert "Three sentences." in terminal.until(r"\[y/N\]")
        assert terminal.type("y") == 0
    shown = json.loads(finish(site.dcf("show", "summary-1", "--json"))[0])
    assert shown["meta"]["output"] == {"text": "Three sentences."}


async def _work(client: Client) -> None:
    """Do what the README tells the agent, with the tools that are listed and the calls that answers contain."""
    listed = {tool.name for tool in (await client.list_tools()).tools}
    work = await _called(client, "find_work", {"agent_id": "writer", "claim": True})
    assert work["work"]["instructions"] == "Summarise https://states-language.net in three sentences."
    step = work["next"][0]
    assert step["tool"] in listed
    wrong = await _called(client, step["tool"], step["arguments"] | {"output_json": {"summary": "?"}})
    assert wrong["code"] == "output_invalid"
    done = await _called(client, step["tool"], step["arguments"] | {"output_json": {"text": "Three sentences."}})
    assert (done["code"], done["next_states"]) == ("ok", ["Approve"])


async def _called(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] | None = (await client.call_tool(tool, arguments)).structured_content
    assert answer is not None
    return answer


def test_the_page_is_served(site: Site) -> None:
    page = site.dcf(*words("web", site.folder), "--port", "0", "--json")
    assert urlsplit(json.loads(first_line(page))["url"]).path == urlsplit(re.findall(r"http://127\S+", README)[0]).path
