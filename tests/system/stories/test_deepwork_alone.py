"""A user alone with DeepWork's document: one command, over stdio as .mcp.json starts it, and over HTTP and SSE."""

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from mcp.client import Client
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from tests.profiles.clients import ProfileClient
from tests.profiles.test_deepwork_project import JOB, NOT_MET, REVIEW, WISH
from tests.support.tables import rows
from tests.system.local.conftest import Repository
from tests.system.processes.site import Site, finish, first_line
from tests.system.stories.stories import place

pytestmark = [pytest.mark.anyio, pytest.mark.processes]

BRANCH = "deepwork/competitive_research-full_analysis-acme"
NO_SETTING = {"DCF_AUTH": ""}
"""As for a user without settings."""


def project(folder: Path) -> Repository:
    """A git repository as the document describes it; its configuration names the command that reviews."""
    folder.mkdir()
    repository = Repository(folder.resolve())
    repository.git("init", "--quiet", "--initial-branch", "main")
    repository.write(".deepwork/jobs/competitive_research/job.yml", JOB)
    repository.write(".deepwork/jobs/competitive_research/steps/identify.md", "# Identify\n")
    repository.write("review.py", REVIEW)
    gate = {"agent_review_command": f"{sys.executable} review.py", "default_timeout": 120, "default_max_attempts": 3}
    repository.write(".deepwork/config.yml", json.dumps({"version": "1.0", "quality_gate": gate}))
    repository.commit("job")
    return repository


@asynccontextmanager
async def started(site: Site, repository: Repository) -> AsyncIterator[ProfileClient]:
    """Start the server as a client does that has `serve --path .` in its .mcp.json."""
    command = ["-m", "dcf", "serve", "--profile", "deepwork", "--path", "."]
    environment = site.environment() | NO_SETTING
    parameters = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=repository.root)
    with (site.folder / "server.log").open("a+") as log:
        async with Client(stdio_client(parameters, errlog=log)) as client:
            yield ProfileClient(client=client)


async def test_a_user_alone_starts_one_server_and_reaches_the_end(tmp_path: Path) -> None:
    repository = project(tmp_path / "project")
    with place() as site:
        async with started(site, repository) as client:
            assert [job["name"] for job in (await client.ok("get_workflows"))["jobs"]] == ["competitive_research"]
            begun = (await client.ok("start_workflow", **WISH, instance_id="acme"))["begin_step"]
            assert (begun["branch_name"], begun["branch_status"]) == (BRANCH, "created")
            assert repository.git("branch", "--show-current") == BRANCH
            repository.write("competitors.md", "A, B, C")
            after = (await client.ok("finished_step", outputs=["competitors.md"]))["begin_step"]
            assert (after["step_id"], after["branch_status"]) == ("report", "current")
        async with started(site, repository) as client:
            repository.write("report.md", "42")
            answer = await client.ok("finished_step", outputs=["report.md"])
            assert (answer["status"], answer["failed_criteria"]) == ("needs_work", [NOT_MET])
            repository.write("report.md", "42 (source)")
            done = await client.ok("finished_step", outputs=["report.md"])
            assert (done["status"], done["all_outputs"]) == ("workflow_complete", ["competitors.md", "report.md"])


@rows("transport", ["http", "sse"])
async def test_the_same_server_is_reached_over_http_without_a_key(tmp_path: Path, transport: str) -> None:
    repository = project(tmp_path / transport)
    with place() as site:
        chosen = ("--transport", "sse") if transport == "sse" else ()
        options = ("--profile", "deepwork", "--path", str(repository.root), *chosen, "--port", "0", "--json")
        url = json.loads(first_line(site.dcf("serve", *options, **NO_SETTING)))["url"]
        where = sse_client(f"{url.removesuffix('/mcp')}/sse") if transport == "sse" else streamable_http_client(url)
        async with Client(where) as opened:
            client = ProfileClient(client=opened)
            begun = (await client.ok("start_workflow", **WISH, instance_id="acme"))["begin_step"]
            assert begun["branch_status"] == "created"
            repository.write("competitors.md", "A, B, C")
            assert (await client.ok("finished_step", outputs=["competitors.md"]))["status"] == "next_step"
            repository.write("report.md", "42 (source)")
            assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "workflow_complete"


@rows(
    ("options", "told"),
    [
        (("--path", "."), "--path is about the profile deepwork"),
        (("--profile", "deepwork", "--path", "missing"), "--path names no directory of a project"),
        (("--profile", "deepwork", "--port", "0", "--quality-gate", "x"), "--quality-gate is about the project"),
        (("--transport", "sse"), "SSE is served for one project"),
        (("--profile", "deepwork", "--path", ".", "--port", "0", "--host", "0.0.0.0"), "only loopback is served"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: tuple[str, ...], told: str) -> None:
    with place() as site:
        process = site.dcf("serve", *options, **NO_SETTING)
        _, code = finish(process)
        logs = "".join(file.read_text() for file in site.folder.glob("*.log"))
        assert code == 2
        assert told in logs
