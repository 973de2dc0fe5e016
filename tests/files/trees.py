"""Calls of a file tree with the options that most tests want, and what is on the disk."""

from pathlib import Path
from typing import Any

from dcf.files.tree import Content, FileTree, Listing
from dcf.values.refusal import Refusal

SECRET = b"content of the neighbours"


def code(found: object) -> str:
    assert isinstance(found, Refusal), found
    return found.code


def text(found: Content | Refusal) -> bytes:
    assert isinstance(found, Content), found
    return found.data


def read(tree: FileTree, path: str) -> bytes:
    return text(tree.read(path, 0, 1000))


def write(tree: FileTree, path: str, data: bytes, **options: bool) -> str | Refusal:
    return tree.write(path, data, **{"append": False, "create_parents": True} | options)


def names(tree: FileTree, path: str = ".", **options: Any) -> list[str]:
    found = tree.entries(
        path, **{"recursive": True, "hidden": False, "limit": 100, "room": 10**6, "after": None} | options
    )
    assert isinstance(found, Listing), found
    return [entry.path[len(found.path) + 1 :] for entry in found.entries]


def move(tree: FileTree, source: str, target: str, **options: bool) -> object:
    return tree.move(source, target, **{"overwrite": False, "create_parents": True} | options)


def below(place: Path) -> list[str]:
    return sorted(one.name for one in place.iterdir())


def state_of(place: Path) -> dict[str, Any]:
    return {str(one): one.lstat().st_size if one.is_dir() else one.read_bytes() for one in sorted(place.rglob("*"))}
