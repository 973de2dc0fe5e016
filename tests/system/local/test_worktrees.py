"""git on the agent's machine: facts, what changed for a piece of work, and a branch that is really made."""

import os
import tracemalloc

import pytest

from dcf.local import git
from tests.local.helper import Connecting, Json
from tests.system.local.conftest import Repository

pytestmark = pytest.mark.anyio


def by_path(answer: dict[str, Json]) -> dict[str, str]:
    return {file["path"]: file["change"] for file in answer["files"]}


async def test_the_worktree_is_shown_with_branch_commit_and_what_is_dirty(
    connecting: Connecting, repository: Repository
) -> None:
    head = repository.git("rev-parse", "HEAD")
    async with connecting(repository.root) as agent:
        clean = await agent.ok("local_worktree")
        assert (clean["worktree"], clean["branch"], clean["head"]) == (str(repository.root), "main", head)
        assert clean["dirty"] is False
        repository.write("new dir/ä.txt", "x")
        repository.write("README.md", "changed")
        dirty = await agent.ok("local_worktree")
    assert {item["path"]: item["where"] for item in dirty["changed"]} == {
        "README.md": ["unstaged"],
        "new dir/ä.txt": ["untracked"],
    }


async def test_untracked_files_missed(connecting: Connecting, repository: Repository) -> None:
    """Row of others.md 6.7: what changed since a start has untracked, staged, unstaged and committed files alike."""
    repository.write("old.py", "a long enough text to be known again\n" * 5)
    repository.write("gone.py", "gone")
    start = repository.commit()
    repository.git("mv", "old.py", "renamed.py")
    repository.write("committed.py", "1")
    repository.commit()
    repository.write("staged.py", "2")
    repository.git("add", "staged.py")
    repository.write("README.md", "3")
    (repository / "gone.py").unlink()
    repository.write("pkg/untracked.py", "4")
    async with connecting(repository.root) as agent:
        answer = await agent.ok("local_changes", start=start, areas=["pkg/**", "*.md"], patch=True)
    assert by_path(answer) == {
        "README.md": "modified",
        "committed.py": "added",
        "gone.py": "deleted",
        "pkg/untracked.py": "untracked",
        "renamed.py": "renamed",
        "staged.py": "added",
    }
    assert answer["outside_areas"] == ["committed.py", "gone.py", "renamed.py", "old.py", "staged.py"]
    assert "+++ b/pkg/untracked.py" in answer["patch"]
    assert "+++ b/README.md" in answer["patch"]


async def test_changes_are_those_of_the_unit_and_not_what_was_there_when_it_began(
    connecting: Connecting, repository: Repository
) -> None:
    repository.write("before.txt", "somebody else's")
    repository.write("both.txt", "theirs")
    async with connecting(repository.root) as agent:
        begun = await agent.ok("local_worktree", unit="run-1/A")
        assert begun["start"]["existed"] is False
        repository.write("both.txt", "theirs and mine")
        repository.write("mine.txt", "mine")
    async with connecting(repository.root) as agent:  # another process: nothing was in its memory
        again = await agent.ok("local_worktree", unit="run-1/A")
        assert again["start"] == {**begun["start"], "existed": True}
        assert by_path(await agent.ok("local_changes", unit="run-1/A")) == {
            "both.txt": "untracked",
            "mine.txt": "untracked",
        }
        unknown = await agent.call("local_changes", unit="run-1/B")
        assert unknown["code"] == "no_start"


async def test_claims_a_git_branch_makes_none(connecting: Connecting, repository: Repository) -> None:
    """Row of others.md 6.7: the branch is there afterwards, with the uncommitted work untouched on it."""
    repository.write("README.md", "unfinished")
    repository.write("untracked.txt", "new")
    head = repository.git("rev-parse", "HEAD")
    name = "deepwork/competitors-analysis-acme"
    async with connecting(repository.root) as agent:
        made = await agent.ok("local_branch", name=name)
        assert (made["created"], made["branch"], made["from"], made["head"]) == (True, name, "main", head)
        assert repository.git("branch", "--show-current") == name
        assert (repository / "README.md").read_text() == "unfinished"
        assert (repository / "untracked.txt").read_text() == "new"
        assert (await agent.ok("local_branch", name=name))["created"] is False
        repository.git("switch", "--quiet", "main")
        refused = await agent.call("local_branch", name=name)
        assert refused["code"] == "branch_exists"
        assert repository.git("branch", "--show-current") == "main"


