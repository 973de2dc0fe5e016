"""The directory of a call: its own, else the client's, else that of --root; never where the process was started."""

from pathlib import Path

import pytest
from mcp.client.session import ClientRequestContext
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp_types import ListRootsResult, Root

from tests.local.helper import Connecting

pytestmark = pytest.mark.anyio


class Roots:
    """A client's roots, and how often they were asked for."""

    def __init__(self, *paths: Path) -> None:
        self.paths = list(paths)
        self.asked = 0

    async def __call__(self, _: ClientRequestContext) -> ListRootsResult:
        self.asked += 1
        return ListRootsResult(roots=[Root.model_validate({"uri": path.as_uri()}) for path in self.paths])


async def test_without_any_root_a_call_is_refused_that_needs_one(connecting: Connecting, mode: str) -> None:
    async with connecting(mode=mode) as agent:
        refused = await agent.call("local_worktree")
        assert refused["code"] == "invalid_argument"
        assert "--root" in refused["hint"]


async def test_the_clients_root_comes_before_the_option_and_that_of_the_call_before_both(
    connecting: Connecting, project: Path, tmp_path: Path, mode: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    roots = Roots(project)
    async with connecting(tmp_path, mode=mode, list_roots_callback=roots) as agent:
        assert (await agent.ok("local_files", paths=["README.md"]))["root"] == str(project)
        assert (await agent.ok("local_files", paths=[], root=str(other)))["root"] == str(other)
        roots.paths = []
    async with connecting(other, mode=mode, list_roots_callback=roots) as agent:
        assert (await agent.ok("local_files", paths=[]))["root"] == str(other)


async def test_no_argument_names_a_directory_outside_the_option(
    connecting: Connecting, project: Path, tmp_path: Path
) -> None:
    """By its real path: a link below the option leads out of it, and one from elsewhere may lead in."""
    (tmp_path / "project-2").mkdir()
    (project / "sub").mkdir()
    (project / "out").symlink_to(tmp_path / "project-2")
    (tmp_path / "in").symlink_to(project / "sub")
    outside = ["/etc", str(tmp_path), str(tmp_path / "project-2"), str(project / ".."), str(project / "out")]
    async with connecting(project) as agent:
        codes = [(await agent.call("local_files", paths=["passwd"], root=root))["code"] for root in outside]
        assert (await agent.ok("local_files", paths=[], root=str(tmp_path / "in")))["root"] == str(project / "sub")
    assert codes == ["invalid_argument"] * len(outside)


async def test_a_root_of_the_client_outside_the_option_is_refused(
    connecting: Connecting, project: Path, tmp_path: Path, mode: str
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    async with connecting(other, mode=mode, list_roots_callback=Roots(project)) as agent:
        refused = await agent.call("local_files", paths=["README.md"])
    assert (refused["code"], str(other) in refused["error"]) == ("invalid_argument", True)


async def test_without_the_option_the_clients_roots_are_the_boundary(
    connecting: Connecting, project: Path, tmp_path: Path, mode: str
) -> None:
    (project / "sub").mkdir()
    async with connecting(mode=mode, list_roots_callback=Roots(project)) as agent:
        assert (await agent.call("local_files", paths=[], root=str(tmp_path)))["code"] == "invalid_argument"
        assert (await agent.ok("local_files", paths=[], root=str(project / "sub")))["root"] == str(project / "sub")
    async with connecting(mode=mode) as agent:
        refused = await agent.call("local_files", paths=["README.md"], root=str(project))
    assert (refused["code"], "--root" in refused["hint"]) == ("invalid_argument", True)


async def test_the_top_of_the_file_system_is_no_root_of_a_client(connecting: Connecting, mode: str) -> None:
    async with connecting(mode=mode, list_roots_callback=Roots(Path("/"))) as agent:
        assert (await agent.call("local_files", paths=["etc/hostname"]))["code"] == "invalid_argument"


async def test_of_several_roots_the_call_names_one(connecting: Connecting, project: Path, mode: str) -> None:
    more = project / "more"
    more.mkdir()
    async with connecting(mode=mode, list_roots_callback=Roots(project, more)) as agent:
        refused = await agent.call("local_worktree")
        assert str(more) in refused["error"]
        assert (await agent.ok("local_files", paths=[], root=str(more)))["root"] == str(more)


async def test_roots_are_asked_for_again_when_they_changed(
    connecting: Connecting, project: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    roots = Roots(project)
    async with connecting(mode="legacy", list_roots_callback=roots) as agent:
        assert (await agent.ok("local_files", paths=[]))["root"] == str(project)
        assert (await agent.ok("local_files", paths=[]))["root"] == str(project)
        assert roots.asked == 1
        roots.paths = [other]
        with pytest.warns(MCPDeprecationWarning):
            await agent.client.session.send_roots_list_changed()
        while (await agent.ok("local_files", paths=[]))["root"] != str(other):
            pass


async def test_a_root_that_is_no_directory_is_refused(connecting: Connecting) -> None:
    wrong: list[object] = ["relative", "/", "/no/such/place", "/etc/hostname", "a\0b", 7]
    async with connecting(Path("/etc")) as agent:
        codes = [(await agent.call("local_files", paths=[], root=root))["code"] for root in wrong]
    assert codes == ["invalid_argument"] * len(wrong)
