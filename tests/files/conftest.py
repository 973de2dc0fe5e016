"""A directory that tools may write, and a forbidden one."""

from pathlib import Path

import pytest

from dcf.files.tree import FileTree
from tests.files.trees import SECRET


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_bytes(SECRET)
    return tmp_path / "outside"


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    (tmp_path / "root").mkdir()
    return tmp_path / "root"


@pytest.fixture
def tree(root: Path) -> FileTree:
    return FileTree((), (root,), 1000)
