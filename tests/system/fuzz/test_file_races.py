"""What happens below roots while another thread keeps changing directories and files into links and back."""

import itertools
import random
from collections.abc import Iterator, Sized
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from dcf.files.tree import FileTree
from dcf.values.refusal import Refusal
from tests.files.trees import SECRET, move, state_of, write
from tests.support.racing import repeating

pytestmark = pytest.mark.timeout(3600)  # for a hang only


def swapping(link: Path, target: Path, spare: Path) -> AbstractContextManager[None]:
    """Something that keeps changing a directory or file into a link that leads out, and back."""
    luck = random.Random(7)

    def swap() -> None:
        link.rename(spare)
        link.symlink_to(target)
        link.unlink()
        spare.rename(link)
        sum(range(luck.randrange(20_000)))  # without this both threads keep in step, and one never gets through

    return repeating(swap)


def turns(sized: Sized, least: int) -> Iterator[int]:
    """Continue until a file was found as well: on a busy machine the other thread may be ahead for long."""
    return itertools.takewhile(lambda turn: turn < least or not sized, itertools.count())


@pytest.mark.parametrize("place", ["b", "b/inner"])
def test_a_directory_that_becomes_a_link_meanwhile_leads_nowhere(
    tree: FileTree, root: Path, outside: Path, place: str
) -> None:
    (outside / "inner").mkdir()
    (outside / "inner/k").write_bytes(SECRET)
    write(tree, "b/inner/k", b"ours")
    before = state_of(outside)
    result: list[bytes] = []
    with swapping(root / place, {"b": outside, "b/inner": outside / "inner"}[place], root / "spare"):
        for turn in turns(result, 400):
            item = tree.read("b/inner/k", 0, 10)
            result += [] if isinstance(item, Refusal) else [item.data]
            write(tree, f"b/inner/new{turn % 5}", b"new", create_parents=False)
            write(tree, "b/inner/log", b"", append=True, create_parents=False)
            tree.make_directory("b/inner/made", parents=False, exist_ok=True)
            move(tree, "b/inner/new0", "b/inner/moved", overwrite=True, create_parents=False)
            tree.delete("b/inner/new1", recursive=True)
            tree.delete("b/inner/made", recursive=True)
            names_found = tree.entries("b", recursive=True, hidden=True, limit=99, room=9999, after=None)
            assert isinstance(names_found, Refusal) or not any(
                entry.path.endswith("secret") for entry in names_found.entries
            )
    assert result
    assert set(result) == {b"ours"}
    assert state_of(outside) == before


def replacing(name: Path, outside: Path) -> AbstractContextManager[None]:
    """Something that keeps replacing a file by a link that leads out, and by a file again; the name is never free."""
    spare = name.parent / "spare"

    def replace() -> None:
        spare.symlink_to(outside)
        spare.replace(name)
        spare.write_bytes(b"ours")
        spare.replace(name)

    return repeating(replace)


def test_a_file_that_becomes_a_link_meanwhile_is_not_followed(tree: FileTree, root: Path, outside: Path) -> None:
    (root / "f").write_bytes(b"ours")
    before = state_of(outside)
    result: list[bytes] = []
    with replacing(root / "f", outside / "secret"):
        for _ in turns(result, 1000):
            item = tree.read("f", 0, 4)
            result += [] if isinstance(item, Refusal) else [item.data]
            write(tree, "f", b"!", append=True)
            write(tree, "f", b"ours, new")
            move(tree, "f", "g", overwrite=True)
            tree.delete("g", recursive=True)
    assert state_of(outside) == before
    assert set(result) == {b"ours"}
