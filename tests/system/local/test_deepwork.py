"""DeepWork's tools through the helper: jobs of the project, branches that are really made, sessions by directory."""

from functools import partial
from pathlib import Path
from typing import Any

import pytest

from dcf.local.deepwork.project_calls import jobs_of
from tests.local.helper import Agent, Connecting
from tests.support.tables import rows
from tests.system.local.conftest import Repository

pytestmark = pytest.mark.anyio

JOB = """
name: notes
version: "1.0.0"
summary: Notes
workflows:
  - {name: write, summary: Write, steps: [draft, check]}
  - {name: fix, summary: Fix, steps: [mend]}
steps:
  - {id: draft, name: Draft, description: Draft, instructions_file: draft.md, outputs: [draft.txt]}
  - {id: check, name: Check, description: Check, instructions: Check it., outputs: []}
  - {id: mend, name: Mend, description: Mend, instructions: Mend it., outputs: []}
"""


@pytest.fixture
def project(repository: Repository) -> Repository:
    repository.write(".deepwork/jobs/notes/job.yml", JOB)
    repository.write(".deepwork/jobs/notes/draft.md", "Write a draft.")
    repository.commit("job")
    return repository


@pytest.fixture
def helping(connecting: Connecting) -> Connecting:
    """Connects an agent to a helper with DeepWork's tools, for a directory."""
    return partial(connecting, profile="deepwork")


async def start(agent: Agent, workflow: str = "write", **more: Any) -> Any:
    return await agent.call("start_workflow", goal="g", job_name="notes", workflow_name=workflow, **more)


async def test_a_branch_is_created_or_called_a_suggestion_with_the_reason(
    helping: Connecting, project: Repository, mode: str
) -> None:
    project.write("README.md", "not committed")
    async with helping(project.root, mode=mode) as agent:
        begun = (await start(agent, instance_id="q1"))["begin_step"]
        assert begun["branch_status"] == "created"
        assert project.git("branch", "--show-current") == begun["branch_name"] == "deepwork/notes-write-q1"
        assert (project / "README.md").read_text() == "not committed"
        inner = (await start(agent, "fix"))["begin_step"]
        reason = "The workflow runs within another one, whose branch it stays on."
        assert inner["branch_status"] == f"suggested: {reason} The worktree is on deepwork/notes-write-q1."
        assert project.git("branch", "--show-current") == "deepwork/notes-write-q1"
        project.write("draft.txt", "draft")
        await agent.call("abort_workflow", explanation="1")
        after = await agent.call("finished_step", outputs=["draft.txt"])
        assert after["begin_step"]["branch_status"] == "current"
        await agent.call("abort_workflow", explanation="2")
        project.git("switch", "--quiet", "main")
        again = (await start(agent, instance_id="q1"))["begin_step"]
        assert "already" in again["branch_status"]
        assert project.git("branch", "--show-current") == "main"


async def test_a_session_that_is_null_is_that_of_the_directory(helping: Connecting, project: Repository) -> None:
    async with helping(project.root) as agent:
        begun = await start(agent, session_id=None)
        assert begun["begin_step"]["step_id"] == "draft"
        assert len((await start(agent))["stack"]) == 1


async def test_two_worktrees_have_two_sessions(helping: Connecting, project: Repository, tmp_path: Path) -> None:
    other = tmp_path / "other"
    project.git("worktree", "add", "--quiet", "--detach", str(other))
    async with helping(project.root) as connecting, helping(other) as two:
        await start(connecting)
        assert len((await start(two, "fix"))["stack"]) == 1
        project.write("draft.txt", "draft")
        assert (await connecting.call("finished_step", outputs=["draft.txt"]))["begin_step"]["step_id"] == "check"
        assert (await two.call("finished_step", outputs=[]))["status"] == "workflow_complete"


@rows("content", ["draft", "checked"])
async def test_an_equal_report_is_that_of_the_next_step(helping: Connecting, project: Repository, content: str) -> None:
    """Also if the second step leaves the file of the first one as it is."""
    async with helping(project.root) as agent:
        await start(agent)
        project.write("draft.txt", "draft")
        assert (await agent.call("finished_step", outputs=["draft.txt"]))["status"] == "next_step"
        project.write("draft.txt", content)
        assert (await agent.call("finished_step", outputs=["draft.txt"]))["status"] == "workflow_complete"


async def test_jobs_that_cannot_be_read_are_told_of_beside_the_others(helping: Connecting, project: Repository) -> None:
    project.write(".deepwork/jobs/broken/job.yml", "name: [")
    project.write(".deepwork/jobs/empty/job.yml", "name: empty\nsteps: []\n")
    project.write(".deepwork/jobs/outside/job.yml", JOB.replace("draft.md", "../../../../secret"))
    (project.root.parent / "secret").write_text("secret")
    async with helping(project.root) as agent:
        answer = await agent.call("get_workflows")
    assert [job["name"] for job in answer["jobs"]] == ["notes"]
    assert [problem.split(":")[0] for problem in answer["problems"]] == ["broken", "outside", "empty"]
    assert "secret" not in str(jobs_of(project.root)[0])


def test_of_two_jobs_of_one_name_the_first_is_served_and_the_other_told_of(project: Repository) -> None:
    project.write(".deepwork/jobs/other/job.yml", JOB.replace("Notes", "Other notes"))
    project.write(".deepwork/jobs/other/draft.md", "Write another.")
    jobs, problems = jobs_of(project.root)
    assert '"summary": "Notes"' in jobs["notes"]
    assert problems == ["other: another directory has a job 'notes'."]


async def test_without_a_directory_the_branch_is_a_suggestion_and_files_cannot_be_reported(helping: Connecting) -> None:
    async with helping() as agent:
        assert (await agent.call("get_workflows"))["jobs"] == []
        refused = await agent.call("finished_step", outputs=["a"])
        assert "--root" in refused["hint"]