async def test_a_text_that_is_no_name_of_a_branch_is_refused(connecting: Connecting, repository: Repository) -> None:
    wrong = ["-f", "a..b", "", "a b", "x.lock", "@{-1}"]
    async with connecting(repository.root) as agent:
        codes = [(await agent.call("local_branch", name=name))["code"] for name in wrong]
    assert dict(zip(wrong, codes, strict=True)) == dict.fromkeys(wrong, "invalid_argument")
    assert repository.git("branch", "--format", "%(refname:short)") == "main"


async def test_a_branch_waits_for_the_end_of_a_merge(connecting: Connecting, repository: Repository) -> None:
    repository.git("switch", "--quiet", "--create", "other")
    repository.write("README.md", "theirs")
    repository.commit()
    repository.git("switch", "--quiet", "main")
    repository.write("README.md", "ours")
    repository.commit()
    with pytest.raises(Exception, match="merge"):
        repository.git("merge", "other")
    async with connecting(repository.root) as agent:
        assert (await agent.call("local_branch", name="x"))["code"] == "operation_in_progress"
        listed = (await agent.ok("local_worktree"))["changed"]
    assert listed == [{"path": "README.md", "change": "modified", "where": ["unstaged"]}]


async def test_a_repository_without_a_commit_and_a_place_without_a_repository(
    connecting: Connecting, repository: Repository, tmp_path: object
) -> None:
    empty = repository.root.parent / "empty"
    empty.mkdir()
    async with connecting(repository.root.parent) as agent:
        assert (await agent.call("local_worktree", root=str(empty)))["code"] == "no_worktree"
        Repository(empty).git("init", "--quiet", "--initial-branch", "main")
        (empty / "first.txt").write_text("x")
        answer = await agent.ok("local_worktree", root=str(empty), unit="u")
        assert (answer["head"], answer["branch"], answer["dirty"]) == (None, "main", True)
        Repository(empty).commit()
        assert by_path(await agent.ok("local_changes", root=str(empty), unit="u", patch=True)) == {"first.txt": "added"}


async def test_a_start_is_never_an_option_of_git(connecting: Connecting, repository: Repository) -> None:
    empty = Repository(repository.root.parent / "empty")
    empty.root.mkdir()
    empty.git("init", "--quiet", "--initial-branch", "main")
    made = repository.root.parent / "made"
    async with connecting(empty.root) as agent:
        refused = await agent.call("local_changes", start=f"--output={made}", patch=True)
    assert refused["code"] == "unknown_start"
    assert not made.exists()


async def test_names_that_are_no_text_and_pipes_do_not_stop_a_start(
    connecting: Connecting, repository: Repository
) -> None:
    odd = os.fsencode(repository.root) + b"/odd\xff.txt"
    with open(odd, "w") as file:  # noqa: ASYNC230, PTH123 - a Path holds no bytes, and it is small
        file.write("x")
    (repository / "README.md").unlink()
    os.mkfifo(repository / "README.md")
    async with connecting(repository.root) as agent:
        begun = await agent.ok("local_worktree", unit="u")
        assert sorted(begun["start"]["dirty_at_start"]) == ["README.md", "odd\ufffd.txt"]
        assert (await agent.ok("local_changes", unit="u"))["files"] == []


async def test_of_a_long_patch_only_the_beginning_is_read(repository: Repository) -> None:
    repository.write("long.txt", "a line\n" * 1_000_000)
    repository.git("add", "long.txt")
    tracemalloc.start()
    try:
        by_commit, by_commit_cut = git.patch(repository.root, "HEAD", [], 1000)
        repository.git("reset", "--quiet")
        untracked, untracked_cut = git.patch(repository.root, "HEAD", ["long.txt", "long.txt"], 1000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert by_commit_cut
    assert untracked_cut
    assert len(by_commit) == len(untracked) == 1000
    assert by_commit.startswith("diff --git a/long.txt")
    assert peak < 1_000_000, "not the seven megabytes that git would print"
    with pytest.raises(git.GitRefused, match="git refused"):
        git.patch(repository.root, "nothing", [], 1000)
