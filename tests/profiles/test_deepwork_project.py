"""DeepWork for one directory in one process: the document's usage pattern, its quality gate, its configuration."""

import json
import secrets
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from mcp.client import Client

from dcf.application.application import Application, open_application
from dcf.cli.processes.project import served_project
from dcf.errors import InvalidArgument
from dcf.local.deepwork.quality_gate import configured_gate
from dcf.settings.process import Settings
from dcf.tools.mcp.server import build_server
from tests.profiles.clients import ProfileClient
from tests.support.redis.restricted import RestrictedRedis
from tests.support.tables import rows

pytestmark = pytest.mark.anyio

JOB = """
name: competitive_research
version: "1.0.0"
summary: Research of competitors
workflows:
  - {name: full_analysis, summary: All of it, steps: [identify, report]}
steps:
  - {id: identify, name: Identify, description: Find, instructions_file: steps/identify.md, outputs: [competitors.md]}
  - id: report
    name: Report
    description: Write
    instructions: Write it.
    outputs: [report.md]
    quality_criteria: ["Every number has a source.", "It names three competitors."]
"""
REVIEW = """
import json, pathlib, sys
asked = sys.stdin.read()
pathlib.Path("asked.txt").write_text(asked)
with open("reviews.txt", "a") as file:
    file.write("review\\n")
has_source = "(source)" in asked
feedback = None if has_source else "42 has none."
results = [
    {"criterion": "Every number has a source.", "passed": has_source, "feedback": feedback},
    {"criterion": "It names three competitors.", "passed": True, "feedback": None},
]
print("Here is my review.\\n```json")
print(json.dumps({"passed": has_source, "feedback": "Add the sources.", "criteria_results": results}))
print("```")
"""
WISH = {"goal": "Know them", "job_name": "competitive_research", "workflow_name": "full_analysis"}
NOT_MET = {"criterion": "Every number has a source.", "passed": False, "feedback": "42 has none."}

WRITING = """
name: writing
workflows:
  - {name: outer, summary: Outer, steps: [compare]}
  - {name: inner, summary: Inner, steps: [look]}
steps:
  - {id: compare, instructions: Compare., outputs: [comparison.md], quality_criteria: ["It is fine."]}
  - {id: look, instructions: Look., outputs: [look.md], quality_criteria: ["It is fine."]}
"""

