"""Clients of one DeepWork directory: each has a session of its own, and dcf knows equal reports from repeated ones."""

import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.cli.processes.project import served_project
from dcf.local.deepwork import project_calls
from dcf.local.deepwork.client_session import ClientSession
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import profiles_redis
from tests.support.redis.restricted import RestrictedRedis

__all__ = ["profiles_redis"]

pytestmark = pytest.mark.anyio

JOB = """
name: writing
workflows: [{name: all, summary: All, steps: [draft, refine, check]}]
steps:
  - {id: draft, instructions: Draft., outputs: [report.md]}
  - {id: refine, instructions: Refine., outputs: [report.md]}
  - {id: check, instructions: Check., outputs: []}
"""
WISH = {"goal": "A report", "job_name": "writing", "workflow_name": "all"}
REPORT = {"outputs": ["report.md"]}

Serving: TypeAlias = Callable[[], AbstractAsyncContextManager[ProfileClient]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = (tmp_path / "project").resolve()
    (root / ".deepwork/jobs/writing").mkdir(parents=True)
    (root / ".deepwork/jobs/writing/job.yml").write_text(JOB)
    (root / "report.md").write_text("42")
    return root


@pytest.fixture(scope="module")
def application(profiles_redis: RestrictedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    settings = {"redis_url": profiles_redis.url, "profile": "deepwork", "data_dir": tmp_path_factory.mktemp("data")}
    with open_application(Settings.model_validate(settings)) as opened:
        yield opened


@pytest.fixture
def serving(application: Application, project: Path) -> Serving:
    """Serves the project as `dcf serve --profile deepwork --path` does, to one client."""

    @asynccontextmanager
    async def served() -> AsyncIterator[ProfileClient]:
        served_here = served_project(project, None, here=True)
        assert served_here is not None
        async with Client(build_server(application, added=served_here.additions(application))) as client:
            yield ProfileClient(client=client)

    return served


async def started(client: ProfileClient, **more: str) -> str:
    """The session of a workflow that is started."""
    return str((await client.ok("start_workflow", **WISH, **more))["begin_step"]["session_id"])


async def step(client: ProfileClient) -> str:
    """The step that a report leads to."""
    return str((await client.ok("finished_step", **REPORT))["begin_step"]["step_id"])


async def test_two_clients_of_one_directory_carry_out_their_own_workflows(serving: Serving) -> None:
    async with serving() as ada, serving() as bob:
        assert await started(ada, instance_id="ada") != await started(bob, instance_id="bob")
        assert await step(ada) == "refine"
        assert await step(bob) == "refine"
        assert await step(ada) == "check"
        done = await ada.ok("finished_step", **REPORT)
        assert (done["status"], done["stack"]) == ("workflow_complete", [])
        assert await step(bob) == "check"


async def test_a_client_that_comes_back_has_its_session_again_while_another_works_on(serving: Serving) -> None:
    async with serving() as ada:
        own = await started(ada)
        async with serving() as bob:
            other = await started(bob)
            assert await step(bob) == "refine"
        async with serving() as bob:
            await bob.ok("get_workflows")
            begun = (await bob.ok("finished_step", outputs=["report.md"], notes="refined"))["begin_step"]
            assert (begun["session_id"], begun["step_id"]) == (other, "check")
        assert await step(ada) == "refine"
    async with serving() as ada:
        assert (await ada.ok("finished_step", outputs=["report.md"], notes="x"))["begin_step"]["session_id"] == own


async def test_a_client_takes_its_session_back_from_a_process_that_ends_late(
    serving: Serving, application: Application, project: Path
) -> None:
    async with serving() as client:
        own = await started(client)
    late = ClientSession(application.settings.data_dir / "deepwork")
    assert late.id_in(project) == own
    async with serving() as client:
        assert (await client.failed("finished_step", **REPORT)).text.startswith("Error: No workflow is under way.")
        late.close()
        assert (await client.ok("finished_step", **REPORT))["begin_step"]["session_id"] == own


async def test_equal_reports_of_steps_that_follow_each_other_are_reports_of_each(serving: Serving) -> None:
    async with serving() as client:
        await started(client)
        answers = [await client.ok("finished_step", **REPORT) for _ in range(3)]
        assert [answer["status"] for answer in answers] == ["next_step", "next_step", "workflow_complete"]
        assert "notes" not in answers[0]["begin_step"]["step_instructions"]


async def test_a_report_is_repeated_once_by_a_client_whose_server_was_started_anew(serving: Serving) -> None:
    async with serving() as client:
        await started(client)
        assert await step(client) == "refine"
    async with serving() as client:
        assert await step(client) == "refine", "the answer may have been lost with the server"
        assert await step(client) == "check"


async def test_a_report_whose_answer_took_too_long_is_repeated_before_it_counts_again(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving() as client:
        await started(client)
        with monkeypatch.context() as patch:
            patch.setattr(project_calls, "_SURE_S", -1.0)
            assert await step(client) == "refine"
        assert await step(client) == "refine", "the client may have given up before"
        assert await step(client) == "check"


async def test_the_branch_of_a_client_that_works_is_not_left_for_that_of_another(
    serving: Serving, project: Path
) -> None:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=project, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet", "--initial-branch", "main")
    git("add", "--all")
    git("-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "--quiet", "-m", "job")
    async with serving() as ada, serving() as bob:
        await started(ada, instance_id="ada")
        begun = (await bob.ok("start_workflow", **WISH, instance_id="bob"))["begin_step"]
        assert begun["branch_status"].startswith("suggested: Another client works in this directory, on deepwork/")
        assert git("branch", "--show-current") == "deepwork/writing-all-ada"
    async with serving() as bob:
        begun = (await bob.ok("start_workflow", **WISH, instance_id="bob", session_id="alone"))["begin_step"]
        assert begun["branch_status"] == "created"
