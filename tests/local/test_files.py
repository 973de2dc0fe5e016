"""Files that a result names: hashed on the agent's machine, refused while one is missing, never from elsewhere."""

import hashlib
import os
from pathlib import Path

import pytest

from dcf.errors import InvalidArgument
from dcf.local.file_reading import found as found_file
from tests.local.helper import ONE_TASK, Agent, Connecting, Json
from tests.support.tables import rows

pytestmark = pytest.mark.anyio


async def work(agent: Agent) -> dict[str, Json]:
    """Start a run and take its only state."""
    run = await agent.ok("start_run", workflow_json=ONE_TASK, agents_map_json={"A": "me"})
    mine = {"workflow_id": run["workflow_id"], "state": "A"}
    answer = await agent.ok("acquire_state_lease", **mine, owner_agent_id="me")
    return {**mine, "lease_token": answer["lease"]["token"], "new_status": "succeeded"}


async def output_of(agent: Agent, work: dict[str, Json]) -> Json:
    read = await agent.ok("read_workflow_control_plane", workflow_id=work["workflow_id"], states_json=["A"])
    return read["outputs"]["A"]


async def test_hashes_of_files_stand_beside_the_output_that_names_them(
    connecting: Connecting, project: Path, mode: str
) -> None:
    (project / "docs").mkdir()
    (project / "docs/plan.md").write_text("a plan")
    async with connecting(project, mode=mode) as agent:
        mine = await work(agent)
        output = {"files": ["docs/plan.md"], "note": "done"}
        done = await agent.ok("update_workflow_control_plane", **mine, output_json=output, root=str(project))
        assert done["root"] == str(project)
        stored = await output_of(agent, mine)
    digest = hashlib.sha256(b"a plan").hexdigest()
    assert stored == {**output, "file_hashes": {"docs/plan.md": {"sha256": digest, "size": 6}}}


async def test_a_missing_file_is_refused_and_the_state_stays_with_its_worker(
    connecting: Connecting, project: Path
) -> None:
    async with connecting(project) as agent:
        mine = await work(agent)
        refused = await agent.call("update_workflow_control_plane", **mine, output_json='{"files": ["plan.md"]}')
        assert (refused["code"], "'plan.md' does not exist" in refused["error"]) == ("invalid_argument", True)
        (project / "plan.md").write_text("now it does")
        assert (await agent.ok("update_workflow_control_plane", **mine, output_json='{"files": ["plan.md"]}'))["root"]


@rows("named", ["../secret", "/etc/hostname", "link-out", "directory", "", "link-loop", "pipe", "a\0b"])
def test_a_name_that_is_no_regular_file_below_the_root_is_refused(strange: Path, named: str) -> None:
    with pytest.raises(InvalidArgument):
        found_file(strange, named)


async def test_a_tool_refuses_a_file_outside_the_root_and_shows_no_hash(connecting: Connecting, strange: Path) -> None:
    async with connecting(strange) as agent:
        for outside in ("../secret", "link-out"):
            refused = await agent.call("local_files", paths=["README.md", outside])
            assert refused["code"] == "invalid_argument"
            assert hashlib.sha256(b"secret").hexdigest() not in str(refused)


@pytest.fixture
def strange(project: Path) -> Path:
    """A project with names that are no files below its root."""
    (project.parent / "secret").write_text("secret")
    (project / "link-out").symlink_to(project.parent / "secret")
    (project / "link-loop").symlink_to(project / "link-loop")
    (project / "directory").mkdir()
    os.mkfifo(project / "pipe")
    return project


async def test_a_link_that_stays_below_the_root_is_followed(connecting: Connecting, project: Path) -> None:
    (project / "link").symlink_to("README.md")
    async with connecting(project) as agent:
        (file,) = (await agent.ok("local_files", paths=["link"]))["files"]
    assert (file["path"], file["size"]) == ("README.md", 6)


async def test_an_output_that_names_no_files_needs_no_root_and_is_left_as_it_is(connecting: Connecting) -> None:
    async with connecting() as agent:
        mine = await work(agent)
        done = await agent.ok("update_workflow_control_plane", **mine, output_json={"files": [], "n": 1})
        assert "root" not in done
        assert await output_of(agent, mine) == {"files": [], "n": 1}


async def test_contents_become_artifacts_of_the_run_where_that_is_asked_for(
    connecting: Connecting, project: Path
) -> None:
    """A long one goes in parts; the same call again keeps nothing twice."""
    (project / "small.txt").write_text("small")
    (project / "large.bin").write_bytes(bytes(range(256)) * 4000)
    async with connecting(project) as agent:
        mine = await work(agent)
        run = mine["workflow_id"]
        paths = ["small.txt", "large.bin"]
        answer = await agent.ok("local_files", paths=paths, workflow_id=run)
        assert (await agent.ok("local_files", paths=paths, workflow_id=run))["files"] == answer["files"]
        listed = (await agent.ok("list_artifacts", workflow_id=run))["artifacts"]
        assert {item["name"]: item["sha256"] for item in listed} == {
            file["path"]: file["sha256"] for file in answer["files"]
        }
        await agent.ok("update_workflow_control_plane", **mine, output_json={"files": paths}, upload_files=True)
        ids = {
            path: file_hash["artifact_id"] for path, file_hash in (await output_of(agent, mine))["file_hashes"].items()
        }
        assert ids == {file["path"]: file["artifact_id"] for file in answer["files"]}
        read = await agent.ok("get_artifact", workflow_id=run, artifact_id=ids["small.txt"])
        assert "small" in str(read) or "c21hbGw=" in str(read)
