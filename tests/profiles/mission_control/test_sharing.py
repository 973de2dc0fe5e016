"""mission-control's tasks at the same time in one worktree: git cannot say whose a file is, their areas can."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dcf.application.application import Application
from dcf.core.access.model import Scope
from tests.profiles.clients import ProfileClient
from tests.profiles.conftest import Connect

pytestmark = pytest.mark.anyio

CHANGED = {"added": ["src/a/x.py", "src/b/y.py"], "modified": [], "deleted": []}


@pytest.fixture
async def client(site: Application, connect: Connect) -> AsyncIterator[ProfileClient]:
    scopes = (Scope.READ, Scope.WORK, Scope.PLAN)
    key = site.keys.create(scopes, agent_id=None, label=None, life_s=None, profile="mission-control")
    async with connect(key.text) as connected:
        yield connected


@pytest.fixture
async def phase(client: ProfileClient) -> str:
    workflow = (await client.ok("start_workflow", name="plain"))["workflow_id"]
    begun = await client.ok("start_phase", workflow_id=workflow, number=1, is_parallel=True)
    return str(begun["phase_id"])


async def task_of(client: ProfileClient, phase: str, name: str, worktree: str | None, *areas: str) -> str:
    call = {"agent_name": name, "name": name, "areas": list(areas), "worktree": worktree}
    begun = await client.ok("start_task", phase_id=phase, **{key: value for key, value in call.items() if value})
    return str(begun["task_id"])


async def done(client: ProfileClient, task: str) -> Any:
    outcome = {"summary": "It is."}
    return await client.ok("complete_task", task_id=task, status="success", outcome=outcome, files_changed=CHANGED)


async def test_files_of_another_task_in_the_same_worktree_are_not_counted(client: ProfileClient, phase: str) -> None:
    first = await task_of(client, phase, "A", "w1", "src/a/**")
    second = await task_of(client, phase, "B", "w1", "src/b/**")
    ended = await done(client, first)
    assert ended["files_changed"]["added"] == ["src/a/x.py"]
    assert (ended["verification"]["scope_match"], ended["verification"]["unexpected_files"]) == (True, [])
    assert "(B): src/b/y.py" in ended["verification"]["warnings"][0]
    assert (await done(client, second))["files_changed"]["added"] == ["src/b/y.py"], "also after the other has ended"
    assert await done(client, first) == ended


async def test_a_file_in_the_areas_of_no_task_is_unexpected(client: ProfileClient, phase: str) -> None:
    first = await task_of(client, phase, "A", "w1", "src/a/**")
    await task_of(client, phase, "B", "w1", "docs/**")
    ended = await done(client, first)
    assert (ended["verification"]["scope_match"], ended["verification"]["unexpected_files"]) == (False, ["src/b/y.py"])


async def test_a_task_in_another_worktree_makes_no_files_in_this_one(client: ProfileClient, phase: str) -> None:
    first = await task_of(client, phase, "A", "w1", "src/a/**")
    await task_of(client, phase, "B", "w2", "src/b/**")
    await task_of(client, phase, "C", None, "src/b/**")
    assert (await done(client, first))["verification"]["unexpected_files"] == ["src/b/y.py"]


async def test_a_task_that_ended_before_this_one_began_made_none_of_its_files(
    client: ProfileClient, phase: str
) -> None:
    earlier = await task_of(client, phase, "B", "w1", "src/b/**")
    await done(client, earlier)
    later = await task_of(client, phase, "A", "w1", "src/a/**")
    assert (await done(client, later))["verification"]["unexpected_files"] == ["src/b/y.py"]


async def test_beside_a_task_without_areas_scope_is_unknown(client: ProfileClient, phase: str) -> None:
    first = await task_of(client, phase, "A", "w1", "src/a/**")
    await task_of(client, phase, "B", "w1")
    ended = await done(client, first)
    assert ended["verification"]["scope_match"] is None
    assert "(B): scope is unknown" in ended["verification"]["warnings"][-1]
