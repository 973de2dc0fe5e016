"""A file below a root that another process replaces by a link just before it is opened.

`tests/system/fuzz/test_file_races.py` lets a thread replace files and directories all the time.
"""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from dcf.files import tree as tree_module
from dcf.files.appending import append_to
from dcf.files.tree import FileTree
from dcf.values.refusal import Refusal
from tests.files.trees import state_of, write


@pytest.mark.parametrize("there", [True, False], ids=["a file", "nothing"])
def test_what_became_a_link_just_before_it_is_opened_is_not_appended_to(root: Path, outside: Path, there: bool) -> None:
    """As if it had been a file until a moment ago; through a link to nothing, opening would make a file outside."""
    (root / "log").symlink_to(outside / ("secret" if there else "new"))
    before = state_of(outside)
    directory = os.open(root, os.O_RDONLY)
    try:
        with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
            append_to(directory, "log", b"x", 1000)
    finally:
        os.close(directory)
    assert state_of(outside) == before


@pytest.mark.parametrize("call", ["read", "append", "write"])
def test_a_file_that_becomes_a_link_after_the_check_is_not_followed(
    tree: FileTree, root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """Another process replaces the file between the check and the opening."""
    (root / "f").write_bytes(b"ours")
    before, check = state_of(outside), tree_module._regular

    def check_then_replace(*arguments: Any, **options: Any) -> os.stat_result | None:
        about = check(*arguments, **options)
        (root / "f").unlink()
        (root / "f").symlink_to(outside / "secret")
        return about

    monkeypatch.setattr(tree_module, "_regular", check_then_replace)
    if call == "write":
        assert write(tree, "f", b"new") == str(root / "f")
        assert (root / "f").read_bytes() == b"new"
        assert not (root / "f").is_symlink(), "the link is replaced, not the file that it leads to"
    else:
        result = tree.read("f", 0, 100) if call == "read" else write(tree, "f", b"new", append=True)
        assert isinstance(result, Refusal)
    assert state_of(outside) == before