Serving: TypeAlias = Callable[..., AbstractAsyncContextManager[ProfileClient]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A directory as the document describes it, with a command that reviews."""
    job = tmp_path / ".deepwork/jobs/competitive_research"
    (job / "steps").mkdir(parents=True)
    (job / "job.yml").write_text(JOB)
    (job / "steps/identify.md").write_text("# Identify\n")
    (tmp_path / "review.py").write_text(REVIEW)
    configure(tmp_path, command=f"{sys.executable} review.py")
    return tmp_path.resolve()


def configure(project: Path, command: str | None, **more: Any) -> None:
    gate = {"default_timeout": 120, "default_max_attempts": 3, **more}
    gate |= {} if command is None else {"agent_review_command": command}
    document = {"version": "1.0", "platforms": ["claude"], "quality_gate": gate}
    (project / ".deepwork/config.yml").write_text(json.dumps(document))


@pytest.fixture(scope="module")
def application(profiles_redis: RestrictedRedis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    settings = {"redis_url": profiles_redis.url, "profile": "deepwork", "data_dir": tmp_path_factory.mktemp("data")}
    with open_application(Settings.model_validate(settings)) as opened:
        yield opened


@pytest.fixture
def serving(application: Application, project: Path) -> Serving:
    """Serves the project as `dcf serve --profile deepwork --path` does, from its start."""

    @asynccontextmanager
    async def served(command: str | None = None) -> AsyncIterator[ProfileClient]:
        result = served_project(project, command, here=True)
        assert result is not None
        server = build_server(application, added=result.additions(application))
        async with Client(server) as client:
            yield ProfileClient(client=client)

    return served


async def begun(client: ProfileClient, project: Path) -> None:
    """Start the workflow and finish its first step, which has no criteria."""
    await client.ok("start_workflow", **WISH, instance_id=secrets.token_hex(4))
    (project / "competitors.md").write_text("A, B, C")
    after = await client.ok("finished_step", outputs=["competitors.md"])
    assert after["begin_step"]["step_id"] == "report"


def write_job(project: Path, name: str, text: str) -> None:
    folder = project / ".deepwork/jobs" / name
    folder.mkdir()
    (folder / "job.yml").write_text(text)


def reviews(project: Path) -> int:
    file = project / "reviews.txt"
    return len(file.read_text().splitlines()) if file.exists() else 0


async def test_the_usage_pattern_of_the_document_reaches_its_end(serving: Serving, project: Path) -> None:
    async with serving() as client:
        (job,) = (await client.ok("get_workflows"))["jobs"]
        assert (job["name"], job["workflows"]) == (
            "competitive_research",
            [{"name": "full_analysis", "summary": "All of it"}],
        )
        first = (await client.ok("start_workflow", **WISH, instance_id="acme"))["begin_step"]
        assert first["branch_name"] == "deepwork/competitive_research-full_analysis-acme"
        assert first["branch_status"].startswith("suggested: ")
        assert (first["step_expected_outputs"], first["step_instructions"]) == (["competitors.md"], "# Identify\n")
        (project / "competitors.md").write_text("A, B, C")
        second = (await client.ok("finished_step", outputs=["competitors.md"]))["begin_step"]
        assert second["session_id"] == first["session_id"]
        (project / "report.md").write_text("42")
        answer = await client.ok("finished_step", outputs=["report.md"], notes="A draft.")
        assert (answer["status"], answer["feedback"], answer["failed_criteria"]) == (
            "needs_work",
            "Add the sources.",
            [NOT_MET],
        )
        (project / "report.md").write_text("42 (source)")
        done = await client.twice("finished_step", outputs=["report.md"])
        assert (done["status"], done["all_outputs"]) == ("workflow_complete", ["competitors.md", "report.md"])
    assert reviews(project) == 2


async def test_the_command_gets_the_criteria_the_outputs_and_the_notes(serving: Serving, project: Path) -> None:
    async with serving() as client:
        await begun(client, project)
        (project / "report.md").write_text("42 (source)")
        (project / "picture.png").write_bytes(b"\0\1")
        await client.ok("finished_step", outputs=["report.md", "picture.png"], notes="The second draft.")
    doc = (project / "asked.txt").read_text()
    assert "1. Every number has a source.\n2. It names three competitors." in doc
    assert "42 (source)" in doc
    assert "[picture.png: a binary file of 2 bytes]" in doc
    assert "The second draft." in doc


async def test_the_command_of_the_option_takes_the_place_of_the_configured_one(serving: Serving, project: Path) -> None:
    configure(project, command="no-such-program")
    async with serving(f"{sys.executable} review.py") as client:
        await begun(client, project)
        (project / "report.md").write_text("42 (source)")
        assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "workflow_complete"


async def test_without_a_command_nobody_reviews_and_the_user_alone_reaches_the_end(
    serving: Serving, project: Path
) -> None:
    configure(project, command=None)
    async with serving() as client:
        await begun(client, project)
        (project / "report.md").write_text("42")
        assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "workflow_complete"


async def test_an_edit_of_the_configuration_changes_no_server_that_runs(serving: Serving, project: Path) -> None:
    async with serving() as client:
        await begun(client, project)
        configure(project, command=None)
        (project / "report.md").write_text("42")
        assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "needs_work"


async def test_the_last_attempt_is_an_error_and_a_mended_output_still_passes(serving: Serving, project: Path) -> None:
    configure(project, command=f"{sys.executable} review.py", default_max_attempts=2)
    async with serving() as client:
        await begun(client, project)
        (project / "report.md").write_text("41")
        assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "needs_work"
        (project / "report.md").write_text("42")
        failed = await client.failed("finished_step", outputs=["report.md"])
        assert failed.text.startswith(
            "Error: The quality review failed 2 times. Add the sources. Not met: Every number"
        )
        (project / "report.md").write_text("42 (source)")
        assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "workflow_complete"


async def test_a_reason_passes_over_the_review(serving: Serving, project: Path) -> None:
    async with serving() as client:
        await begun(client, project)
        (project / "report.md").write_text("42")
        assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "needs_work"
        reason = {"quality_review_override_reason": "The user has read it."}
        done = await client.twice("finished_step", outputs=["report.md"], **reason)
        assert done["status"] == "workflow_complete"
    assert reviews(project) == 1


@rows(
    ("command", "limit_s", "told"),
    [
        ("no-such-program", 60, "There is no program 'no-such-program' on this machine."),
        (f"{sys.executable} -c \"import sys; sys.exit('no key')\"", 60, "It ended with exit code 1: no key"),
        (f"{sys.executable} -c \"print('fine')\"", 60, "It printed no JSON object"),
        (f'{sys.executable} -c "import time; time.sleep(600)"', 0.5, "It was not done after 0.5 seconds"),
    ],
)
async def test_a_command_without_a_verdict_is_an_error_and_the_step_waits(
    serving: Serving, project: Path, command: str, limit_s: float, told: str
) -> None:
    configure(project, command=command, default_timeout=limit_s)
    (project / "report.md").write_text("42 (source)")
    async with serving() as client:
        await begun(client, project)
        failed = await client.failed("finished_step", outputs=["report.md"])
        assert told in failed.text
        assert "quality_review_override_reason" in failed.text
    configure(project, command=f"{sys.executable} review.py")
    async with serving() as client:
        assert (await client.ok("finished_step", outputs=["report.md"]))["status"] == "workflow_complete"


async def test_a_missing_output_is_an_error_in_the_words_of_the_profile(serving: Serving, project: Path) -> None:
    async with serving() as client:
        await client.ok("start_workflow", **WISH, instance_id=secrets.token_hex(4))
        failed = await client.failed("finished_step", outputs=["missing.md"])
        assert failed.text.startswith(f"Error: 'missing.md' does not exist below {project}.")


async def test_a_directory_without_jobs_says_so(serving: Serving, project: Path) -> None:
    (project / ".deepwork/jobs").rename(project / "elsewhere")
    async with serving() as client:
        answer = await client.ok("get_workflows")
        (problem,) = answer["problems"]
        assert (answer["jobs"], problem.startswith(f"There is no directory .deepwork/jobs below {project}.")) == (
            [],
            True,
        )
        form = problem.partition("notes/job.yml: ")[2]
        registered = await client.ok("register_session_job", job_name="notes", job_definition_yaml=form)
        assert registered["status"] == "registered", "the form that is shown is a job"


async def test_a_job_file_that_is_wrong_is_described_when_it_is_started(serving: Serving, project: Path) -> None:
    write_job(project, "broken", "name: broken\nworkflows: [{name: all, steps: [one, two]}]\nsteps: [{id: one}]\n")
    async with serving() as client:
        failed = await client.failed("start_workflow", goal="g", job_name="broken", workflow_name="all")
        assert "names the step 'two', which is not among the steps: one." in failed.text


async def test_one_report_ends_one_step_also_if_its_outputs_fit_the_outer_workflow(
    serving: Serving, project: Path
) -> None:
    write_job(project, "writing", WRITING)
    (project / "comparison.md").write_text("(source)")
    wish = {"goal": "g", "job_name": "writing"}
    async with serving() as client:
        await client.ok("start_workflow", **wish, workflow_name="outer")
        inner = await client.ok("start_workflow", **wish, workflow_name="inner")
        assert "writing/outer, begun " in inner["note"]
        done = await client.ok("finished_step", outputs=["comparison.md"])
        assert (done["status"], done["summary"]) == (
            "workflow_complete",
            "Workflow writing/inner is complete: 1 step, 1 output.",
        )
        assert done["stack"] == [{"workflow": "writing/outer", "step": "compare"}]
        outer = await client.ok("finished_step", outputs=["comparison.md"])
        assert (outer["status"], outer["stack"]) == ("workflow_complete", [])
    assert reviews(project) == 2, "each step was reviewed in its own call"


async def test_the_same_call_after_needs_work_is_reviewed_again(serving: Serving, project: Path) -> None:
    """The subject of the outputs may have changed: a file that is not an output, or the command itself."""
    async with serving() as client:
        await begun(client, project)
        (project / "report.md").write_text("42")
        wrong = [await client.ok("finished_step", outputs=["report.md"]) for _ in range(2)]
        assert [details["failed_criteria"] for details in wrong] == [[NOT_MET], [NOT_MET]]
        assert reviews(project) == 2
        (project / "review.py").write_text(REVIEW.replace('"(source)" in asked', "True"))
        done = await client.twice("finished_step", outputs=["report.md"])
        assert (done["status"], reviews(project)) == ("workflow_complete", 3)


async def test_missing_outputs_are_named_to_the_agent_and_to_the_reviewer(serving: Serving, project: Path) -> None:
    (project / "other.md").write_text("42")
    async with serving() as client:
        await client.ok("start_workflow", **WISH, instance_id=secrets.token_hex(4))
        first = await client.twice("finished_step", outputs=["other.md"])
        assert (first["status"], first["missing_outputs"]) == ("next_step", ["competitors.md"])
        answer = await client.ok("finished_step", outputs=[])
        assert (answer["status"], answer["missing_outputs"]) == ("needs_work", ["report.md"])
        (project / "report.md").write_text("42 (source)")
        assert "missing_outputs" not in await client.ok("finished_step", outputs=["./report.md"])
    assert "[Expected outputs that the author did not report: report.md]" not in (project / "asked.txt").read_text()


async def test_a_directory_is_no_output_but_its_files_are(serving: Serving, project: Path) -> None:
    write_job(project, "folder", "name: folder\nsteps: [{id: one, instructions: x, outputs: [final/]}]\n")
    (project / "final").mkdir()
    (project / "final/report.md").write_text("x")
    async with serving() as client:
        await client.ok("start_workflow", goal="g", job_name="folder", workflow_name="folder")
        failed = await client.failed("finished_step", outputs=["final/"])
        assert "'final/' is a directory: name the files in it." in failed.text
        assert "missing_outputs" not in await client.ok("finished_step", outputs=["final/report.md"])


@rows(
    ("text", "told"),
    [
        ("quality_gate: [", "line"),
        ("quality_gate: claude", "must be a mapping"),
        ("quality_gate: {agent_review_command: 1}", "must be a text"),
        ("quality_gate: {agent_review_command: x, default_timeout: 0}", "default_timeout"),
        ("quality_gate: {agent_review_command: x, default_max_attempts: many}", "default_max_attempts"),
    ],
)
def test_a_wrong_configuration_is_refused_at_the_start(project: Path, text: str, told: str) -> None:
    (project / ".deepwork/config.yml").write_text(text)
    with pytest.raises(InvalidArgument, match=told):
        configured_gate(project, None)


def test_a_project_without_a_configuration_has_no_gate(project: Path) -> None:
    (project / ".deepwork/config.yml").unlink()
    assert configured_gate(project, None) is None
    gate = configured_gate(project, "claude --print")
    assert gate is not None
    assert (gate.words, gate.timeout_s, gate.max_attempts) == (("claude", "--print"), 120, 3)
